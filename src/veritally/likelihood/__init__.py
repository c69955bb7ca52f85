"""The exact probability of a vote given the truth, with its gradient and curvature.

Each voter's mean of alternative j after c_ij observations is normal around the truth μ_j with standard deviation
σ_j/√c_ij. A vote reports these means: their values, their difference, their order, or the best of them.
"""

from collections.abc import Mapping
from typing import Any

from veritally.arrays import Array, namespace
from veritally.errors import InputError
from veritally.likelihood.rankings import Derivatives
from veritally.likelihood.votes import derivatives as _derivatives
from veritally.model.means import VoterMeans
from veritally.model.mixtures import mixture
from veritally.model.parameters import by_name, checked_parameters
from veritally.votes.profile import Profile
from veritally.votes.validation import numbers

__all__ = ["Derivatives", "derivatives", "log_likelihood", "log_prob"]


def log_prob(
    profile: Profile,
    *,
    truth: Any,
    sigma: Any = 1.0,
    cap: float | None = None,
    count_error: Any = None,
    noise: Any = None,
) -> Array:
    """Return each voter's exact log-probability of their vote, ``(..., voter)``.

    For values and differences it is a log-density. Alternatives that a voter never saw do not matter; those seen and
    left blank are below all that have a vote; a tie stands for all its orders. A voter without a vote has 0.

    Parameters
    ----------
    profile
        Votes of any kind.
    truth
        The true quality of each alternative, ``(..., alternative)``, or a dictionary by name.
    sigma
        The standard deviation of one observation, one number or one for each alternative.
    cap
        The most that a count may count for.
    count_error
        How counts may be wrong: ``"percentage:SIZE"`` or ``"replacement:PROBABILITY"``. The true counts are then summed
        over; all in the range of the counts are equally likely.
    noise
        The distribution of one observation, if it is not normal: ``"laplace"`` or ``"student:FREEDOM"``.

    Examples
    --------
    Two alternatives are the paper's Case 3, Φ(Δ/√(s_1² + s_2²)):

    >>> profile = Profile(ranks=[[1, 2]], counts=[[1, 1]])
    >>> log_prob(profile, truth=[1, 0]).round(4)  # log 0.7602
    array([-0.2741])
    >>> log_prob(Profile(ranks=[[1, 2, 3]]), truth=[0, 0, 0]).round(4)  # log 1/6
    array([-1.7918])
    """
    parameters = {"sigma": sigma, "cap": cap, "count_error": count_error, "noise": noise}
    return derivatives(profile, truth=truth, **parameters, order=0).log_prob


def log_likelihood(
    profile: Profile,
    *,
    truth: Any,
    sigma: Any = 1.0,
    cap: float | None = None,
    count_error: Any = None,
    noise: Any = None,
) -> Array:
    """Return the log-probability of all votes, ``(...)``: the sum over voters, each times the multiplicity.

    Examples
    --------
    >>> float(log_likelihood(Profile(top=["A", "B"]), truth={"A": 0, "B": 0}).round(4))
    -1.3863
    """
    each = log_prob(profile, truth=truth, sigma=sigma, cap=cap, count_error=count_error, noise=noise)
    return namespace(each).sum(each * profile.multiplicity, axis=-1)


def derivatives(
    profile: Profile,
    *,
    truth: Any,
    sigma: Any = 1.0,
    cap: float | None = None,
    count_error: Any = None,
    noise: Any = None,
    order: int = 2,
) -> Derivatives:
    """Return each voter's log-probability with its gradient and second derivatives by the truth.

    Returns
    -------
    Derivatives
        ``log_prob`` ``(..., voter)``, ``gradient`` ``(..., voter, alternative)`` and ``curvature`` ``(..., voter,
        alternative, alternative)``; None beyond the ``order`` of derivatives asked for. Other arguments are as for
        :func:`log_prob`.

    Examples
    --------
    A voter's pull at equal truths, for two alternatives √(2/π)/√(s_1² + s_2²):

    >>> derivatives(Profile(ranks=[[1, 2]]), truth=[0, 0]).gradient.round(4)
    array([[ 0.5642, -0.5642]])
    """
    ballots = profile.ballots
    known = by_name(truth, profile, "the truth") if isinstance(truth, Mapping) else truth
    values = namespace(ballots.counts).asarray(numbers(known, "the truth"), dtype=ballots.counts.dtype)
    shape = (*profile.batch, profile.shape[-1])
    if tuple(values.shape) not in (shape, shape[-1:]):
        raise InputError(f"the truth has the shape {tuple(values.shape)}; these votes need {shape}")
    xp = namespace(values)
    values = xp.broadcast_to(values, shape)
    if not bool(xp.all(xp.isfinite(xp.where(ballots.mask, values, 0)))):
        raise InputError("the truth must be a finite number for each alternative that was seen")
    given = checked_parameters({"sigma": sigma, "cap": cap, "count_error": count_error, "noise": noise}, profile)
    counts = ballots.counts if given["cap"] is None else xp.minimum(ballots.counts, xp.asarray(given["cap"]))
    means = VoterMeans(given["sigma"], given["cap"], mixture(given["count_error"], given["noise"], counts))
    return _derivatives(ballots, xp.where(ballots.mask, values, 0), means, order)
