"""Deciding one decision by any number of voters: each piece has some voters, and what they say adds up."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from veritally.arrays import Array
from veritally.decide import Question, require_evidence
from veritally.errors import InputError, InputWarning
from veritally.inference.mixture import PosteriorMixture
from veritally.inference.optimiser import peak_of, tally_at
from veritally.inference.propagation import Moments
from veritally.inference.sampling import believe
from veritally.io.options import Options
from veritally.likelihood.votes import LikelihoodSums
from veritally.outcome import TieBreak
from veritally.records import Answered, has_unit
from veritally.rules.info import RuleInfo
from veritally.rules.posterior import Posterior
from veritally.rules.protocol import Fit
from veritally.rules.sums import SumRule, Tally
from veritally.streams.decisions import Votes, table_of
from veritally.votes.ballots import Ballots, Kind
from veritally.votes.claims import capped, claim_of, claimed
from veritally.votes.combine import aligned
from veritally.votes.labels import Labels

Pass: TypeAlias = "LookAround | Slope"
"""What can be done with each piece."""
Spread: TypeAlias = Callable[[Pass], Iterator[Any]]
"""Does something with all pieces, and yields what comes of each, in their order."""


class Survey(NamedTuple):
    """What voters saw: how many each alternative, how much in total, and the two who claim most with the most.

    ``somewhere`` and ``everywhere`` mark the alternatives that were seen in some piece, and in all.
    """

    voters: Array
    counts: Array
    somewhere: Array
    everywhere: Array
    number: int
    claims: tuple[tuple[float, str], ...]
    tally: Tally | None = None

    def arrays(self) -> dict[str, Any]:
        """Return it as arrays."""
        tally = {} if self.tally is None else {f"tally {name}": x for name, x in self.tally._asdict().items()}
        claims = {"claims": [count for count, _ in self.claims], "claimants": [name for _, name in self.claims]}
        own = {"voters": self.voters, "counts": self.counts, "number": self.number, **claims}
        own |= {"somewhere": self.somewhere, "everywhere": self.everywhere}
        return own | {name: x for name, x in tally.items() if x is not None}

    @classmethod
    def of_arrays(cls, found: Mapping[str, Any]) -> "Survey":
        """Return what arrays say."""
        claims = tuple(zip(found["claims"].tolist(), found["claimants"].tolist(), strict=True))
        known = {name.removeprefix("tally "): found[name] for name in found if name.startswith("tally ")}
        tally = Tally(**{"norms": None, **known, "voters": int(known["voters"])}) if known else None
        voters, counts, somewhere, everywhere = map(found.__getitem__, ("voters", "counts", "somewhere", "everywhere"))
        return cls(voters, counts, somewhere, everywhere, int(found["number"]), claims, tally)

    def plus(self, other: "Survey") -> "Survey":
        """Return it of both groups of voters."""
        claims = tuple(sorted((*self.claims, *other.claims), reverse=True)[:2])
        tally = None if self.tally is None or other.tally is None else self.tally.plus(other.tally)
        return Survey(
            self.voters + other.voters,
            self.counts + other.counts,
            self.somewhere | other.somewhere,
            self.everywhere & other.everywhere,
            self.number + other.number,
            claims,
            tally,
        )


@dataclass(frozen=True)
class Reader:
    """How the votes of a piece become ballots on all alternatives.

    Attributes
    ----------
    cap
        The most that counts are taken for; None for what they are.
    seen
        Which alternatives somebody saw, in whatever piece; None where that is not known yet.
    """

    said: Options
    alternatives: tuple[str, ...]
    votes: Kind | None = None
    cap: float | None = None
    seen: tuple[bool, ...] | None = None

    def __call__(self, votes: Votes) -> tuple[Ballots, tuple[str, ...], Array]:
        """Return ballots, the names of their voters, and the largest count that each claims."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)
            profile = votes.profile(self.said)
        ballots = aligned(profile, self.alternatives)
        ballots = ballots if self.cap is None else capped(ballots, np.array(self.cap))
        most = claimed(ballots)
        ballots = ballots if self.votes is None else ballots.coarsened(self.votes)
        ballots = ballots if self.seen is None else ballots.weighed(ballots.multiplicity, np.array(self.seen))
        return ballots, profile.voters, most

    @property
    def key(self) -> str:
        """What stands for it."""
        return f"{self.cap} {self.seen}"


@dataclass(frozen=True)
class LookAround:
    """Surveys a piece, and tallies it for a rule of one pass."""

    reader: Reader
    rule: SumRule | None

    @property
    def key(self) -> str:
        """What stands for it."""
        return f"survey {self.reader.key}"

    def __call__(self, votes: Votes) -> Survey:
        """Do so."""
        ballots, names, most = self.reader(votes)
        times, counts, mask = ballots.multiplicity, ballots.counts, ballots.mask
        first = np.argsort(-most, kind="stable")[:2]
        claims = tuple((float(most[i]), str(names[i])) for i in first if most[i] > 0)
        tally = None if self.rule is None else self.rule.tally(ballots)
        seen, looks = (counts > 0) * times[:, None], counts * times[:, None]
        number = int(np.sum(most > 0))
        return Survey(np.sum(seen, axis=0), np.sum(looks, axis=0), mask, mask, number, claims, tally)


@dataclass(frozen=True)
class Slope:
    """Tallies the likelihood of a piece at some truths, one for each value of the noise."""

    reader: Reader
    rule: Posterior
    found: PosteriorMixture
    level: Array | None
    truth: Array
    order: int

    @property
    def key(self) -> str:
        """What stands for it."""
        return f"slope {self.order} {self.reader.key} {self.truth.tobytes().hex()}"

    def __call__(self, votes: Votes) -> LikelihoodSums:
        """Do so."""
        ballots = self.rule.ready(self.reader(votes)[0].stacked(1))
        ballots = ballots if self.level is None else ballots.shifted(-self.level)
        several = ballots.stacked(len(self.truth))
        return tally_at(several, self.truth, self.found.model(several), self.order, False)


