"""Where the means of a ballot gather, and how finely the line must be cut there."""

from typing import NamedTuple

from veritally.arrays import Array, namespace
from veritally.likelihood.quadrature import Fineness, breakpoints
from veritally.model.means import Spread

_SURPRISING = 5.0  # standard deviations from where a mean should be: from here on, exponentials are taken out


class IsotonicFit(NamedTuple):
    """Where the means of a ballot gather, given the ballot, all ``(alternative, ballot)``.

    Attributes
    ----------
    centre
        The decreasing fit to the truths along the ballot, weighed by precision.
    pressure
        How hard each mean is pressed upon the next, in units of density: multipliers of x_k ≥ x_{k+1}.
    """

    centre: Array
    pressure: Array


def isotonic_fit(truth: Array, precision: Array) -> IsotonicFit:
    """Fit decreasing values to the truths: m_k = min_{a ≤ k} max_{b ≥ k} mean of truths a … b."""
    xp = namespace(truth)
    n = truth.shape[0]
    weighed, weight = xp.cumulative_sum(truth * precision, axis=0), xp.cumulative_sum(precision, axis=0)
    fit = xp.full_like(truth, xp.inf)
    places = xp.arange(n)[:, None]
    for a in range(n):
        before = (weighed[a - 1], weight[a - 1]) if a else (0.0, 0.0)
        total = weight - before[1]
        mean = xp.where(total > 0, (weighed - before[0]) / xp.where(total > 0, total, 1), -xp.inf)
        highest, rows = mean[n - 1], [mean[n - 1]]
        for b in range(n - 2, a - 1, -1):
            highest = xp.maximum(highest, mean[b])
            rows.append(highest)
        rows += [rows[-1]] * a
        fit = xp.where(places >= a, xp.minimum(fit, xp.stack(rows[::-1])), fit)
    fit = xp.where(precision > 0, fit, 0)
    pressure = xp.maximum(xp.cumulative_sum((fit - truth) * precision, axis=0), xp.asarray(0, dtype=truth.dtype))
    followed = xp.concat([precision[1:] > 0, precision[:1] < 0])
    return IsotonicFit(fit, xp.where(followed, pressure, 0))


def panels_for(truth: Array, spread: Spread, groups: Array, fine: Fineness) -> tuple[Array, Array, Array]:
    """Return ends of panels ``(ballot, ends)``, how many are needed, and the pressures where they are extreme.

    ``groups``, ``(ballot,)``, are the ballots in which some are tied first or last: products need more nodes.
    """
    xp = namespace(truth)
    closer = xp.where(groups, xp.asarray(1.5, dtype=truth.dtype), 1)
    seen = xp.isfinite(spread.wide)
    narrow, wide = (xp.where(seen, x, 1) for x in (spread.narrow, spread.wide))
    # A surprising mean of a mixture comes from its widest component.
    centre, pressure = isotonic_fit(xp.where(seen, truth, 0), xp.where(seen, wide**-2, 0))
    above = xp.concat([xp.zeros_like(pressure[:1]), pressure[:-1]])
    unseen = xp.astype(xp.where(xp.any(seen, axis=0), xp.inf, 1), truth.dtype)
    width = xp.where(seen, 1 / xp.sqrt(narrow**-2 + pressure**2 + above**2), unseen)
    somewhere = xp.max(xp.where(seen, centre, -xp.inf), axis=0)
    somewhere = xp.where(xp.isfinite(somewhere), somewhere, 0)
    centre, reach = xp.where(seen, centre, somewhere), xp.where(seen, wide, 0)
    if spread.weights is not None:  # whose narrow core stays where it is
        core = xp.where(seen, truth, somewhere), xp.where(seen, narrow, unseen), 0 * reach
        centre, width, reach = (xp.concat(pair) for pair in zip((centre, width, reach), core, strict=True))
        return *breakpoints(centre, width, reach, closer, fine), 0 * pressure
    surprise = xp.max(xp.where(seen, xp.abs(centre - truth) / narrow, 0), axis=0)
    return *breakpoints(centre, width, reach, closer, fine), xp.where(surprise > _SURPRISING, pressure, 0)
