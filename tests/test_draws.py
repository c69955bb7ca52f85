"""Draws for ArviZ: they are those of the posterior, with the user's names."""

import arviz
import numpy as np
import pytest

import veritally as vt
from support import random_profile

RNG = np.random.default_rng(3)
TRUTH = np.array([0.0, 0.4, 1.0, -0.5])
SEEN = TRUTH + RNG.normal(size=(7, 4))
NAMES = ["Ann", "Bob", "Cem", "Dan"]
COUNTS = RNG.integers(1, 20, (7, 4))
CASES = {
    "rankings": (vt.Profile(ranks=np.argsort(np.argsort(-SEEN)) + 1, counts=COUNTS, alternatives=NAMES), {}),
    "rankings, noise given": (vt.Profile(ranks=np.argsort(np.argsort(-SEEN)) + 1), {"sigma": 2.0, "tau": 1.0}),
    "far from normal": (vt.Profile(ranks=np.tile([1, 2, 3, 4], (40, 1))), {"sigma": 0.3, "tau": 1.0}),
    "favourites": (vt.Profile(top=np.argmax(SEEN, axis=-1).tolist(), counts=COUNTS), {}),
    "values": (vt.Profile(values=20 + 3 * SEEN, counts=COUNTS, alternatives=NAMES), {}),
    "two": (vt.Profile(ranks=[[1, 2]] * 9 + [[2, 1]]), {}),
}
SIZE = 4000
# Of the some hundred comparisons below, one in 2,000 is beyond this by chance.
ERRORS = 4.9


@pytest.fixture(params=CASES, name="outcome")
def decided(request):
    profile, parameters = CASES[request.param]
    return vt.decide(profile, **parameters)


def posterior(data):
    return data["posterior"] if hasattr(data, "children") else data.posterior


def test_draws_are_those_of_the_belief(outcome):
    """The belief has 1,024 draws, evenly spread where they are not exact: its error is at most theirs."""
    truth = posterior(outcome.to_arviz()).truth
    assert truth.dims == ("chain", "draw", "alternative")
    assert truth.alternative.values.tolist() == list(outcome.alternatives)
    flat, belief = truth.values.reshape(SIZE, -1), outcome.belief
    error = np.sqrt(1 / SIZE + 1 / 1024)
    assert (np.abs(flat.mean(axis=0) - belief.mean) < ERRORS * belief.deviation * error).all()
    fourth = np.mean((flat - flat.mean(axis=0)) ** 4, axis=0) / np.var(flat, axis=0) ** 2
    assert (np.abs(np.log(flat.std(axis=0) / belief.deviation)) < ERRORS * np.sqrt((fourth - 1) / 4) * error).all()
    share = np.mean(flat == flat.max(axis=1, keepdims=True), axis=0)
    chance = np.clip(outcome.p_best, 0.001, 0.999)
    assert (np.abs(share - outcome.p_best) < ERRORS * np.sqrt(chance * (1 - chance)) * error).all()


def test_chains_agree_and_their_draws_do_not_repeat(outcome):
    data = outcome.to_arviz(chains=3, draws=1500)
    values = posterior(data).truth.values
    assert values.shape[:2] == (3, 1500)
    assert len(np.unique(values[..., 0])) == 4500
    summary = arviz.summary(data, var_names=["truth"])
    assert (summary["r_hat"].astype(float) < 1.01).all()
    assert (summary["ess_bulk"].astype(float) > 0.6 * 4500).all()
    assert summary.index[0] == f"truth[{outcome.alternatives[0]}]"


def test_the_same_seed_gives_the_same_draws(outcome):
    first, again, other = (posterior(outcome.to_arviz(draws=50, seed=seed)).truth.values for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.any(first == other)


def test_the_scale_is_drawn_where_it_is_not_known(outcome):
    data = posterior(outcome.to_arviz())
    estimate, low, high = outcome.scale
    assert ("sigma_over_tau" in data) == (low < high)
    if low < high:
        scale = data["sigma_over_tau"]
        assert scale.dims == ("chain", "draw")
        # A few values stand for it, beyond the interval those of pure noise; a tenth is what the ends may hold.
        noise = float(outcome.details.get("p_noise", 0))
        assert np.mean(scale < low) < 0.1
        assert noise - 0.1 < np.mean(scale > high) < noise + 0.1
        inside = np.log(scale.values[(scale >= low) & (scale <= high)])
        assert abs(np.median(inside) - np.log(estimate)) < np.log(high / low) / 4


def test_batches_have_decisions_and_leave_out_what_nobody_saw():
    several = [
        vt.Profile(ranks=[[1, 2, 0]] * 3, counts=[[1, 1, 0]] * 3, alternatives=["A", "B", "C"]),
        vt.Profile(ranks=[[1, 2], [2, 1]], alternatives=["B", "D"]),
    ]
    with pytest.warns(vt.InputWarning, match="no evidence about C"):
        outcome = vt.decide(vt.stack(several, decisions=["first", "second"]))
    truth = posterior(outcome.to_arviz(chains=2, draws=300)).truth
    assert truth.dims == ("chain", "draw", "decision", "alternative")
    assert truth.decision.values.tolist() == ["first", "second"]
    assert truth.alternative.values.tolist() == ["A", "B", "D"]
    there = ~np.isnan(truth.values).any(axis=(0, 1))
    assert there.tolist() == [[True, True, False], [False, True, True]]
    # Draws of decisions are independent: of 600 with none, a correlation of 0.2 has 4.9 standard errors.
    one, other = truth.values[..., 0, 1].ravel(), truth.values[..., 1, 1].ravel()
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.2


def test_a_decision_of_a_batch_has_the_posterior_of_the_batch():
    batch = vt.decide(random_profile(5, batch=(3,)))
    whole = posterior(batch.to_arviz(draws=20)).truth.values
    for d, one in enumerate(batch.unstack()):
        np.testing.assert_allclose(posterior(one.to_arviz(draws=20)).truth.values, whole[:, :, d])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: vt.decide(CASES["rankings"][0], rule="borda").to_arviz(), "the rule borda has no posterior"),
        (lambda: vt.decide(CASES["rankings"][0]).to_arviz(chains=0), "chains must be"),
        (lambda: vt.decide(CASES["rankings"][0]).to_arviz(draws=2.5), "draws must be"),
    ],
)
def test_what_cannot_be_drawn_is_said(ask, message):
    with pytest.raises(vt.InputError, match=message):
        ask()