@dataclass(frozen=True)
class OneDecision:
    """What is asked about one decision by very many voters.

    Attributes
    ----------
    said
        How files are to be read.
    alternatives
        All of them, in the order of the file.
    some
        Votes of some voters, by which the noise is found.
    strict
        Whether a tie among the chosen is an error.
    """

    said: Options
    alternatives: tuple[str, ...]
    some: Votes
    rule: RuleInfo
    choose: int = 1
    tie_break: TieBreak = "error"
    seed: int = 0
    parameters: dict[str, Any] = field(default_factory=dict)
    strict: bool = False

    def question(self) -> Question:
        """Ask it about some of the voters."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)
            profile = self.some.profile(self.said)
        labels = Labels.of(self.alternatives, len(self.alternatives), (), "alternative")
        profile = profile.with_ballots(aligned(profile, self.alternatives), alternative_labels=labels)
        # Of how many one can choose is known only when all have voted.
        asked = Question.of(profile, self.rule, 1, self.tie_break, self.seed, self.parameters, oddities=False)
        if asked.panel is not None:
            raise InputError("groups and panels are for voters that fit into memory; leave them out")
        if not isinstance(asked.method, SumRule | Posterior):
            problem = f"the rule {asked.info.name} needs all voters at once"
            raise InputError(f"{problem}; use posterior, or a rule of one pass such as pairwise")
        return asked

    def answered(self, spread: Spread) -> tuple[pl.DataFrame, str, list[str]]:
        """Return the answer, the name of the rule, and what is to be said about it."""
        asked = self.question()
        rule, reader = asked.method, Reader(self.said, self.alternatives, asked.info.votes)
        sums = rule if isinstance(rule, SumRule) else None
        survey: Survey = reduce(Survey.plus, spread(LookAround(reader, sums)))
        claim = claim_of(survey.claims, survey.number) if self.parameters.get("cap") is None else None
        if claim is not None or not np.array_equal(survey.somewhere, survey.everywhere):
            reader = replace(reader, cap=claim and claim.cap, seen=tuple(survey.somewhere.tolist()))
            survey = reduce(Survey.plus, spread(LookAround(reader, sums)))
        if sums is not None:
            assert survey.tally is not None
            fit, belief = sums.fit_tally(survey.tally), None
        else:
            assert isinstance(rule, Posterior)
            asked = replace(asked, profile=asked.profile if claim is None else claim.capped(asked.profile))
            fit = self._climb(asked, rule, reader, survey, spread)
            assert fit.posterior is not None
            some = asked.profile.ballots
            some = some.weighed(some.multiplicity, survey.voters > 0)  # others saw more than these
            belief = believe(some, fit.posterior, fit.winner, self.seed, exact=False)
        require_evidence(fit.scores, asked.profile, self.choose)
        answered = Answered(
            np.asarray(fit.scores)[None],
            np.asarray(fit.rounding)[None],
            survey.voters[None],
            survey.counts[None],
            asked.profile.alternative_labels,
            self.choose,
            belief,
            None if belief is None else belief.p_best,
            asked.profile.ballots.anchored,
            has_unit(self.parameters),
        )
        order = answered.order
        if self.strict:
            answered.require_untied()
        if self.tie_break == "random":
            groups, random = answered.tied[0], np.random.default_rng((self.seed,))
            places = [np.flatnonzero(groups == group) for group in range(int(np.max(groups)) + 1)]
            order = np.concat([own[random.permutation(len(own))] for own in places])[None]
        table = table_of(answered.columns(order, self.tie_break != "error"), fit.status)
        return table, asked.info.name, [*([] if claim is None else [claim.sentence]), *fit.messages(self.alternatives)]

    def _climb(self, asked: Question, rule: Posterior, reader: Reader, survey: Survey, spread: Spread) -> Fit:
        """Find the noise by some voters, and the truths there by all of them, turn by turn."""
        fit = asked.outcome().fit
        assert fit.posterior is not None
        found = fit.posterior.changed(lambda x: x[:, None], lambda x: x[None])  # decisions along one axis
        some = rule.ready(asked.profile.ballots.stacked(1))
        level = some.level()
        mask = np.broadcast_to(survey.voters > 0, found.moments.mean.shape)
        model = found.model((some if level is None else some.shifted(-level)).stacked(len(mask)))

        def tallying(truth: Array, _: Array, order: int, __: bool) -> LikelihoodSums:
            parts: Iterator[LikelihoodSums] = spread(Slope(reader, rule, found, level, truth, order))
            return reduce(_both, parts)

        start = found.moments.mean - (0 if level is None else level[..., None])
        top = peak_of(tallying, mask, model, np.where(mask & some.mask, start, 0))
        mean = top.truth + (0 if level is None else level[..., None])
        away = np.zeros(mask.shape[:-1], dtype=bool)
        moments = Moments(mean, top.precision, None, None, top.log_evidence, top.missing, away)
        found = found._replace(moments=moments).changed(lambda x: x[:, 0], lambda x: x[0])
        return rule.fit_of(found, mask[0, 0])._replace(warnings=fit.warnings)


def _both(one: LikelihoodSums, other: LikelihoodSums) -> LikelihoodSums:
    """Return the sums over both groups of voters."""
    return LikelihoodSums(*(None if x is None else x + y for x, y in zip(one, other, strict=True)))
