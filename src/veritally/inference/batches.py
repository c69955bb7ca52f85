"""Decisions of one batch that are treated differently: taken apart, and put together again.

What is found about a decision must not depend on what else is in the batch. So decisions whose votes are of another
kind, or so many that another way is taken, go by themselves, in arrays no larger than they need.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from veritally.arrays import Array
from veritally.inference.fitted import Fit
from veritally.inference.propagation import Moments, pulls, withouts
from veritally.votes.ballots import Ballots


class Group(NamedTuple):
    """Decisions that are treated alike.

    Attributes
    ----------
    places
        Where they stand in the flattened batch.
    ballots
        Theirs, ``(decision, voter, alternative)``.
    """

    places: Array
    ballots: Ballots


def grouped(ballots: Ballots, key: Array, cut: bool) -> list[Group]:
    """Take decisions apart by a key, ``(...)``, with as many voters as the largest of a group has.

    With ``cut``, they also have only as many alternatives.
    """
    depth = ballots.mask.ndim - 1
    flat = ballots.map(lambda x: np.reshape(x, (-1, *x.shape[depth:])))
    groups = []
    for value in np.unique(key):
        places = np.flatnonzero(np.ravel(key) == value)
        own = flat.map(lambda x, places=places: x[places])  # type: ignore[misc]
        used = own.multiplicity > 0, own.mask
        m, n = (1 + int(np.max(np.flatnonzero(some.any(axis=0)), initial=0)) for some in used)
        n = max(n, 2) if cut else own.mask.shape[-1]
        groups.append(Group(places, own.trimmed(m, n)))
    return groups


def joined(groups: Sequence[Group], fits: Sequence[Fit], ballots: Ballots) -> Fit:
    """Put what was found about groups of decisions together, in the shape of all ``ballots``."""
    *batch, m, n = ballots.counts.shape
    decisions, values = int(np.prod(batch)), max(len(fit.weight) for fit in fits)
    fits = [_with_pulls(group, fit) for group, fit in zip(groups, fits, strict=True)]

    def put(parts: list[Array], fill: Array | float, *shape: int) -> Array:
        """Put parts in their places; where one has fewer values of the scale, its first is repeated."""
        whole = np.empty((values, decisions, *shape))
        whole[...] = fill
        for group, part in zip(groups, parts, strict=True):
            sizes = tuple(slice(None, size) for size in part.shape[2:])
            for v in range(values):
                whole[(v, group.places, *sizes)] = part[v if v < len(part) else 0]
        return whole

    def put_once(parts: list[Array], fill: float) -> Array:
        """Put parts in their places; values of the scale that one does not have are filled."""
        whole = put(parts, fill)
        for group, part in zip(groups, parts, strict=True):
            whole[len(part) :, group.places] = fill
        return whole

    def shaped(whole: Array) -> Array:
        return whole.reshape(values, *batch, *whole.shape[2:])

    known = [fit.moments for fit in fits]
    mean = put([x.mean for x in known], 0, n)
    sigma = put([fit.sigma for fit in fits], 1, n)
    together = Moments(
        shaped(mean),
        shaped(put([x.precision for x in known], np.eye(n), n, n)),
        shaped(put([x.pull for x in known], 0, m, n)),
        shaped(put([x.without for x in known], mean[:, :, None], m, n)),
        shaped(put([np.broadcast_to(x.fell_back, x.mean.shape[:-1]) for x in known], 0)) > 0,
    )
    freedom = np.empty(decisions)
    for group, fit in zip(groups, fits, strict=True):
        freedom[group.places] = fit.freedom
    return Fit(
        shaped(put_once([fit.weight for fit in fits], 0)),
        shaped(sigma),
        shaped(put([fit.tau for fit in fits], 1)),
        together,
        shaped(put_once([fit.log_evidence for fit in fits], -np.inf)),
        freedom.reshape(batch),
        replace(fits[0].means, sigma=shaped(sigma)[..., None, :]),
    )


def _with_pulls(group: Group, fit: Fit) -> Fit:
    """Fill in what each voter adds where the mode stands for the mean."""
    several = group.ballots.stacked(len(fit.tau))
    pull, without = pulls(several, fit.means, fit.moments), withouts(several, fit.means, fit.moments)
    return fit._replace(moments=fit.moments._replace(pull=pull, without=without))
