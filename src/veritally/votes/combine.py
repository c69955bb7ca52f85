"""Putting profiles together: more voters on one decision, or many decisions in one batch."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from veritally.arrays import Array, namespace
from veritally.errors import InputError, quoted
from veritally.votes.ballots import Ballots, SingleKind, frozen
from veritally.votes.differences import Differences
from veritally.votes.items import Items
from veritally.votes.kinds import finest_first
from veritally.votes.labels import Labels
from veritally.votes.layout import Field
from veritally.votes.mixed import Mixed
from veritally.votes.profile import Profile
from veritally.votes.rankings import Rankings
from veritally.votes.top import TopChoices


def concat(profiles: Sequence[Profile]) -> Profile:
    """Combine the voters of several profiles about one decision.

    Alternatives are matched by name; a profile's voters have not seen an alternative that it lacks. Votes of different
    kinds become mixed votes; rankings and favourites become rankings, in which a favourite is above all others. Groups,
    roles and items are matched by name. Shared errors stay within each profile.

    Examples
    --------
    >>> both = concat([Profile(top=["A", "B"], voters=["u", "v"]), Profile(top=["C", "A"], voters=["w", "x"])])
    >>> both.voters, both.alternatives
    (('u', 'v', 'w', 'x'), ('A', 'B', 'C'))
    """
    if not profiles:
        raise InputError("there are no profiles to combine; give at least one")
    if any(profile.names_differ for profile in profiles):
        raise InputError(
            "decisions of a batch have different names; concat takes profiles with the same names in all decisions"
        )
    if len({profile.batch for profile in profiles}) > 1:
        raise InputError("concat takes profiles with the same batch axes")
    if len({profile.decisions for profile in profiles}) > 1:
        raise InputError("concat takes profiles about the same decisions, in the same order")
    alternatives = list(dict.fromkeys(name for profile in profiles for name in profile.alternatives))
    for profile in profiles:
        if profile.ballots.part(Differences) is not None and list(profile.alternatives[:2]) != alternatives[:2]:
            raise InputError("differences can only be combined for the same two alternatives in the same order")
    facts, profiles = _facts(profiles), _with_the_same_roles(profiles)
    own = [aligned(profile, alternatives) for profile in profiles]
    axis = len(profiles[0].batch)

    def one_after_the_other(field: Field, arrays: list[Array]) -> Array:
        return namespace(*arrays).concat(arrays, axis=axis) if "voter" in field.axes else arrays[0]

    voters = [name for profile in profiles for name in profile.voters]
    named = any(profile.voter_labels.names is not None for profile in profiles)
    return profiles[0].with_ballots(
        _together(own, one_after_the_other, apart=True),
        **facts,
        items=Items.together([profile.items for profile in profiles if profile.items is not None]),
        voter_labels=Labels.of(voters if named else None, len(voters), (), "voter"),
        alternative_labels=Labels.of(alternatives, len(alternatives), (), "alternative"),
    )


def stack(profiles: Sequence[Profile], decisions: Sequence[Hashable] | None = None) -> Profile:
    """Make a batch of single decisions. Smaller ones are padded; ``unstack`` undoes it.

    Examples
    --------
    >>> stack([Profile(top=["A", "B"]), Profile(top=["X", "Y", "Z"])], decisions=["first", "second"])
    Profile(2 decisions, 3 voters, 3 alternatives, top)
    """
    if not profiles:
        raise InputError("there are no profiles to combine; give at least one")
    if any(profile.batch for profile in profiles):
        raise InputError("stack takes single decisions, not batches")
    facts, profiles = _facts(profiles), _with_the_same_roles(profiles)
    names = Labels.of(decisions, len(profiles), (), "decision").names
    m, n = (max(profile.shape[axis] for profile in profiles) for axis in (0, 1))
    padded = [profile.ballots.padded(m, n) for profile in profiles]
    return profiles[0].with_ballots(
        _together(padded, lambda _, arrays: namespace(*arrays).stack(arrays)),
        voter_labels=Labels(m, tuple(profile.voters for profile in profiles), each=True),
        alternative_labels=Labels(n, tuple(profile.alternatives for profile in profiles), each=True),
        decisions=names,
        **facts,
        items=Items.stacked([profile.items for profile in profiles], names or tuple(range(len(profiles)))),
    )


def _facts(profiles: Sequence[Profile]) -> dict[str, Any]:
    """Return the group of each voter and the names of roles, of all profiles."""
    groups: dict[Hashable, str] = {}
    for profile in profiles:
        for voter, group in (profile.groups or {}).items():
            if groups.setdefault(voter, group) != group:
                both = f"{quoted(groups[voter])} and {quoted(group)}"
                raise InputError(f"voter {quoted(voter)} is in the groups {both}; put each voter into one at most")
    roles = tuple(dict.fromkeys(role for profile in profiles for role in profile.role_names or ()))
    return {"groups": groups or None, "role_names": roles or None}


def _with_the_same_roles(profiles: Sequence[Profile]) -> Sequence[Profile]:
    """Let the numbers of roles mean the same in all profiles."""
    if len({profile.role_names for profile in profiles}) == 1:
        return profiles
    number = {role: r for r, role in enumerate(_facts(profiles)["role_names"])}
    made = []
    for profile in profiles:
        if (roles := profile.ballots.roles) is not None:
            new = np.array([-1.0, *(number[role] for role in profile.role_names or ())])
            profile = profile.with_ballots(profile.ballots.with_roles(new[np.asarray(roles).astype(int) + 1]))
        made.append(profile)
    return made


def aligned(profile: Profile, alternatives: Sequence[Hashable]) -> Ballots:
    """Return the ballots with their columns in the order of ``alternatives``, unseen ones added."""
    if list(profile.alternatives) == list(alternatives):
        return profile.ballots
    missing = [name for name in alternatives if name not in profile.alternatives]
    own = {name: j for j, name in enumerate([*profile.alternatives, *missing])}
    wide = profile.ballots.padded(len(profile), len(own))
    return wide.select(range(len(profile)), [own[name] for name in alternatives])


def _together(several: Sequence[Ballots], join: Callable[[Field, list[Array]], Array], apart: bool = False) -> Ballots:
    """Join ballots of one or of different kinds, array by array; shared errors are different ones if ``apart``."""
    forms = _with_the_same_fields(_in_one_form(several), apart)
    xp = namespace(*(ballots.mask for ballots in forms))
    columns = zip(*(ballots.arrays for ballots in forms), strict=True)

    def joined(field: Field, _: Array) -> Array:
        return join(field, [xp.asarray(x) for x in next(columns)])

    return forms[0].each_field(joined).masked().map(frozen)


def _with_the_same_fields(several: Sequence[Ballots], apart: bool) -> Sequence[Ballots]:
    """Give ballots of one form the arrays that only some of them have, blank, and the same number of factors."""
    each = [_alike(parts, apart) for parts in zip(*(ballots.parts for ballots in several), strict=True)]
    if isinstance(several[0], Mixed):
        return [Mixed(parts) for parts in zip(*each, strict=True)]
    return each[0]


def _alike(several: Sequence[SingleKind], apart: bool) -> list[SingleKind]:
    """Give ballots of one kind the same arrays; with ``apart``, the factors of each come after those of others."""
    fields = {name: field for ballots in several for name, field, _ in ballots.fields()}
    factors = [0 if ballots.loadings is None else ballots.loadings.shape[-1] for ballots in several]
    before = [0, *accumulate(factors)][: len(several)] if apart else [0] * len(several)
    number = sum(factors) if apart else max(factors)
    return [_filled(ballots, fields, number, first) for ballots, first in zip(several, before, strict=True)]


def _filled(ballots: SingleKind, fields: Mapping[str, Field], factors: int, before: int) -> SingleKind:
    """Add the arrays that are lacking, blank, and factors before and after those that there are."""
    xp = namespace(ballots.counts)
    voters, alternatives = ballots.counts.shape[-2:]
    sizes = {"voter": voters, "alternative": alternatives, "factor": factors}
    made: dict[str, Array] = {}
    for name, field in fields.items():
        own = getattr(ballots, name)
        if own is None or ("factor" in field.axes and own.shape[-1] < factors):
            shape = (*ballots.mask.shape[:-1], *(sizes[axis] for axis in field.axes))
            made[name] = xp.full(shape, field.blank, dtype=ballots.counts.dtype)
        if name in made and own is not None:
            after = before + own.shape[-1]
            made[name] = xp.concat([made[name][..., :before], own, made[name][..., after:]], axis=-1)
    return ballots._replace(**made)


def _in_one_form(several: Sequence[Ballots]) -> Sequence[Ballots]:
    """Bring ballots of different kinds into one form: mixed ones with the same parts.

    Rankings and favourites become rankings, in which a favourite stands above all others.
    """
    parts = [ballots.parts for ballots in several]
    kinds = {type(part) for own in parts for part in own}
    if {Rankings, TopChoices} <= kinds:
        kinds = kinds - {TopChoices}
        parts = [
            tuple(Rankings.made_from(part) if isinstance(part, TopChoices) else part for part in own) for own in parts
        ]
    if len(kinds) == 1 and not any(isinstance(ballots, Mixed) for ballots in several):
        return [own[0] for own in parts]
    return [Mixed.of([_of_kind(kind, own) for kind in finest_first(kinds)]) for own in parts]


def _of_kind(kind: type[SingleKind], parts: Sequence[SingleKind]) -> SingleKind:
    """Return the part of one kind, without votes where there is none."""
    own = next((part for part in parts if isinstance(part, kind)), None)
    return kind.none_of(parts[0]) if own is None else own
