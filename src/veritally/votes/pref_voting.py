"""Rankings as elections of the package pref_voting; needs the extra ``pref-voting``."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from veritally.arrays import Array
from veritally.errors import InputError
from veritally.votes.validation import Where, whole_multiplicity


def election(ranks: Array, multiplicity: Array, where: Where, names: Sequence[Any] | None = None) -> Any:
    """Return a single decision as a ``Profile`` of pref_voting, or a ``ProfileWithTies`` if ballots need it.

    Parameters
    ----------
    ranks
        Midranks, ``(voter, alternative)``, 0 for what a voter has not seen, which is left unranked.
    multiplicity
        How many voters each ballot stands for, ``(voter,)``; ballots of nobody, and empty ones, are left out.
    where
        Says in messages which voter an index means.
    names
        The alternatives, for its ``cmap``.
    """
    try:
        from pref_voting.profiles import Profile
        from pref_voting.profiles_with_ties import ProfileWithTies
    except ImportError as error:
        raise missing() from error
    ranks, whole = np.asarray(ranks), np.array(whole_multiplicity(multiplicity, where))
    voting = (whole > 0) & (ranks > 0).any(axis=-1)
    if not voting.any():
        raise InputError("pref_voting needs at least one vote, and there is none")
    ranks, many, n = ranks[voting], whole[voting].tolist(), ranks.shape[-1]
    cmap = {j: str(name) for j, name in enumerate(range(n) if names is None else names)}
    if (np.sort(ranks, axis=-1) == np.arange(1, n + 1)).all():
        return Profile(np.argsort(ranks, axis=-1).tolist(), many, cmap)
    return ProfileWithTies([_tiers(row) for row in ranks], many, list(range(n)), cmap)


def _tiers(ranks: Array) -> dict[int, int]:
    """Return the tier of each alternative that a voter ranks, 1 for the best."""
    seen = np.flatnonzero(ranks > 0)
    tiers = np.unique(ranks[seen], return_inverse=True)[1] + 1
    return dict(zip(seen.tolist(), tiers.tolist(), strict=True))


def missing() -> InputError:
    """Return the error that says what to install."""
    return InputError("pref_voting is needed: pip install 'veritally[pref-voting]'")
