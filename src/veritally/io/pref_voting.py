"""Profiles of the package pref_voting; needs the extra ``pref-voting``."""

from typing import Any

from veritally.errors import InputError
from veritally.io import decisions, orders
from veritally.io.options import Options, Unranked
from veritally.votes.profile import Profile


def from_pref_voting(profile: Any, unranked: Unranked | None = None) -> Profile:
    """Take the votes out of a ``Profile`` or ``ProfileWithTies`` of pref_voting.

    Parameters
    ----------
    profile
        Its rankings become voters, its numbers of voters multiplicities, its ``cmap`` the names of the alternatives.
    unranked
        What it means that a ranking leaves an alternative out: ``"below"`` puts it below everything ranked,
        ``"unknown"`` says that the voter has not seen it. Needed where some are left out.
    """
    kind = type(profile).__name__
    try:
        rankings, multiplicity = profile.rankings_counts
        names = {candidate: str(profile.cmap.get(candidate, candidate)) for candidate in profile.candidates}
    except (AttributeError, TypeError) as error:
        raise InputError(f"from_pref_voting takes a profile of rankings of pref_voting, not {kind}") from error
    tiers = [
        [[names[candidate] for candidate in tier] for tier in ranking.to_indiff_list()]
        if hasattr(ranking, "to_indiff_list")
        else [[names[candidate]] for candidate in ranking]
        for ranking in rankings
    ]
    said, name = Options(unranked=unranked), f"the {kind} of pref_voting"
    said.require_unranked(name, complete=all(sum(map(len, order)) == len(names) for order in tiers))
    given = orders.arguments(tiers, list(names.values()), said, name)
    return decisions.profile_of(name, given | {"multiplicity": [int(many) for many in multiplicity]})
