"""Training of the universal network, which is done beside the benchmarks: its data, and that it learns from them."""

from functools import partial
from importlib import import_module
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from veritally.learned.training import fit

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def universal_task(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("universal_task").UniversalTask


@pytest.fixture
def decisions(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("training_data").decisions


@pytest.mark.slow
def test_training_data_are_what_they_say_they_are(decisions):
    drawn = jax.jit(decisions, static_argnums=(1, 2, 3))(jax.random.key(1), 300, 9, 7)
    ranks, counts, times, mask = map(np.asarray, drawn.ballots[:4])
    seen = ranks > 0
    assert ((counts > 0) == seen).all()
    length = seen.sum(axis=-1)
    np.testing.assert_array_equal(ranks.sum(axis=-1), length * (length + 1) / 2)  # midranks, ties or not
    assert set(np.unique(times)) == {0.0, 1.0}
    assert counts.max() <= 20_000
    assert counts[seen].min() >= 1
    assert (mask.sum(axis=-1) <= 7).all()
    sigma = np.exp(np.asarray(drawn.scale))
    assert sigma.min() < 0.3 < 30 < sigma.max()
    log_sigma, is_known = np.asarray(drawn.setting.log_sigma), np.asarray(drawn.setting.sigma_known) > 0
    alike = np.ptp(log_sigma, axis=-1) < 1e-6
    assert 0.6 < alike[is_known].mean() < 0.95
    mean = np.where(mask, log_sigma, 0).sum(axis=-1) / np.maximum(mask.sum(axis=-1), 1)
    np.testing.assert_allclose(mean[is_known], np.log(sigma)[is_known], atol=1e-4)
    full, top = (ranks.max(axis=-1) == length), (np.sum(ranks == 1, axis=-1) == 1)
    assert 0.4 < full[length > 1].mean() < 0.95
    assert top[length > 1].mean() > 0.8
    assert 0 < is_known.mean() < 1


@pytest.mark.slow
def test_the_universal_network_can_be_trained(universal_task):
    """Without compiling, which takes long: the gradient has the shapes of the parameters."""
    task = universal_task(cells=600, panels=((4, 4),))
    loss = jax.value_and_grad(partial(task.loss, task.sizes[0]), has_aux=True)
    (value, right), gradient = jax.eval_shape(loss, task.initial_parameters(0), jax.random.key(0), jnp.zeros(2))
    assert value.shape == right.shape == ()
    assert jax.tree.map(jnp.shape, gradient) == jax.tree.map(jnp.shape, task.initial_parameters(0))
    assert all(n <= 50 and m <= 1000 for _, m, n in universal_task().sizes)


@pytest.mark.slow
def test_the_universal_network_learns(universal_task):
    task = universal_task(cells=600, panels=((4, 4),))
    loss = jax.jit(partial(task.loss, task.sizes[0]))
    before, after = (
        np.mean([loss(parameters, jax.random.key(k), jnp.zeros(2))[0] for k in range(20)])
        for parameters in (task.initial_parameters(0), fit(task, steps=100, seed=0).parameters)
    )
    assert after < before
    assert all(n <= 50 and m <= 1000 for _, m, n in universal_task().sizes)


@pytest.mark.slow
def test_what_is_learned_is_the_mean_over_steps(universal_task):
    """By far nearer to the start than the last parameters are, after as few steps as here."""
    task, seen = universal_task(cells=600, panels=((4, 4),)), []
    trained = fit(task, steps=3, progress=seen.append)
    assert [now.step for now in seen] == [1, 2, 3]
    for name, last in trained.parameters.items():
        np.testing.assert_array_equal(seen[-1].parameters[name], last)
    first = task.initial_parameters(0)
    assert (
        max(np.abs(last - first[name]).max() for name, last in trained.parameters.items()) < 0.01 * task.learning_rate
    )
