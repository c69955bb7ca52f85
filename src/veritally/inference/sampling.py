"""Draws of the truths, and what they say: how sure decisions are.

Around each mean the posterior is taken for normal, and the draws are spread evenly over it (a lattice). Where votes
leave a posterior that is far from normal, draws are those of Gibbs sampling, from the exact posterior.
"""

import math
from dataclasses import replace
from functools import partial
from operator import itemgetter

import numpy as np

from veritally.arrays import Array, Random, namespace, ndtri
from veritally.inference.belief import DRAWS, Belief, stacked, summarised
from veritally.inference.dispersion import geometric_mean
from veritally.inference.gibbs import sample, saturation, within_reach
from veritally.inference.linear import inverse_root
from veritally.inference.mixture import PosteriorMixture
from veritally.likelihood.votes import tally
from veritally.model.means import VoterMeans
from veritally.votes.ballots import Ballots
from veritally.votes.rankings import Ordinal

_STREAM = 11  # of random numbers
_SATURATED = 5.0  # from which on votes repeat each other, so that exact draws are needed
_LINE = 2.5  # and from which on they are taken for two alternatives, where they are quick
_MIXED = 12  # voters of whom they are, where counts may be wrong or noise is not normal
_NOTABLE = 0.1  # probability of a value of the scale from which on its shape matters
_POINTS, _REACH = 129, 8.0  # of a line for two alternatives, and how far it reaches in standard deviations of truths
_CELLS = 1 << 17  # of draws that are held at once, so that they stay in the cache
# A generating vector of a lattice whose first coordinates, whatever their number, fill the cube evenly (Kuo's
# lattice-32001-1024-1048576.3600).
_LATTICE = (
    *(1, 182667, 469891, 498753, 110745, 446247, 250185, 118627, 245333, 283199, 408519, 391023, 246327, 126539),
    *(399185, 461527, 300343, 69681, 516695, 436179, 106383, 238523, 413283, 70841, 47719, 300129, 113029, 123925),
    *(410745, 211325, 17489, 511893, 40767, 186077, 519471, 255369, 101819, 243573, 66189, 152143, 503455, 113217),
)


