"""What to ask next, against brute force: simulate the looks, decide again, average."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.special import ndtr, ndtri
from scipy.stats import spearmanr

import veritally as vt
from veritally.cli import cli
from veritally.planning.looks import NEW, Looks
from veritally.planning.plan import next_looks
from veritally.planning.situations import Situations

# Votes that are simulated again and again look odd to those who look for copies and reversed voters.
pytestmark = pytest.mark.filterwarnings("ignore::veritally.InputWarning")


def simulated(votes, seed, voters=5, alternatives=5, sigma=5.0):
    given = vt.Scenario(voters=voters, alternatives=alternatives, sigma=sigma, votes=votes, experience="uniform:1:20")
    return vt.simulate(given, instances=1, seed=seed).profile.decision(0)


def situation(profile, **parameters):
    ((_, only),) = Situations.of(vt.decide(profile, tie_break="first", cap="none", **parameters)).each
    return only


def looks_at(cells, n, times):
    voter, at = (np.array(x) for x in zip(*cells, strict=True))
    number = np.full(len(cells), float(times))
    return Looks(voter, np.ones(len(cells), int), times * np.eye(n)[at], number, number)


def gibbs(ranks, counts, sigma, chains, rng, sweeps=50):
    """Draw truths (chain, n) and the means behind rankings (chain, voter, n), from their exact posterior, τ = 1."""
    deviation, order = sigma / np.sqrt(counts), np.argsort(ranks, axis=1)
    means = np.tile(-ranks.astype(float) / 2, (chains, 1, 1))
    for _ in range(sweeps):
        precision = 1 + np.sum(deviation**-2.0, axis=0)
        truth = np.sum(means / deviation**2, axis=1) / precision
        truth = truth + rng.normal(size=truth.shape) / np.sqrt(precision)
        for i, row in enumerate(order):
            for place, j in enumerate(row):
                high = means[:, i, row[place - 1]] if place else np.inf
                low = means[:, i, row[place + 1]] if place < len(row) - 1 else -np.inf
                start, end = (ndtr((x - truth[:, j]) / deviation[i, j]) for x in (low, high))
                u = np.clip(start + (end - start) * rng.random(chains), 1e-12, 1 - 1e-12)
                means[:, i, j] = truth[:, j] + deviation[i, j] * ndtri(u)
    return truth, means


def decided_again(profiles, winner, sigma):
    scores = np.asarray(vt.decide(profiles, sigma=sigma, tau=1.0, cap="none").scores)
    gains = np.max(scores, axis=1) - scores[:, winner]
    return np.mean(gains), np.std(gains) / len(gains) ** 0.5


def brute_force_rankings(profile, cells, times, sigma, rng, chains):
    ranks, counts = np.asarray(profile.ballots.votes), np.asarray(profile.counts)
    truth, means = gibbs(ranks, counts, sigma, chains, rng)
    winner = int(np.argmax(vt.decide(profile, sigma=sigma, tau=1.0).scores))
    noise, found = rng.normal(size=chains), []
    for i, j in cells:
        seen = truth[:, j] + sigma / np.sqrt(times) * noise
        own = means[:, i].copy()
        own[:, j] = (counts[i, j] * own[:, j] + times * seen) / (counts[i, j] + times)
        new, more = np.tile(ranks, (chains, 1, 1)).astype(float), np.array(counts)
        new[:, i] = np.argsort(np.argsort(-own, axis=1), axis=1) + 1
        more[i, j] += times
        again = vt.Profile(ranks=new, counts=np.tile(more, (chains, 1, 1)))
        found.append(decided_again(again, winner, sigma))
    return np.array(found)


def brute_force_values(profile, cells, times, sigma, rng, chains):
    values, counts = np.asarray(profile.ballots.votes), np.asarray(profile.counts)
    outcome = vt.decide(profile, sigma=sigma, tau=1.0)
    known = outcome.fit.posterior.moments
    root = np.linalg.cholesky(np.linalg.inv(known.precision[0]))
    truth = known.mean[0] + rng.normal(size=(chains, len(root))) @ root.T
    winner, noise, found = int(np.argmax(outcome.scores)), rng.normal(size=chains), []
    for i, j in cells:
        seen = truth[:, j] + sigma / np.sqrt(times) * noise
        new, more = np.tile(values, (chains, 1, 1)), np.array(counts)
        new[:, i, j] = (counts[i, j] * values[i, j] + times * seen) / (counts[i, j] + times)
        more[i, j] += times
        found.append(decided_again(vt.Profile(values=new, counts=np.tile(more, (chains, 1, 1))), winner, sigma))
    return np.array(found)


def battles(seed, n=6, number=60, voters=4):
    rng = np.random.default_rng(seed)
    truth, pairs = rng.normal(size=n), np.zeros((voters, n, n))
    for _ in range(number):
        j, k = rng.choice(n, 2, replace=False)
        j, k = (j, k) if rng.random() < ndtr((truth[j] - truth[k]) / 2**0.5) else (k, j)
        pairs[rng.integers(voters), j, k] += 1
    return vt.Profile(pairs=pairs)


def brute_force_pairs(profile, cells, times, sigma, rng, chains):
    outcome = vt.decide(profile, sigma=sigma, tau=1.0, tie_break="first")
    own, n = situation(profile, sigma=sigma, tau=1.0).knowledge, profile.shape[-1]
    truth = own.truths + rng.normal(size=(chains, n)) @ np.linalg.cholesky(own.spread).T
    winner, luck, found = int(np.argmax(outcome.scores)), rng.random((chains, times)), []
    for j, k in cells:
        wins = np.sum(luck < ndtr((truth[:, j] - truth[:, k]) / (2**0.5 * sigma))[:, None], axis=1)
        new = np.tile(np.asarray(profile.ballots.votes), (chains, 1, 1, 1))
        new[:, 0, j, k] += wins
        new[:, 0, k, j] += times - wins
        found.append(decided_again(vt.Profile(pairs=new), winner, sigma))
    return np.array(found)


def valued(votes, seed, chains):
    """Return what looks are worth by us and by brute force, both no less than brute force can tell from nothing."""
    brute, sigma, times = BRUTE[votes]
    profile = battles(seed) if votes == "pairs" else simulated(votes, seed, sigma=sigma)
    own = situation(profile, sigma=sigma, tau=1.0)
    if votes == "pairs":
        cells = [(j, k) for j in range(6) for k in range(j)]
        added = np.stack([times * np.isin(np.arange(6), pair) for pair in cells]).astype(float)
        number = np.full(len(cells), float(times))
        ours = own.gains(Looks(np.zeros(len(cells), int), np.ones(len(cells), int), added, number, number))
    else:
        cells = [(i, j) for i in range(5) for j in range(5)]
        ours = own.gains(looks_at(cells, 5, times))
    found = brute(profile, cells, times, sigma, np.random.default_rng(seed), chains)
    least = 3 * np.max(found[:, 1]) + 1e-4
    return np.maximum(ours, least), np.maximum(found[:, 0], least)


BRUTE = {
    "rankings": (brute_force_rankings, 5.0, 10),
    "values": (brute_force_values, 20.0, 30),
    "pairs": (brute_force_pairs, 1.0, 10),
}


@pytest.mark.parametrize(("votes", "seeds"), [("rankings", [3, 4]), ("values", [5, 6, 7]), ("pairs", [0, 3])])
def test_values_of_looks_are_those_of_brute_force(votes, seeds):
    ours, found = (np.concat(x) for x in zip(*(valued(votes, seed, 250) for seed in seeds), strict=True))
    assert spearmanr(ours, found).statistic >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("votes", BRUTE)
def test_values_of_looks_are_those_of_brute_force_in_many_decisions(votes):
    ours, found = (np.concat(x) for x in zip(*(valued(votes, seed, 1500) for seed in range(2, 14)), strict=True))
    assert spearmanr(ours, found).statistic >= 0.95


def test_a_single_comparison_may_be_worth_exactly_nothing():
    profile = vt.Profile(pairs=[[[0, 3, 4], [1, 0, 2], [0, 1, 0]]] * 10)
    single = [look for look in next_looks(profile, budget=30).offers if look.looks == 1]
    assert len(single) == 3
    assert {look.gain for look in single} == {0.0}


def test_a_copy_is_not_worth_asking_again():
    """Two voters who share all of their errors, one of whom has seen much: the other's looks tell little."""
    profile = vt.Profile(
        values=[[1.0, 0.8], [1.0, 0.8], [0.7, 0.9]],
        counts=[[50, 50], [50, 50], [5, 5]],
        voters=["one", "copy", "other"],
    )
    panel = vt.Panel(groups={"copies": ["one", "copy"]}, correlation=0.95)
    offers = next_looks(profile, budget=30, panel=panel, sigma=1.0, tau=1.0, newcomers=False).offers
    best = {name: max(look.gain for look in offers if look.voter == name) for name in ("one", "copy", "other")}
    assert best["other"] > 5 * max(best["one"], best["copy"])


