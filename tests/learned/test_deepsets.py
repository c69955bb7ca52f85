"""The paper's network, against its description written out in loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import veritally as vt
from support import random_profile
from veritally.learned.deepsets import Configuration, DeepSets, configurations
from veritally.learned.rule import NetworkRule
from veritally.votes.rankings import Rankings


def network(configuration, seed=0):
    rng = np.random.default_rng(seed)
    parameters = {name: rng.normal(size=shape) / np.sqrt(shape[0]) for name, shape in configuration.shapes().items()}
    return DeepSets(configuration, parameters)


def rule(configuration, seed=0):
    return NetworkRule(network(configuration, seed))


def by_hand(net, ranks, counts):
    """σ(Σ_i h(z_i)) for voters who rank everything, one by one."""
    pool = {"max": np.max, "mean": np.mean}[net.configuration.pool]

    def through(name, x, layers):
        for k in range(layers + 1):
            x = x - pool(x, axis=0)
            x = x @ net.parameters[f"{name}.{k}.w"] + net.parameters[f"{name}.{k}.b"]
            if k < layers:
                x = np.maximum(x, 0)
        return x

    n = len(ranks[0])
    encoded = [
        through("encoder", np.column_stack([c / 50, (n - r) / (n - 1)]), net.configuration.encoder_layers)
        for r, c in zip(ranks, counts, strict=True)
    ]
    tally = np.sum(encoded, axis=0) if net.configuration.total == "sum" else np.mean(encoded, axis=0)
    return through("decoder", tally, net.configuration.decoder_layers)[:, 0]


@pytest.mark.parametrize("configuration", [*[c for c, _ in configurations()][::5], Configuration(width=8)])
def test_it_is_the_network_of_the_paper(configuration):
    profile = random_profile(4, voters=7, alternatives=6)
    expected = by_hand(network(configuration), profile.ranks, profile.counts)
    found = rule(configuration)
    scores = found.scores(profile.ballots)
    np.testing.assert_allclose(scores, expected - expected.mean(), rtol=1e-10, atol=1e-12)
    odds = np.exp(expected - expected.max())
    np.testing.assert_allclose(found.p_best(profile.ballots), odds / odds.sum(), rtol=1e-9)


def test_the_search_space_has_144_configurations():
    space = list(configurations())
    assert len(set(space)) == 144
    assert (Configuration(), 3e-4) in space


def test_layers_are_as_many_as_the_paper_has():
    shapes = Configuration().shapes()
    assert [shapes[f"encoder.{k}.w"] for k in range(5)] == [(2, 64), (64, 64), (64, 64), (64, 64), (64, 1)]
    assert [shapes[f"decoder.{k}.w"] for k in range(3)] == [(1, 64), (64, 64), (64, 1)]


@pytest.mark.parametrize("total", ["sum", "mean"])
def test_what_a_voter_has_not_seen_changes_nothing(total):
    """Neither who saw nothing or one alternative, nor an alternative that is not there."""
    found = rule(Configuration(total=total))
    profile = random_profile(4, voters=7, alternatives=5)
    ranks, counts, times, mask = profile.ballots[:4]
    before = found.scores(profile.ballots)
    lone, blind = [3, 0, 0, 0, 0], [0] * 5
    more = Rankings(
        np.vstack([ranks, np.sign([lone, blind])]), np.vstack([counts, [lone, blind]]), np.append(times, [2, 5]), mask
    )
    np.testing.assert_allclose(found.scores(more), before, rtol=1e-12)
    wide = Rankings(np.pad(ranks, ((0, 0), (0, 2))), np.pad(counts, ((0, 0), (0, 2))), times, np.pad(mask, (0, 2)))
    np.testing.assert_allclose(found.scores(wide)[:5], before, rtol=1e-12)
    assert (found.scores(wide)[5:] == -np.inf).all()


@pytest.mark.usefixtures("x64")
def test_jax_agrees():
    found = rule(Configuration(pool="mean", total="mean"))
    ballots = random_profile(5, voters=9, alternatives=6, batch=(3,), zeros=True).ballots
    on_jax = ballots.map(jnp.asarray)
    for ask in (found.scores, found.p_best):
        np.testing.assert_allclose(jax.jit(ask)(on_jax), ask(ballots), rtol=1e-9, atol=1e-12)


def test_outcomes_say_how_sure_they_are():
    outcome = vt.decide(random_profile(6, voters=12, alternatives=6), rule="learned")
    assert outcome.p_best.sum() == pytest.approx(1)
    np.testing.assert_allclose(np.log(outcome.p_best) - np.log(outcome.p_best).mean(), outcome.scores, atol=1e-9)
    assert outcome.belief is None
    plain = outcome.to_dict()
    assert set(plain["p_best"]) == set(plain["scores"])
    assert plain["credible"]


def test_what_was_not_trained_on_is_warned_of():
    few = random_profile(6, voters=3, alternatives=20)
    with pytest.warns(vt.InputWarning, match=r"voters 3 \(trained on 5 to 349\); alternatives 20 .* posterior"):
        vt.decide(few, rule="learned")
    batch = vt.stack([random_profile(6, voters=8, alternatives=6), random_profile(7, voters=2, alternatives=6)])
    with pytest.warns(vt.InputWarning, match="decision 1: .*voters 2") as found:
        vt.decide(batch, rule="learned-noisy")
    assert len(found) == 1


@pytest.mark.parametrize(("name", "table"), [("learned", "high-variance"), ("learned-noisy", "count-noise")])
def test_shipped_networks_choose_better_than_borda(name, table):
    found = vt.compare(table, voters=30, instances=400, rules=[name, "borda"], baseline="borda", seed=1)
    row = next(row for row in found.rows() if row["rule"] == name)
    assert row["difference"] < -2 * row["difference_se"]
