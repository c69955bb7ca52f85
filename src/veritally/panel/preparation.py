"""From votes and answers to what a panel is learned from, and from a panel's voters to their places."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from veritally.arrays import Array
from veritally.errors import InputError
from veritally.inference.dispersion import log_typical_count
from veritally.panel.evidence import FINAL, Facts, PairVotes, PanelVotes, RankedVotes, TwoWay, ValueVotes
from veritally.votes.labels import Labels, require_known
from veritally.votes.layout import somebody_saw
from veritally.votes.pairs import Pairs
from veritally.votes.profile import Profile
from veritally.votes.rankings import Rankings
from veritally.votes.top import TopChoices
from veritally.votes.values import Values

RoleSource: TypeAlias = Literal["none", "column", "alternatives", "position", "all"]
PanelKind: TypeAlias = Literal["rankings", "pairs", "values"]

_MOST_ROLES = 20
POSITIONS = ("first", "second")


@dataclass(frozen=True, eq=False)
class Prepared:
    """Votes as a panel sees them.

    Attributes
    ----------
    profile
        The votes, of a kind that panels know.
    kind
        That kind.
    source
        What the roles of alternatives come from.
    roles
        Their names.
    """

    profile: Profile
    kind: PanelKind
    source: RoleSource
    roles: tuple[str, ...]

    @classmethod
    def of(cls, profile: Profile, source: RoleSource | None, two_way: bool = True) -> "Prepared":
        """Bring votes into a form that panels know; ``source`` says where roles come from, None for any."""
        if len(profile.batch) != 1:
            raise InputError("a panel is learned from decisions along one batch axis")
        profile = as_two_way(profile) if two_way else profile
        if isinstance(profile.ballots, TopChoices):
            profile = profile.with_ballots(profile.ballots.coarsened("rankings").with_roles(profile.ballots.roles))
        kind = profile.kind
        if kind not in ("rankings", "pairs", "values"):
            raise InputError(
                f"a panel is learned from rankings, favourites, values or comparisons, not from {kind} votes"
            )
        if kind == "pairs" and source == "alternatives":
            raise InputError("roles by alternatives are not for comparisons; these have a first and a second place")
        if source not in (None, *get_args(RoleSource)):
            require_known(source, ("alternatives", "column"), "roles")
        if source is None:
            source = "column" if profile.ballots.roles is not None else "none"
            if kind == "pairs":
                source = (
                    "none" if isinstance(profile.ballots, Pairs) and profile.ballots.positions is None else "position"
                )
            if kind == "values" and source == "none":
                source = "all"
        return cls(profile, kind, source, _role_names(profile, source))


def as_two_way(profile: Profile) -> Profile:
    """Return comparisons of two alternatives, at most one by each voter, as rankings; which stood first is a role."""
    pairs = profile.ballots
    if not isinstance(pairs, Pairs) or profile.shape[-1] != 2 or np.max(np.asarray(pairs.counts), initial=0) > 1:
        return profile
    won = np.sum(np.asarray(pairs.votes), axis=-1)  # (decision, voter, alternative)
    counts = np.asarray(pairs.counts)
    ranks = np.where(counts > 0, np.where(won > 0.75, 1.0, np.where(won < 0.25, 2.0, 1.5)), 0.0)
    ballots = Rankings(ranks, counts, pairs.multiplicity, pairs.mask)
    if pairs.positions is None:
        return profile.with_ballots(ballots)
    first = np.asarray(pairs.positions)  # of what was preferred
    ahead = np.sum(first, axis=-1) + np.sum(np.asarray(pairs.votes) - first, axis=-2) > 0.25
    roles = np.where(counts > 0, np.where(ahead, 0.0, 1.0), -1.0)
    return profile.with_ballots(ballots.with_roles(roles), role_names=POSITIONS)


def _role_names(profile: Profile, source: RoleSource) -> tuple[str, ...]:
    if source == "alternatives":
        names = tuple(dict.fromkeys(str(name) for own in names_of(profile.alternative_labels, profile) for name in own))
        if len(names) > _MOST_ROLES:
            raise InputError(
                f"roles by alternatives are for few that recur, such as yes and no; here are {len(names)} alternatives"
            )
        return names
    if source == "column":
        if profile.role_names is None:
            raise InputError("this panel knows roles, but the votes have no column role")
        return profile.role_names
    return {"position": ("first",), "all": ("all",)}.get(source, ())


def names_of(labels: Labels, profile: Profile) -> list[tuple[Hashable, ...]]:
    """Return the names in each decision."""
    return [labels.at(d) for d in range(profile.batch[0])]


def members(profile: Profile, voters: tuple[str, ...]) -> Array:
    """Return which of the panel's ``voters`` each ballot is by, ``(decision, voter)``; −1 for one it does not know."""
    place = {name: i for i, name in enumerate(voters)}
    found = np.full(profile.shape[:2], -1)
    for d, names in enumerate(names_of(profile.voter_labels, profile)):
        found[d, : len(names)] = [place.get(str(name), -1) for name in names]
    return found


def roles_of(prepared: Prepared, names: tuple[str, ...]) -> Array:
    """Return the role of each alternative on each ballot, by its place among names, −1 for none."""
    profile, source = prepared.profile, prepared.source
    place = {name: r for r, name in enumerate(names)}
    if source == "alternatives":
        found = np.full((profile.shape[0], profile.shape[2]), -1)
        for d, own in enumerate(names_of(profile.alternative_labels, profile)):
            found[d, : len(own)] = [place.get(str(name), -1) for name in own]
        return np.broadcast_to(found[:, None], profile.shape)
    if source == "column":
        given = np.asarray(profile.ballots.roles, dtype=int)
        known = np.array([place.get(name, -1) for name in prepared.roles] + [-1])
        return known[given]
    return np.zeros(profile.shape, dtype=int) if source == "all" else np.full(profile.shape, -1)