def test_who_differs_by_a_lasting_error_is_not_asked_again():
    profile = vt.Profile(values=[[1.0, 0.8], [0.9, 0.8]], counts=[[500, 500], [2, 2]], voters=["old", "new"])
    offers = next_looks(profile, budget=30, sigma=1.0, tau=1.0, omega=0.5, newcomers=False).offers
    best = {name: max(look.gain for look in offers if look.voter == name) for name in ("old", "new")}
    assert best["new"] > 20 * best["old"]


@pytest.mark.parametrize("votes", ["values", "rankings", "top"])
def test_a_plan_keeps_to_its_limits_and_expects_less_regret(votes):
    profile = simulated(votes, 4)
    may = [(0, 0), (0, 1), (1, 1), (2, 2)]
    plan = next_looks(profile, budget=40, cost=2.0, may=may, per_voter=10, a_round=18, newcomers=False, sigma=5.0)
    assert plan.cost <= 40
    assert sum(look.looks for look in plan.looks) <= 18
    for name in range(3):
        assert sum(look.looks for look in plan.looks if look.voter == name) <= 10
    assert {(look.voter, look.alternatives[0]) for look in plan.looks} <= set(may)
    costs, regrets = zip(*plan.curve, strict=True)
    assert list(regrets) == sorted(regrets, reverse=True)
    assert costs[-1] == plan.cost
    assert plan.regret_after == pytest.approx(max(plan.regret - sum(look.gain for look in plan.looks), 0))
    assert plan.stop in ("budget", "round", "nothing")