def believe(ballots: Ballots, posterior: PosteriorMixture, winner: Array, seed: int, exact: bool = True) -> Belief:
    """Say how sure decisions are, from draws of the posterior.

    Distances are from each ``winner``, its place ``(...)``. Without ``exact`` draws all are from normals, as they must
    be where ballots are only some of those that the posterior is of.
    """
    batch = ballots.mask.shape[:-1]
    flat = ballots.map(lambda x: np.asarray(x).reshape(math.prod(batch), *x.shape[len(batch) :]))
    found = _flat(posterior, len(batch))
    winners = np.broadcast_to(np.asarray(winner), batch).ravel()
    size = max(1, _CELLS // (DRAWS * found.moments.mean.shape[0] * flat.mask.shape[-1]))
    kind = flat.composition()
    places = [np.flatnonzero(kind == own) for own in np.unique(kind)]
    pieces = [own[start : start + size] for own in places for start in range(0, len(own), size)]
    beliefs = [
        _believe(flat.map(itemgetter(own)).simplest(), found.take(own), winners[own], seed, exact) for own in pieces
    ]
    return stacked(beliefs, batch, np.argsort(np.concat(pieces)))


def _believe(ballots: Ballots, found: PosteriorMixture, winner: Array, seed: int, wanted: bool) -> Belief:
    """Do so for some decisions, along one axis."""
    mask = ballots.mask
    truths, value, _, exact = _drawn(ballots, found, lattice(2 + mask.shape[-1], seed), seed, wanted)
    in_sigma = ~ballots.have_unit
    sigma = geometric_mean(found.sigma, mask)  # (value, decision)
    unit = np.where(in_sigma[:, None], np.take_along_axis(sigma, value.T, axis=0).T, 1)
    # What is known of the noise.
    level, tau = np.exp(found.average(np.log(found.sigma))), np.exp(found.average(np.log(found.tau)))
    off = geometric_mean(level, mask) / tau / found.scale[:, 0]  # from the median of what was unknown
    searched = np.all(found.tau == found.tau[0], axis=0)  # σ; else τ was
    level, tau = np.where(searched[:, None], level / off[:, None], level), np.where(searched, tau, tau * off)
    between, counts = np.sqrt(np.asarray(found.means.between)), found.means.counts
    nothing = np.full(len(mask), np.nan)
    return summarised(
        truths,
        mask,
        winner=winner,
        unit=unit,
        in_sigma=in_sigma,
        sigma=level,
        tau=tau,
        scale=found.scale,
        count_error=nothing if counts is None else np.full(len(mask), counts.size),
        omega=geometric_mean(between * level, mask) if np.any(between) else nothing,
        exact=exact,
    )


def _drawn(
    ballots: Ballots, found: PosteriorMixture, points: Array, seed: int, wanted: bool = True
) -> tuple[Array, Array, Array, Array]:
    """Turn points in a cube, ``(coordinate, draw)``, into truths ``(decision, alternative, draw)``.

    Also return which value of the scale each draw has, ``(decision, draw)``, how much wider than expected its errors
    are, ``(decision, draw or 1)``, and which decisions are exact, where that is ``wanted``.
    """
    draws, value, inflation, exact = _drawn_at_each(ballots, found, points, seed, wanted)
    truths = draws[0] if len(draws) == 1 else np.take_along_axis(draws, value[None, :, None], axis=0)[0]
    loose, mask = ~ballots.anchored[:, None, None], ballots.mask
    centre = np.mean(truths, axis=1, keepdims=True, where=True if mask.all() else mask[..., None])
    return np.subtract(truths, centre, out=truths, where=loose), value, inflation, exact


def _drawn_at_each(
    ballots: Ballots, found: PosteriorMixture, points: Array, seed: int, wanted: bool = True
) -> tuple[Array, Array, Array, Array]:
    """Do so at each value of the scale: ``(value, decision, alternative, draw)``."""
    mask, weight = ballots.mask, found.weight
    value = np.sum(np.cumsum(weight, axis=0)[..., None] <= points[0], axis=0)
    value = np.minimum(value, len(weight) - 1)
    inflation = _inflation(found.freedom, points[1])
    draws = _normal(found, points[2:]) * inflation[:, None]
    draws = found.moments.mean[..., None] + draws  # (value, decision, alternative, draw)
    nowhere = np.zeros(len(mask), dtype=bool)
    exact = _replace_by_exact(draws, ballots, found, points, seed) if wanted else nowhere
    return draws, value, inflation, exact


def independent_draws(ballots: Ballots, posterior: PosteriorMixture, size: int, seed: int) -> tuple[Array, Array]:
    """Draw truths of a single decision, ``(draw, alternative)``, and σ/τ, ``(draw,)``, from the posterior.

    They are independent, where :func:`believe` spreads its draws evenly; those of Gibbs sampling are nearly so.
    """
    flat = ballots.map(lambda x: np.asarray(x)[None]).simplest()
    found = _flat(posterior, 0)
    points = np.random.default_rng((seed, _STREAM)).random((2 + flat.mask.shape[-1], size))
    truths, value, inflation, _ = _drawn(flat, found, np.clip(points, 1e-12, 1 - 1e-12), seed)
    scale = geometric_mean(found.sigma, flat.mask) / found.tau  # (value, decision)
    return truths[0].T, np.take_along_axis(scale, value.T, axis=0)[:, 0] * inflation[0]


def expected_losses(ballots: Ballots, posterior: PosteriorMixture, chosen: list[int], seed: int) -> tuple[float, Array]:
    """Return what choosing these of all alternatives of a single decision costs, expected, beside as many of the best.

    It is from the same draws as what :func:`believe` says. Also return, for each value of the scale, how much choosing
    the best there costs beside what it costs by normals, ``(value,)``: 1 where the posterior is taken for normal. Where
    losses are rare, the draws of each value may say more than those that the first number is of; then they are lowered.
    """
    flat = ballots.map(lambda x: np.asarray(x)[None]).simplest()
    found, number = _flat(posterior, 0), len(chosen)
    points = lattice(2 + flat.mask.shape[-1], seed)
    truths, value, _, exact = _drawn_at_each(flat, found, points, seed)
    lost = float(np.mean(np.take_along_axis(_lost(truths[:, 0], np.array([chosen]), number), value, axis=0)))
    if not exact.any():
        return lost, np.ones(len(found.weight))
    plain = _drawn_at_each(flat, found, points, seed, wanted=False)[0]
    there = np.argsort(-found.moments.mean[:, 0], axis=-1, kind="stable")[:, :number]
    truly, normally = (np.mean(_lost(draws[:, 0], there, number), axis=-1) for draws in (truths, plain))
    every = float(found.weight[:, 0] @ truly)
    lower = lost / every if lost < every else 1.0
    return lost, lower * np.where(normally > 0, truly / np.where(normally > 0, normally, 1), 1.0)


def _lost(truths: Array, chosen: Array, number: int) -> Array:
    """Return what choosing costs, ``(value, draw)``, where truths are so, ``(value, alternative, draw)``."""
    n = truths.shape[1]
    best = np.sum(np.partition(truths, n - number, axis=1)[:, n - number :], axis=1)
    chosen = np.broadcast_to(chosen, (len(truths), number))
    return best - np.sum(np.take_along_axis(truths, chosen[..., None], axis=1), axis=1)


def widening(freedom: Array) -> float:
    """Return how much farther the draws of a single decision are from their mean than a normal's, on average."""
    return float(np.mean(_inflation(np.reshape(freedom, 1), (np.arange(DRAWS) + 0.5) / DRAWS)))


def normal_p_best(posterior: PosteriorMixture, mask: Array, size: int, seed: int) -> Array:
    """Return P(best) alone, ``(..., alternative)``, by so many draws from normals; compiles under ``jax.jit``."""
    known, weight = posterior.moments, posterior.weight
    xp = namespace(mask, weight)
    half = Random.of(weight, seed, _STREAM).normal((size // 2, mask.shape[-1]))
    moved = xp.moveaxis(xp.matmul(inverse_root(known.precision), half.T), -1, 0)
    draws = xp.where(mask, known.mean + xp.concat([moved, -moved]), -xp.inf)
    first = xp.astype(draws == xp.max(draws, axis=-1, keepdims=True), weight.dtype)
    return xp.sum(weight[..., None] * xp.sum(first, axis=0), axis=0) / len(draws)


def lattice(coordinates: int, seed: int, draws: int = DRAWS) -> Array:
    """Return points that fill a cube evenly, ``(coordinate, draw)``, within 0 and 1, moved about by the seed.

    Coordinates do not depend on how many there are. Beyond those that the lattice has, they are in random order.
    """
    place = np.arange(draws)
    rows = []
    for k in range(coordinates):
        random = np.random.default_rng((seed, _STREAM, k))
        if k < len(_LATTICE):
            rows.append((place * (_LATTICE[k] % draws) / draws + random.random()) % 1)
        else:
            rows.append((random.permutation(place) + random.random()) / draws)
    return np.clip(rows, 1e-12, 1 - 1e-12)


def _normal(found: PosteriorMixture, points: Array) -> Array:
    """Return how far normal draws are from their mean, ``(value, decision, alternative, draw)``."""
    return np.asarray(np.matmul(inverse_root(found.moments.precision), ndtri(points)))


def _inflation(freedom: Array, points: Array) -> Array:
    """Return how much wider errors are, ``(decision, draw)``, for an estimate of σ with so many degrees of freedom."""
    if np.all(np.isinf(freedom)):
        return np.ones((len(freedom), 1))
    from scipy.special import gammaincinv

    known = np.isinf(freedom)[:, None]
    shape = (np.where(known, 1, freedom[:, None]) + 1) / 2
    return np.where(known, 1, 1 / np.sqrt(np.maximum(gammaincinv(shape, points) / shape, 1e-3)))


def _replace_by_exact(draws: Array, ballots: Ballots, found: PosteriorMixture, points: Array, seed: int) -> Array:
    """Put exact draws in where the posterior is far from normal and they are in reach, and say where."""
    if ballots.loadings is not None or found.means.doubt:
        return np.zeros(len(ballots.mask), dtype=bool)
    pairs = _on_two(ballots, found.means)
    value, decision = np.nonzero((found.weight > _NOTABLE) & (pairs | within_reach(ballots, found.means)))
    if not len(value):
        return np.zeros(len(ballots.mask), dtype=bool)
    some, tau = ballots.map(itemgetter(decision)), found.tau[value, decision]
    means = replace(found.means, sigma=found.sigma[value, decision][:, None])
    number = saturation(some, means, tau, found.moments.precision[value, decision])
    two = pairs[decision] & (number > _LINE)
    far = ~pairs[decision] & (number > _SATURATED)
    for chosen, exact in ((two, partial(_on_a_line, points)), (far, partial(_sampled, seed))):
        if chosen.any():
            at = value[chosen], decision[chosen]
            own = replace(means, sigma=means.sigma[chosen])
            draws[at] = exact(some.map(itemgetter(chosen)), own, tau[chosen], draws[at])
    return np.isin(np.arange(len(ballots.mask)), decision[far | two])


def _on_two(ballots: Ballots, means: VoterMeans) -> Array:
    """Say which decisions are rankings of two alternatives, of few voters where what they saw is a mixture."""
    possible = isinstance(ballots, Ordinal) and (means.counts is None or ballots.counts.shape[-2] <= _MIXED)
    return possible & np.all(ballots.mask[:, :2], axis=-1) & ~np.any(ballots.mask[:, 2:], axis=-1)


def _sampled(seed: int, ballots: Ballots, means: VoterMeans, tau: Array, draws: Array) -> Array:
    """Draw truths by Gibbs sampling, ``(decision, alternative, draw)``, from about where they are."""
    drawn = sample(ballots, means, tau, np.moveaxis(draws, -1, 0), seed)
    assert drawn is not None
    return np.moveaxis(drawn[np.linspace(0, len(drawn) - 1, draws.shape[-1]).astype(int)], 0, -1)


def _on_a_line(points: Array, ballots: Ballots, means: VoterMeans, tau: Array, draws: Array) -> Array:
    """Draw truths of two alternatives, of which votes tell the difference alone: from its exact density.

    It is laid out as far as the prior reaches, the closer the nearer to its mean, and to 0, where it may end.
    """
    two = ballots.trimmed(ballots.counts.shape[-2], 2)
    own = replace(means, sigma=means.sigma[..., :2])
    narrow = own.spread(two.counts).narrow
    gap = draws[:, 0] - draws[:, 1]
    middle, width = np.mean(gap, axis=-1), np.std(gap, axis=-1)
    points_each = _POINTS if means.counts is None else _POINTS // 3  # since mixtures take their time
    apart = np.min(np.hypot(narrow[..., 0], narrow[..., 1]), axis=-1)
    nearby = (_around(middle, width, tau, points_each), _around(0 * tau, apart, tau, points_each))
    line = np.sort(np.concat(nearby), axis=0)
    truths = np.stack([line, -line], axis=-1) / 2
    log = tally(two.stacked(len(line)), truths, own, 0).log_likelihood - (line / tau) ** 2 / 4
    density = np.exp(log - np.max(log, axis=0))
    mass = (density[1:] + density[:-1]) * np.diff(line, axis=0)
    passed = np.concat([0 * mass[:1], np.cumsum(mass, axis=0)]) / np.sum(mass, axis=0)
    order = np.sort(points[2])
    gap = np.stack([np.interp(order, passed[:, d], line[:, d]) for d in range(len(tau))])[:, _ranks(points[2])]
    level = tau[:, None] * ndtri(points[3]) / np.sqrt(2)
    return np.concat([np.stack([level + gap / 2, level - gap / 2], axis=1), draws[:, 2:]], axis=1)


def _around(middle: Array, width: Array, tau: Array, number: int) -> Array:
    """Return points around a middle as far as the prior reaches, ``(point, decision)``, the closer the nearer to it."""
    steep = np.arcsinh((np.abs(middle) + _REACH * tau) / width)
    return middle + width * np.sinh(steep * np.linspace(-1, 1, number)[:, None])


def _ranks(x: Array) -> Array:
    """Return the place of each entry in order."""
    return np.argsort(np.argsort(x))


def _flat(posterior: PosteriorMixture, depth: int) -> PosteriorMixture:
    """Return the same in NumPy, with its decisions along one axis, without what voters add."""

    def single(x: Array) -> Array:
        return np.asarray(x).reshape(-1, *np.shape(x)[depth:])

    def each(x: Array) -> Array:
        return np.asarray(x).reshape(len(x), -1, *np.shape(x)[1 + depth :])

    known = posterior.moments._replace(pull=None, without=None)
    return posterior._replace(moments=known).changed(each, single)
