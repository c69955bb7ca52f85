"""Putting profiles together: more voters on one decision, or many decisions in one batch."""

import math
from collections.abc import Hashable, Sequence
from typing import Any

from veritally.arrays import Array, namespace
from veritally.errors import InputError
from veritally.votes.ballots import Ballots, Kind, ballots_of, coarsened
from veritally.votes.labels import Labels
from veritally.votes.profile import Profile


def concat(profiles: Sequence[Profile]) -> Profile:
    """Put the voters of several profiles about one decision together.

    Alternatives are matched by name; one that a profile does not have is unseen by its voters. Votes of different kinds
    become mixed ones; rankings and favourites become rankings, in which a favourite stands above all others.

    Examples
    --------
    >>> both = concat([Profile(top=["A", "B"], voters=["u", "v"]), Profile(top=["C", "A"], voters=["w", "x"])])
    >>> both.voters, both.alternatives
    (('u', 'v', 'w', 'x'), ('A', 'B', 'C'))
    """
    profiles = _mixed(profiles)
    first = _alike(profiles)
    if any(profile._alternatives.each or profile._voters.each for profile in profiles):
        raise InputError(
            "the decisions of a batch differ in their names; concat takes profiles about the same decisions"
        )
    if len({profile.batch for profile in profiles}) > 1:
        raise InputError("concat takes profiles with the same batch axes")
    if len({profile.decisions for profile in profiles}) > 1:
        raise InputError("concat takes profiles about the same decisions, in the same order")
    alternatives = list(dict.fromkeys(name for profile in profiles for name in profile.alternatives))
    if first.kind == "differences" and any(list(profile.alternatives) != alternatives for profile in profiles):
        raise InputError("differences can only be put together for the same two alternatives in the same order")
    named = any(profile._voters.names is not None for profile in profiles)
    voters = [name for profile in profiles for name in profile.voters]
    aligned = [_aligned(profile, alternatives) for profile in profiles]
    xp = namespace(*(ballots.votes for ballots in aligned))
    axis = len(first.batch)
    votes, counts, multiplicity = (xp.concat([xp.asarray(b[field]) for b in aligned], axis=axis) for field in range(3))
    return first._with(
        ballots=ballots_of(first.kind, votes, counts, multiplicity),
        _voters=Labels.of(voters if named else None, len(voters), (), "voter"),
        _alternatives=Labels.of(alternatives, len(alternatives), (), "alternative"),
    )


def stack(profiles: Sequence[Profile], decisions: Sequence[Hashable] | None = None) -> Profile:
    """Make a batch of single decisions, padding the smaller ones; ``unstack`` takes it apart again.

    Examples
    --------
    >>> stack([Profile(top=["A", "B"]), Profile(top=["X", "Y", "Z"])], decisions=["first", "second"])
    Profile(2 decisions, 3 voters, 3 alternatives, top)
    """
    profiles = _mixed(profiles)
    first = _alike(profiles)
    if any(profile.batch for profile in profiles):
        raise InputError("stack takes single decisions, not batches")
    m, n = (max(profile.shape[axis] for profile in profiles) for axis in (0, 1))
    votes_size = {"differences": (m,), "mixed": (m, n, 3), "pairs": (m, n, n)}.get(first.kind, (m, n))
    sizes = (votes_size, (m, n), (m,))
    xp = namespace(*(profile.counts for profile in profiles))
    votes, counts, multiplicity = (
        xp.stack([_padded(xp.asarray(profile.ballots[field]), size, fill) for profile in profiles])
        for field, (size, fill) in enumerate(zip(sizes, (_blank(first), 0, 0), strict=True))
    )
    return first._with(
        ballots=ballots_of(first.kind, votes, counts, multiplicity),
        decisions=Labels.of(decisions, len(profiles), (), "decision").names,
        _voters=Labels(m, tuple(profile.voters for profile in profiles), each=True),
        _alternatives=Labels(n, tuple(profile.alternatives for profile in profiles), each=True),
    )


def _mixed(profiles: Sequence[Profile]) -> Sequence[Profile]:
    """Bring votes of different kinds into one form."""
    kinds = {profile.kind for profile in profiles}
    if len(kinds) <= 1:
        return profiles
    if "pairs" in kinds:
        raise InputError("pairs cannot be put together with other votes; take their as_rankings() first")
    ballots = [coarsened(profile.ballots, "mixed") for profile in profiles]
    if kinds == {"rankings", "top"}:
        ballots = [coarsened(own, "rankings") for own in ballots]
    return [profile._with(ballots=own) for profile, own in zip(profiles, ballots, strict=True)]


def _alike(profiles: Sequence[Profile]) -> Profile:
    kinds = sorted({profile.kind for profile in profiles})
    if not kinds:
        raise InputError("there are no profiles to put together")
    if len(kinds) > 1:
        raise InputError(f"cannot put {' and '.join(kinds)} together; coarsen them to one kind first")
    return profiles[0]


def _aligned(profile: Profile, alternatives: list[Hashable]) -> Ballots:
    """Return the ballots with their columns in the order of ``alternatives``, unseen ones added."""
    if list(profile.alternatives) == alternatives:
        return profile.ballots
    missing = [name for name in alternatives if name not in profile.alternatives]
    own = {name: j for j, name in enumerate([*profile.alternatives, *missing])}
    votes, counts, *_ = profile.ballots
    xp = namespace(counts)
    columns = xp.asarray([own[name] for name in alternatives])

    def spread(x: Array, fill: Array | float, axis: int = len(profile.batch) + 1) -> Array:
        shape = (*x.shape[:axis], len(missing), *x.shape[axis + 1 :])
        wide = xp.concat([x, xp.broadcast_to(xp.asarray(fill, dtype=x.dtype), shape)], axis=axis)
        return xp.take(wide, columns, axis=axis)

    wide = spread(votes, _blank(profile))
    if profile.kind == "pairs":
        wide = spread(wide, 0, len(profile.batch) + 2)
    return profile.ballots._replace(votes=wide, counts=spread(counts, 0))


def _blank(profile: Profile) -> Any:
    """Return what stands for no vote."""
    kinds: dict[Kind, Any] = {"values": math.nan, "differences": math.nan, "mixed": [math.nan, math.nan, 0]}
    return kinds.get(profile.kind, 0)


def _padded(x: Array, size: tuple[int, ...], fill: Any) -> Array:
    """Lengthen each axis: nobody there, nothing seen."""
    xp = namespace(x)
    for axis, length in enumerate(size):
        shape = (*x.shape[:axis], length - x.shape[axis], *x.shape[axis + 1 :])
        if length > x.shape[axis]:
            x = xp.concat([x, xp.broadcast_to(xp.asarray(fill, dtype=x.dtype), shape)], axis=axis)
    return x