def test_alternatives_that_nobody_saw_are_worth_a_look():
    profile = vt.Profile(values=[[1.0, 0.2, np.nan]], counts=[[9, 9, 0]], alternatives=["a", "b", "unseen"])
    plan = next_looks(profile, budget=10, sigma=1.0, tau=1.0)
    assert plan.looks[0].alternatives == ("unseen",)


def test_dear_voters_are_asked_less():
    profile = vt.Profile(values=[[1.0, 0.9], [1.0, 0.9]], counts=[[3, 3], [3, 3]], voters=["dear", "cheap"])
    plan = next_looks(profile, budget=20, cost={"dear": 5, "cheap": 1}, sigma=1.0, newcomers=False)
    assert {look.voter for look in plan.looks} == {"cheap"}


def test_sure_decisions_need_no_looks():
    profile = vt.Profile(values=[[9.0, 1.0]], counts=[[100, 100]])
    plan = next_looks(profile, budget=10, sigma=1.0, tau=3.0, until=0.95)
    assert (plan.stop, plan.looks) == ("sure", ())
    plan = next_looks(profile, budget=10, sigma=1.0, tau=3.0)
    assert plan.stop == "nothing"
    dear = next_looks(simulated("values", 5), budget=10, sigma=5.0, price=10)
    assert dear.stop == "nothing"


def test_somebody_new_with_counts_of_their_own():
    profile = simulated("rankings", 5)
    offers = next_looks(profile, budget=60, newcomer={0: 10, 1: 5}, sigma=5.0, tau=1.0).offers
    new = [look for look in offers if look.voter == "somebody new"]
    assert [look.alternatives for look in new] == [(0, 1)] * len(new)
    assert {look.looks for look in new} == {15, 45}