def expected_roles(roles: Array, seen: Array) -> Array:
    """Return the role of each alternative where it is one on all ballots, ``(decision, alternative)``, else −1."""
    low = np.min(np.where(seen, roles, 1 << 20), axis=1)
    high = np.max(np.where(seen, roles, -1), axis=1)
    return np.where(low == high, high, -1)


def typical_count(profile: Profile) -> float:
    """Return the geometric mean of the counts; that of comparisons is 1."""
    if profile.kind == "pairs":
        return 1.0
    return float(np.exp(np.mean(np.asarray(log_typical_count(profile.ballots)))))


def levels_of(profile: Profile) -> tuple[tuple[str, ...], Array, Array]:
    """Return levels of confidence, what they were taken for, and the level of each count, −1 for none."""
    counts = np.asarray(profile.counts)
    found = np.full(counts.shape, -1)
    given = {} if profile.confidence is None else dict(sorted(profile.confidence.items(), key=lambda pair: pair[1]))
    used = {level: worth for level, worth in given.items() if np.any(counts == worth)}
    if len(used) < 2 or len(set(used.values())) < len(used):
        return (), np.zeros(0), found
    for k, worth in enumerate(used.values()):
        found[counts == worth] = k
    return tuple(used), np.array(list(used.values())), found


def centres(profile: Profile) -> Array:
    """Return the mean of all values of each decision, ``(decision,)``."""
    values = np.asarray(profile.values)
    given = np.isfinite(values) & (np.asarray(profile.counts) > 0)
    number = np.maximum(np.sum(given, axis=(1, 2)), 1)
    return np.asarray(np.sum(np.where(given, values, 0), axis=(1, 2)) / number)


def votes_to_learn(prepared: Prepared, voters: tuple[str, ...], answers: Array, with_base: bool) -> PanelVotes:
    """Return what a panel is learned from."""
    profile = prepared.profile
    ballots = profile.ballots
    counts, times = np.asarray(ballots.counts), np.asarray(ballots.effective_multiplicity)
    seen = (counts > 0) & (times > 0)[..., None]
    roles = roles_of(prepared, prepared.roles)
    truth_roles = expected_roles(roles, seen)
    if not with_base or np.any((roles != truth_roles[:, None]) & seen):  # some ballots give it another role
        truth_roles = np.full(answers.shape, -1)
    who = members(profile, voters)
    facts = Facts(who, roles, truth_roles, counts / typical_count(profile), levels_of(profile)[2], times, answers)
    if isinstance(ballots, Values):
        return ValueVotes(
            facts, np.where(counts > 0, np.asarray(ballots.votes), np.nan) - centres(profile)[:, None, None]
        )
    if isinstance(ballots, Pairs):
        return _pair_votes(facts, ballots)
    assert isinstance(ballots, Rankings)
    ranks = np.asarray(ballots.votes)
    if profile.shape[-1] == 2:
        both = np.all(counts > 0, axis=-1)
        return TwoWay(facts, np.where(both, np.sign(ranks[..., 0] - ranks[..., 1]), 0.0))
    return RankedVotes(facts, _with_answers(ballots, facts))


def _with_answers(ballots: Rankings, facts: Facts) -> Rankings:
    """Return rankings with the answer as one more ballot of each decision."""
    from scipy.stats import rankdata

    truth = facts.answers
    known = np.isfinite(truth)
    ranks = np.where(known, rankdata(np.where(known, -truth, np.inf), axis=-1), 0)
    says = np.array([len(np.unique(own[here])) > 1 for own, here in zip(truth, known, strict=True)], dtype=float)
    counts = np.concat([facts.counts, np.where(known, FINAL, 0.0)[:, None]], axis=1)
    times = np.concat([facts.times, says[:, None]], axis=1)
    return Rankings(
        np.concat([np.asarray(ballots.votes), ranks[:, None]], axis=1), counts, times, somebody_saw(counts, times)
    )


def _pair_votes(facts: Facts, ballots: Pairs) -> PairVotes:
    """Return the comparisons that were made, one row for each voter, pair and order."""
    votes = np.asarray(ballots.votes) * facts.times[..., None, None]
    tables = [(0, votes)]
    if ballots.positions is not None:
        first = np.asarray(ballots.positions) * facts.times[..., None, None]
        tables = [(1, first), (-1, votes - first)]
    rows = []
    for side, table in tables:
        d, i, j, k = np.nonzero(table > 0)
        rows.append(np.stack([d, i, j, k, np.full(len(d), side), table[d, i, j, k]], axis=1))
    every = np.concat(rows)
    every = every[np.argsort(every[:, 0], kind="stable")]
    decisions = len(facts.answers)
    number = np.bincount(every[:, 0].astype(int), minlength=decisions)
    made = np.zeros((decisions, max(int(number.max(initial=0)), 1), 5))
    made[..., 2] = 1.0  # another alternative than the preferred one
    column = np.concat([np.arange(own) for own in number]) if len(every) else np.zeros(0, dtype=int)
    made[every[:, 0].astype(int), column] = every[:, 1:]
    voter, preferred, other = (made[..., k].astype(int) for k in range(3))
    place = made[..., 3]
    return PairVotes(facts, voter, preferred, other, place, made[..., 4])
