"""What is compared: our rules and other libraries, each with what it is given and what it cannot use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

import veritally as vt
from peers import libraries
from peers.cells import DATASETS, INSTANCES, Cell
from peers.votes import Votes
from veritally.experiments.rule_set import Entry

_ALL = dict.fromkeys([*INSTANCES, *DATASETS])
Limits = Mapping[int | str, int | None]  # by number of voters or data set: how many decisions at most, None for all


@dataclass(frozen=True)
class Method:
    """A rule or library.

    Attributes
    ----------
    name
        What it is called in tables.
    scores
        Gives the scores of all decisions of a cell, ``(decision, alternative)``.
    votes
        The finest votes it sees: ``values`` or ``rankings``, which are also judged by pairs.
    batch
        Whether it takes many decisions at once.
    about
        What it was given, and what it cannot use; None for our rules.
    most
        On how many decisions to measure it; on none where nothing is said.
    """

    name: str
    scores: Callable[[Cell], np.ndarray]
    votes: str = "rankings"
    batch: bool = False
    about: str | None = None
    most: Limits = field(default_factory=lambda: _ALL)


def _own(rule: str, kind: str, cell: Cell) -> np.ndarray:
    """Score by a rule of ours, from arrays on."""
    given = {kind: cell.votes[kind]} | ({} if kind == "pairs" else {"counts": np.asarray(cell.profile.counts)})
    profile = vt.Profile(**given, voters=cell.profile.voters, alternatives=cell.profile.alternatives)
    entry = Entry.of(rule)
    return np.asarray(entry.make(cell.known, 0).scores(profile.coarsened(entry.votes).ballots))


def _ours(name: str, kind: str = "ranks", most: Limits = _ALL) -> Method:
    rule = name.partition(" ")[0]
    votes = "values" if kind == "values" else "rankings"
    return Method(name, partial(_own, rule, kind), votes, batch=True, most=most)


def _one_by_one(score: Callable[[Votes], list[float]], cell: Cell) -> np.ndarray:
    """Score by a library that takes one decision at a time."""
    scores = np.full(cell.truth.shape, -np.inf)
    for row, votes in zip(scores, cell.each, strict=True):
        row[: votes.alternatives] = score(votes)
    return scores


def _peer(name: str, score: Callable[[Votes], list[float]], about: str, most: Limits = _ALL) -> Method:
    return Method(name, partial(_one_by_one, score), about=about, most=most)


def _without(*keys: int | str) -> Limits:
    return {key: None for key in _ALL if key not in keys}


OURS = (
    _ours("posterior", most=_without("llmfao")),
    _ours("posterior on judgements", "pairs", most={"llmfao": None}),
    _ours("learned-universal"),
    _ours("pairwise"),
    _ours("pairwise-normalized"),
    _ours("borda"),
    _ours("plurality"),
    _ours("posterior on values", "values"),
    _ours("mean", "values"),
)

PEERS = (
    _peer(
        "TrueSkillThroughTime, one pass",
        libraries.trueskill,
        "each ballot is a game, one after another, with noise $\\sigma/\\sqrt c$ for each player and the rate of "
        "draws. In `llmfao` each judgement is a game, with the library's own noise and prior. It uses counts, but not "
        "that they may be wrong",
    ),
    _peer(
        "TrueSkillThroughTime, converged",
        libraries.trueskill_converged,
        "the same ballots as a history at one time, passed back and forth until it converges (at most ten times; "
        "noise comes from a partner of each player). It is slow. It was not used on ties, since it takes their margin "
        "from other noise",
        {10: 50, 30: 10},
    ),
    _peer(
        "choix, Plackett–Luce",
        libraries.plackett_luce,
        "rankings, ties broken at random; in `llmfao` the judgements, a tie as half a win for each. Regularised by "
        "0.01. It cannot use counts",
    ),
    _peer(
        "choix, probit",
        libraries.probit,
        "the pairs of each ballot (in `llmfao` the judgements) without ties, by expectation propagation with a prior "
        "of variance 1. It cannot use counts, nor the dependence between the pairs of a ballot",
        _ALL | {10: 300, 30: 100, 100: 30},
    ),
    _peer(
        "evalica, Bradley–Terry",
        libraries.bradley_terry,
        "the pairs of each ballot (in `llmfao` the judgements), and a tie of weight 0.01 for each two alternatives. "
        "Without that tie, all scores are 0 if one alternative wins every comparison. It is given no counts",
    ),
    _peer(
        "evalica, weighted",
        partial(libraries.bradley_terry, weighted=True),
        "the same with the weights of `pairwise`, $\\sqrt{c c'/(c + c')}$, since it takes a weight for each comparison",
        _without("llmfao"),
    ),
    _peer(
        "crowd-kit, noisy Bradley–Terry",
        libraries.noisy_bradley_terry,
        "the pairs of each ballot (in `llmfao` the judgements) without ties, left and right at random, with the name "
        "of the voter. It learns the skill and bias of each voter, and cannot use counts. In version 1.4.2 its "
        "gradient by skills and biases differs from finite differences of its objective, and the search ends after a "
        "few steps",
        _without(30, 100) | {10: 60},
    ),
    _peer(
        "pref_voting, Borda",
        libraries.borda,
        "rankings. If voters did not see everything, Borda by margins, so that unseen alternatives do not rank last. "
        "It cannot use counts",
    ),
    _peer(
        "pref_voting, Beat Path",
        libraries.beat_path,
        "the same. Its Kemeny rule is left out, since it tries all 10! orders",
    ),
    _peer("pref_voting, plurality", libraries.plurality, "the same. Tied favourites share a point"),
    Method(
        "PyMARE, fixed effects",
        libraries.fixed_effects,
        "values",
        batch=True,
        about="values with variances σ²/c (in data sets p(1 − p)/c), all decisions at once if nothing is missing. It "
        "takes values only",
    ),
    Method(
        "PyMARE, random effects",
        libraries.random_effects,
        "values",
        batch=True,
        about="the same, with a variance between voters by DerSimonian and Laird",
    ),
)

METHODS = (*OURS, *PEERS)