def test_several_newcomers_tell_more_than_one():
    own = situation(simulated("rankings", 5), sigma=5.0, tau=1.0)
    number = np.array([50.0, 150, 500])
    looks = Looks(np.full(3, NEW), np.array([1, 3, 10]), np.full((3, 5), 10.0), number, number)
    gains = own.gains(looks)
    assert gains[0] < gains[1] < gains[2] < float(np.trace(own.knowledge.spread))


def test_a_plan_can_be_printed_saved_and_sent():
    plan = next_looks(simulated("values", 5), budget=20, sigma=5.0)
    assert json.loads(plan.to_json())["curve"][-1]["cost"] == plan.cost
    frame = plan.to_frame("pandas")
    assert list(frame["looks"]) == [look.looks for look in plan.looks]
    assert plan.assignments()["looks"].sum() == sum(look.looks for look in plan.looks)
    assert "looks planned" in repr(plan)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"budget": 0}, "a budget of nothing"),
        ({"budget": float("nan")}, "the budget must be a finite number"),
        ({"cost": 0}, "the cost of a look must be"),
        ({"cost": {"nobody": 1}}, "voter"),
        ({"cost": {0: -1}}, "cost of a look by"),
        ({"may": [("nobody", 0)]}, "voter"),
        ({"may": [(0, "nothing")]}, "alternative"),
        ({"may": [], "newcomers": False}, "no look can be made"),
        ({"budget": 1, "cost": 2}, "no look can be made"),
        ({"until": 1.5}, "until is a chance"),
        ({"may": [(0,)]}, "pairs of a voter and an alternative"),
        ({"conflicts": 3}, "pairs of a voter and an alternative"),
        ({"newcomer": {0: 0}}, "tells nothing"),
        ({"newcomer": {"nothing": 1}}, "alternative"),
        ({"per_voter": 0}, "the looks of a voter"),
        ({"a_round": 0}, "the looks of a round"),
        ({"price": -1}, "the price"),
    ],
)
def test_mistakes_are_sentences(changes, said):
    profile = simulated("values", 1, voters=2, alternatives=3)
    with pytest.raises(vt.InputError, match=said):
        next_looks(profile, **({"budget": 10, "sigma": 5.0} | changes))


def test_several_decisions_are_refused():
    several = vt.Profile(values=np.ones((2, 2, 2)), counts=np.ones((2, 2, 2)))
    with pytest.raises(vt.InputError, match="one decision at a time"):
        next_looks(several, budget=1)
    with pytest.raises(vt.InputError, match="comparisons are of two"):
        next_looks(battles(1), budget=10, newcomer=1)
    with pytest.raises(vt.InputError, match="takes a Profile"):
        next_looks([1], budget=1)


def run(*arguments):
    return CliRunner().invoke(cli, arguments)


def test_the_command(tmp_path):
    votes = tmp_path / "votes.csv"
    votes.write_text("voter,alternative,value,count\na,x,5,3\na,y,4.8,3\nb,x,4.9,2\nb,y,5.1,2\n")
    found = run("next", str(votes), "--budget", "10", "--no-newcomers")
    assert found.exit_code == 0, found.output
    assert "Look next" in found.output
    may, costs, out = tmp_path / "may.csv", tmp_path / "cost.csv", tmp_path / "who.csv"
    may.write_text("voter,alternative\na,x\n")
    costs.write_text("voter,cost\na,2\n")
    options = ("--may", may, "--cost", costs, "--out", out, "--plot", tmp_path / "p.svg", "--json", "--no-newcomers")
    found = run("next", str(votes), "--budget", "10", *map(str, options))
    plan = json.loads(found.stdout)
    assert {(look["voter"], *look["alternatives"]) for look in plan["offers"]} == {("a", "x")}
    assert out.read_text().startswith("voter,voters,alternative,looks\na,1,x,")
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")
    costs.write_text("voter,price\na,2\n")
    wrong = run("next", str(votes), "--budget", "10", "--cost", str(costs))
    assert (wrong.exit_code, "has no column cost" in wrong.stderr) == (2, True)


