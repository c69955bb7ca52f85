"""The inner loop: draw instances, let the rules score them, measure what they choose."""

import functools
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from veritally.arrays import (
    Array,
    array_library,
    compile_for,
    device_memory,
    is_jax,
    keep_memory,
    namespace,
    result_shapes,
)
from veritally.experiments.measures import MeasureSums, measure
from veritally.experiments.rule_set import RuleSet
from veritally.model.known import KnownParameters
from veritally.model.scenario import Draws, Scenario, check_reports
from veritally.model.simulation import Backend, ballots_from, block_size, draw_in_jax, draws
from veritally.rules.sums import scores_of
from veritally.votes.ballots import Ballots, Kind
from veritally.votes.kinds import by_kind

_RULES = 5  # the stream of rules that draw, beside those of the scenario
_CHUNK_CELLS = 1 << 19
_MEMORY = 2 << 30  # bytes, where the device does not say what it has
_LARGEST = 32 << 30  # bytes beyond which larger chunks gain nothing
_ARRAYS = 64  # of the size of the votes that may be alive at once, by a generous count


def run(
    scenario: Scenario,
    rule_set: RuleSet,
    measures: tuple[str, ...],
    seed: int,
    start: int,
    stop: int,
    backend: Backend = "numpy",
    size: int | None = None,
) -> MeasureSums:
    """Measure the rules on the instances from ``start`` to ``stop`` of a scenario.

    ``size`` is the number of instances that JAX compiles for; what goes beyond ``stop`` is dropped.
    """
    if backend == "jax":
        size = size or stop - start
        drawn = _compiled_draw(scenario, size)(seed, start)
        judged = _compiled_judge(rule_set, measures, *_program_inputs(scenario, rule_set), size)
        check_reports(scenario, drawn)
        return MeasureSums.of(np.asarray(judged(drawn, (seed, start)))[..., : stop - start])
    keep_memory()
    judge_block = partial(judge_drawn, rule_set, measures, KnownParameters.of(scenario), scenario.votes)
    parts = [
        MeasureSums.of(judge_block(drawn, (seed, block)))
        for block, drawn in enumerate(draws(scenario, seed, start, stop), start // block_size(scenario))
    ]
    return functools.reduce(MeasureSums.__add__, parts)


def judge_drawn(
    rule_set: RuleSet,
    measures: tuple[str, ...],
    known: KnownParameters,
    votes: Kind,
    drawn: Draws,
    key: tuple[Array | int, Array | int],
) -> Array:
    """Measure the rules on drawn instances, of which voters report votes of a kind.

    ``key`` is the seed and the block of the instances, in JAX the number of the first of them; rules that draw do so
    by it.
    """
    seed, place = key
    if is_jax(drawn.truth):
        place = place + namespace(drawn.truth).arange(drawn.truth.shape[0])
    ballots = ballots_from(drawn.values, drawn.reported).coarsened(votes)
    return judge(rule_set, measures, known, ballots, drawn.truth, drawn.tie_breakers, (seed, _RULES, place))


def judge(
    rule_set: RuleSet,
    measures: tuple[str, ...],
    known: KnownParameters,
    ballots: Ballots,
    truth: Array,
    tie_breakers: Array,
    seed: Any,
) -> Array:
    """Measure the rules on votes with a known truth: ``(measure, rule, instance)``."""
    scores = scores_of(rule_set.make(known, seed), by_kind(ballots, rule_set.kinds))
    voters = ballots.counts.shape[-2]
    return measure(namespace(truth).stack(list(scores.values())), truth, tie_breakers, voters, measures)


@functools.cache
def _compiled_draw(scenario: Scenario, size: int) -> Any:
    return compile_for(partial(draw_in_jax, scenario, size=size), 0, 0)


@functools.cache
def _compiled_judge(
    rule_set: RuleSet, measures: tuple[str, ...], scenario: Scenario, known: KnownParameters, size: int
) -> Any:
    """Compile the rules; one program serves all scenarios of a size of which the rules know the same."""
    drawn = result_shapes(partial(draw_in_jax, scenario, 0, 0, size))
    return compile_for(partial(judge_drawn, rule_set, measures, known, scenario.votes), drawn, (0, 0))


def _program_inputs(scenario: Scenario, rule_set: RuleSet) -> tuple[Scenario, KnownParameters]:
    """Return what the compiled rules depend on: the plainest scenario of the same size, and what they need to know."""
    plain = Scenario(voters=scenario.voters, alternatives=scenario.alternatives, votes=scenario.votes)
    known = KnownParameters.of(scenario)
    if not any(entry.info.model_based for entry in rule_set.entries):
        known = KnownParameters(known.sigma if isinstance(known.sigma, tuple) else None)
    return plain, known


def compile_together(work: Iterable[tuple[Scenario, RuleSet, tuple[str, ...], int]]) -> None:
    """Compile all that JAX will need, side by side."""
    programs: dict[tuple[Any, ...], None] = {}
    for scenario, rule_set, measures, size in work:
        programs[_compiled_judge, rule_set, measures, *_program_inputs(scenario, rule_set), size] = None
        programs[_compiled_draw, scenario, size] = None
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda program: program[0](*program[1:]), programs))


def chunk_size(scenario: Scenario, rule_set: RuleSet, backend: Backend) -> int:
    """Return how many instances make a chunk: some seconds of work, and no more than fits into memory."""
    cells = scenario.voters * scenario.alternatives
    if backend == "numpy":
        size = block_size(scenario)
        return size * max(1, _CHUNK_CELLS // (cells * size))
    array_library(backend)  # refuses what is none
    limit = device_memory() or _MEMORY
    each = 4 * scenario.voters * ((_ARRAYS + rule_set.nodes) * scenario.alternatives + rule_set.samples)
    return max(1, int(min(limit // 2, _LARGEST)) // each)
