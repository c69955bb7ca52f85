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
        "each ballot a game, in turn, with noise σ/√c for each player, and the rate of draws; of `llmfao` each "
        "judgement a game, with the library's own noise and prior. It uses counts, not that they may be wrong",
    ),
    _peer(
        "TrueSkillThroughTime, converged",
        libraries.trueskill_converged,
        "the same as a history of ballots at one time, back and forth until it converges (at most ten times; noise by "
        "a partner of each player). Not for ties, whose margin it takes from other noise; slow",
        {10: 50, 30: 10},
    ),
    _peer(
        "choix, Plackett–Luce",
        libraries.plackett_luce,
        "rankings, ties broken by lot; of `llmfao` the judgements, ties as half a win each. Regularised by 0.01. It "
        "cannot use counts",
    ),
    _peer(
        "choix, probit",
        libraries.probit,
        "the pairs of each ballot (of `llmfao` the judgements), ties left out, by expectation propagation with a prior "
        "of variance 1. It cannot use counts, nor that the pairs of a ballot hang together",
        _ALL | {10: 300, 30: 100, 100: 30},
    ),
    _peer(
        "evalica, Bradley–Terry",
        libraries.bradley_terry,
        "the pairs of each ballot (of `llmfao` the judgements), and a tie of weight 0.01 for each two alternatives: "
        "without it, all scores are 0 where one wins every comparison. No counts",
    ),
    _peer(
        "evalica, weighted",
        partial(libraries.bradley_terry, weighted=True),
        "the same with weights √(c c′/(c + c′)), those of `pairwise`, as it takes a weight for each comparison",
        _without("llmfao"),
    ),
    _peer(
        "crowd-kit, noisy Bradley–Terry",
        libraries.noisy_bradley_terry,
        "the pairs of each ballot (of `llmfao` the judgements), left and right by lot, ties left out, with the voter's "
        "name, whose skill and bias it learns. It cannot use counts. In 1.4.2 its gradient by skills and biases is not "
        "that of its objective, by finite differences, and the search ends after a few steps",
        _without(30, 100) | {10: 60},
    ),
    _peer(
        "pref_voting, Borda",
        libraries.borda,
        "rankings; where voters did not see all, Borda by margins, so that the unseen is not below. It cannot use "
        "counts",
    ),
    _peer(
        "pref_voting, Beat Path",
        libraries.beat_path,
        "the same. Its Kemeny rule, which tries all 10! orders, is left out",
    ),
    _peer("pref_voting, plurality", libraries.plurality, "the same; tied favourites share a point"),
    Method(
        "PyMARE, fixed effects",
        libraries.fixed_effects,
        "values",
        batch=True,
        about="values with variances σ²/c (of data sets p(1 − p)/c), all decisions at once where nothing is missing. "
        "It takes values alone",
    ),
    Method(
        "PyMARE, random effects",
        libraries.random_effects,
        "values",
        batch=True,
        about="the same, with variance between voters by DerSimonian and Laird",
    ),
)

METHODS = (*OURS, *PEERS)