def test_the_first_look_of_a_copy_is_not_that_of_somebody_independent():
    """Who shares the errors of a voter with many looks tells little, also about what the copy has not seen yet."""
    profile = vt.Profile(
        values=[[1.0, 0.8], [1.0, np.nan], [0.7, 0.9]],
        counts=[[50, 50], [50, 0], [5, 5]],
        voters=["one", "copy", "other"],
    )
    panel = vt.Panel(groups={"copies": ["one", "copy"]}, correlation=0.95)
    offers = next_looks(profile, budget=30, panel=panel, sigma=1.0, tau=1.0, newcomers=False).offers
    at_second = [look for look in offers if look.alternatives == (1,)]
    best = {name: max(look.gain for look in at_second if look.voter == name) for name in ("copy", "other")}
    assert best["other"] > 5 * best["copy"]


def test_rankings_of_voters_who_share_errors_have_values():
    profile = vt.Profile(ranks=[[1, 2, 3], [2, 1, 3], [2, 1, 3]], counts=np.full((3, 3), 4), voters=["a", "b", "c"])
    for groups in ({"g": ["a", "b"]}, {"g": ["a", "b", "c"]}):
        plan = next_looks(profile, budget=30, sigma=1.0, tau=1.0, panel=vt.Panel(groups=groups, correlation=0.5))
        assert np.isfinite([look.gain for look in plan.offers]).all()


def test_one_voter_can_be_asked_again():
    plan = next_looks(vt.Profile(ranks=[[1, 2, 3]], counts=[[2, 2, 2]]), budget=5, sigma=2.0)
    assert {look.voter for look in plan.offers} <= {0, "somebody new"}


def test_regret_is_that_of_the_decision():
    for votes in ("values", "rankings"):
        profile = simulated(votes, 5, sigma=10.0)
        for known in ({}, {"sigma": 10.0, "tau": 1.0}):
            outcome = vt.decide(profile, tie_break="first", **known)
            expected = float(np.min(outcome.expected_regret))
            unit = float(outcome.belief.sigma[0]) if outcome.belief.in_sigma else 1.0
            plan = next_looks(profile, budget=1, **known)
            assert plan.regret * unit == pytest.approx(expected, rel=0.1, abs=0.005)


def test_looks_of_everybody_count_for_each_voter():
    profile = simulated("rankings", 7, voters=3)
    plan = next_looks(profile, budget=1000, per_voter=5, sigma=5.0, newcomers=False)
    for name in range(3):
        own = sum(look.looks / look.voters for look in plan.looks if look.voter in (name, "everybody"))
        assert own <= 5


def test_blocks_larger_than_a_round_are_begun():
    profile = battles(3)
    whole = next_looks(profile, budget=300, sigma=1.0, tau=1.0)
    plan = next_looks(profile, budget=300, a_round=7, sigma=1.0, tau=1.0)
    assert whole.looks[0].looks > 7
    assert plan.stop == "round"
    assert sum(look.looks for look in plan.looks) == 7
    assert plan.looks[0].alternatives == whole.looks[0].alternatives


def test_gains_do_not_depend_on_the_budget_nor_fall_with_more_looks():
    profile = simulated("rankings", 4)
    small, large = (next_looks(profile, budget=b, sigma=5.0, tau=1.0).offers for b in (10, 100))
    known = {look[:4]: look.gain for look in large}
    for look in small:
        assert known.get(look[:4], look.gain) == pytest.approx(look.gain)


def test_conflicts_are_left_out():
    profile = simulated("values", 5)
    plan = next_looks(profile, budget=20, conflicts=[(0, 1), (2, 2)], sigma=5.0, newcomers=False)
    asked = {(look.voter, look.alternatives[0]) for look in plan.offers}
    assert not asked & {(0, 1), (2, 2)}
    assert (0, 0) in asked


def test_large_decisions_are_planned_in_bounded_memory():
    profile = simulated("values", 1, voters=40, alternatives=80)
    assert next_looks(profile, budget=30, choose=20, sigma=5.0, tau=1.0).looks
