"""Learning a panel: slopes by finite differences, parameters that simulated the votes, and bad input."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import veritally as vt
from veritally.panel.directions import Turns, turned
from veritally.panel.learning import Lesson
from veritally.panel.preparation import Prepared, members
from veritally.work import processes

ROLES = {"two": "alternatives", "three": None, "pairs": None, "values": None}


def simulated(kind, decisions=60, voters=6, n=3, seed=0, slope=None, loadings=None, leaning=0.0):
    """Draw votes of a kind by voters with known slopes and loadings; return the profile, truths and slopes."""
    random = np.random.default_rng(seed)
    n = 2 if kind == "two" else n
    slope = random.normal(1.0, 0.6, voters) if slope is None else np.asarray(slope)
    loadings = random.normal(0, 0.7, (voters, 2)) if loadings is None else loadings
    truth = random.normal(size=(decisions, n))
    errors = random.normal(size=(decisions, 2, n))
    counts = random.integers(1, 5, size=(decisions, voters, n)).astype(float)
    centre = slope[:, None] * truth[:, None] + np.einsum("if,dfj->dij", loadings, errors)
    names = {"voters": [f"v{i}" for i in range(voters)], "decisions": [f"d{d}" for d in range(decisions)]}
    if kind == "pairs":
        votes, first = np.zeros((decisions, voters, n, n)), np.zeros((decisions, voters, n, n))
        for _ in range(4):
            j = random.integers(0, n, size=(decisions, voters))
            k = (j + random.integers(1, n, size=(decisions, voters))) % n
            d, i = np.indices((decisions, voters))
            apart = centre[d, i, j] - centre[d, i, k] + leaning + random.normal(size=j.shape) * 2**0.5
            won = apart > 0
            np.add.at(votes, (d, i, np.where(won, j, k), np.where(won, k, j)), 1)
            np.add.at(first, (d[won], i[won], j[won], k[won]), 1)
        profile = vt.Profile(pairs=votes, **names)
        return profile.with_ballots(profile.ballots.with_positions(first)), truth, slope
    seen = centre + random.normal(size=centre.shape) / np.sqrt(counts)
    if kind == "values":
        return vt.Profile(values=3 * seen + 10, counts=counts, **names), truth, slope
    ranks = np.argsort(np.argsort(-seen, axis=-1), axis=-1) + 1.0
    alternatives = ["no", "yes"] if kind == "two" else None
    return vt.Profile(ranks=ranks, counts=counts, alternatives=alternatives, **names), truth, slope


@pytest.mark.parametrize("kind", ROLES)
def test_slopes_of_the_evidence_are_those_of_finite_differences(kind):
    profile, truth, _ = simulated(kind, decisions=12)
    answers = np.where(np.arange(12)[:, None] < 5, truth, np.nan)
    lesson = Lesson.of(profile, answers, ROLES[kind], 0.3, 0)
    layout = lesson.layout(2)
    x = layout.start(np.zeros(6), 1) + 0.2 * np.random.default_rng(3).normal(size=layout.size)
    scores = layout.scores(lesson.votes.evidence(layout.unpack(x))[1], lesson.votes.facts.members)
    step = 1e-4
    for k in np.flatnonzero(layout.free):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[k] += sign * step
            ends.append(lesson.votes.evidence(layout.unpack(moved))[0])
        assert np.allclose(scores[:, k], (ends[0] - ends[1]) / 2 / step, atol=2e-3 * (1 + np.abs(scores[:, k]))), k


def test_slices_are_the_whole_and_those_who_work_on_them_change_no_bit(monkeypatch):
    monkeypatch.setattr("veritally.panel.slices._CELLS", 5 * 6 * 3)  # of five decisions each
    profile, truth, _ = simulated("three", decisions=12)
    lesson = Lesson.of(profile, truth, None, 0.3, 0)
    now = lesson.layout(2).unpack(lesson.layout(2).start(np.zeros(6), 1))
    assert [len(own.facts.answers) for own in lesson.votes.slices] == [5, 5, 2]
    whole, table, near = lesson.votes.whole.evidence(now)
    logs, scores, sites = lesson.votes.evidence(now)
    for one, other in zip((whole, *table), (logs, *scores), strict=True):
        np.testing.assert_allclose(other, one, atol=1e-6)
    assert np.allclose(lesson.votes.evidence(now, sites)[0], lesson.votes.whole.evidence(now, near)[0], atol=1e-6)
    with ThreadPoolExecutor(2) as threads, processes(2) as others:
        for executor in (threads, others):
            again = replace(lesson.votes, executor=executor).evidence(now)
            assert again[0].tobytes() == logs.tobytes()
            assert all(one.tobytes() == other.tobytes() for one, other in zip(again[1], scores, strict=True))


def test_learning_in_processes_changes_no_bit(monkeypatch):
    monkeypatch.setattr("veritally.panel.slices._CELLS", 2 * 2 * 3)
    profile, truth, _ = simulated("three", decisions=4, voters=2)
    alone, others = (vt.learn_panel(profile, truth, factors=0, workers=workers) for workers in (1, 2))
    assert others.slope.tobytes() == alone.slope.tobytes()
    assert others.slope_error.tobytes() == alone.slope_error.tobytes()


def test_votes_do_not_tell_the_truth_from_shared_errors():
    """Parameters turned into each other make votes without answers as probable."""
    profile, _, _ = simulated("two")
    lesson = Lesson.of(profile, None, "alternatives", 0.3, 0)
    layout = replace(lesson.layout(2), base=True)
    random = np.random.default_rng(5)
    x = layout.start(np.zeros(6), 1) + 0.4 * random.normal(size=layout.size)
    votes = replace(lesson.votes, facts=lesson.votes.facts._replace(truth_roles=np.tile([0, 1], (60, 1))))
    turns = Turns(layout, x)
    assert np.allclose(layout.unpack(turns.at(turns.start)).slope, layout.unpack(x).slope)
    for turn in random.normal(size=(5, 3)):
        moved = layout.unpack(turns.at(turn))
        assert np.max(np.abs(moved.slope - layout.unpack(x).slope)) > 0.1
        assert np.allclose(votes.evidence(moved)[0], votes.evidence(layout.unpack(x))[0], atol=1e-4)


def test_few_answers_leave_the_mean_of_the_directions_that_fit_them():
    """A large error that all share, and answers to 25 of 400 questions: the mean is right more often than the best."""
    gained = []
    for seed in range(3):
        slope, loadings = np.linspace(0.2, 1.6, 10), np.stack([np.full(10, 1.2), np.linspace(-1, 1, 10)], axis=1)
        profile, truth, _ = simulated("two", 400, 10, seed=seed, slope=slope, loadings=loadings)
        lesson = Lesson.of(profile, np.where(np.arange(400)[:, None] < 25, truth, np.nan), "alternatives", 0.3, 0)
        layout, found = lesson.learn(2, None, None)
        best, mean = layout.unpack(found.x), layout.unpack(turned(lesson.votes, layout, found.x, 0))
        gained.append(np.corrcoef(mean.slope, slope)[0, 1] - np.corrcoef(best.slope, slope)[0, 1])
    assert np.mean(gained) > 0


@pytest.mark.parametrize("kind", ROLES)
def test_learning_finds_the_slopes_that_made_the_votes(kind):
    wanted = np.array([2.0, 1.5, 1.0, 0.6, 0.0, -1.0])
    decisions = 200 if kind == "three" else 400
    profile, truth, _ = simulated(kind, decisions=decisions, slope=wanted, loadings=np.zeros((6, 2)), seed=2)
    panel = vt.learn_panel(profile, truth, factors=0, roles=ROLES[kind])
    assert panel.converged
    assert np.argsort(panel.slope).tolist() == np.argsort(wanted).tolist()
    assert np.allclose(panel.slope / panel.slope[0], wanted / wanted[0], atol=0.25)


def test_slopes_of_values_do_not_shrink_with_the_number_of_decisions():
    """The level of a decision tells nothing, and costs nothing: few values each, and an error that all share."""
    profile, truth, _ = simulated("values", 300, 4, 2, slope=np.full(4, 4.0), loadings=np.tile([1.2, 0.0], (4, 1)))
    panel = vt.learn_panel(profile, truth, factors=1)
    error = np.sqrt(np.mean((panel.loadings / panel.slope[:, None]) ** 2))
    assert abs(error - 1.2 / 4) < 0.05


def test_the_search_arrives_with_raters_whose_levels_and_noise_are_far_apart():
    """Real raters, who differ much more than what the search starts from."""
    data = vt.datasets.load("mqm")
    some = np.arange(0, 151, 2)
    assert vt.learn_panel(data.profile.rows(some), data.truth[some], factors=0).converged


def test_equal_voters_without_shared_errors_are_the_papers():
    """F = 0 with equal slopes decides as σ and τ given do."""
    profile, truth, _ = simulated("three", decisions=10)
    panel = vt.learn_panel(profile, truth, factors=0)
    zero = np.zeros(6)
    plain = replace(
        panel,
        slope=np.full(6, 0.8),
        slope_error=zero,
        loading_variance=zero,
        omega=0.0,
        typical_count=1.0,
        converged=True,
    )
    by_panel = vt.decide(profile, panel=plain)
    today = vt.decide(profile, sigma=1 / 0.8, tau=1.0)
    assert np.max(np.abs(by_panel.scores - today.scores)) < 1e-9
    assert np.max(np.abs(by_panel.p_best - today.p_best)) < 1e-9


def test_a_panel_survives_its_file(tmp_path):
    profile, truth, _ = simulated("two")
    panel = vt.learn_panel(profile, truth, roles="alternatives")
    panel.write(tmp_path / "panel.json")
    again = vt.read_panel(tmp_path / "panel.json")
    assert again.to_dict() == panel.to_dict()
    assert np.array_equal(vt.decide(profile, panel=again).scores, vt.decide(profile, panel=panel).scores)


def test_the_same_seed_gives_the_same_panel():
    profile, truth, _ = simulated("two")
    one, other = (vt.learn_panel(profile, truth[:60], roles="alternatives", seed=4) for _ in range(2))
    assert one.to_dict() == other.to_dict()


def test_an_interrupted_search_goes_on(tmp_path):
    profile, truth, _ = simulated("two", decisions=150)
    whole = vt.learn_panel(profile, truth, factors=1, roles="alternatives")
    state = tmp_path / "panel.state"
    from veritally.learning import _key, _State

    settings = {"factors": 1, "roles": "alternatives", "weight": 0.3, "seed": 0}
    lesson = Lesson.of(profile, truth, "alternatives", 0.3, 0)
    saved = _State(state, _key(profile, truth, settings))
    saved.keep(1)(lesson.layout(1).start(np.zeros(6), 9), 3)
    resumed = vt.learn_panel(profile, truth, factors=1, roles="alternatives", state=state)
    assert not state.exists()
    assert np.allclose(resumed.slope, whole.slope, atol=0.05)


def test_voters_the_panel_does_not_know_are_average_voters_with_a_remark():
    profile, truth, _ = simulated("two", decisions=150, slope=np.ones(6))
    panel = vt.learn_panel(profile, truth, factors=0, roles="alternatives")
    stranger = vt.Profile(ranks=[[1, 2], [2, 1]], voters=["v0", "nobody"], alternatives=["no", "yes"])
    with pytest.warns(vt.InputWarning, match="does not know nobody"):
        outcome = vt.decide(stranger, panel=panel, tie_break="first")
    assert 0.2 < outcome.p_best[0] < 0.8  # two voters of about the same skill, who disagree


def test_without_answers_sureness_is_said_to_assume_the_common_opinion():
    profile, _, _ = simulated("two", decisions=100)
    panel = vt.learn_panel(profile, roles="alternatives")
    assert panel.loadings.shape[1] == len(panel.copies)
    assert "what the voters have in common is the truth" in panel.to_dict()["assumption"]
    with pytest.warns(vt.InputWarning, match="in common is the truth"):
        assert "panel_assumption" in vt.decide(profile.decision(0), panel=panel, tie_break="first").to_dict()


@pytest.mark.parametrize("kind", ROLES)
def test_perfect_voters_voters_with_one_vote_and_equal_answers_give_finite_estimates(kind):
    profile, truth, _ = simulated(kind, decisions=20, slope=[300.0, 1, 1, 1, 1, 1])
    answers = truth.copy()
    answers[:, 1] = 9.0  # the second is always best
    for given in (truth, answers):
        panel = vt.learn_panel(profile, given, roles=ROLES[kind], factors=1)
        for name in ("slope", "slope_error", "leaning", "loadings", "correlation", "correlation_error", "noise"):
            assert np.isfinite(getattr(panel, name)).all(), name


def test_bad_answers_are_refused_in_a_sentence():
    profile, truth, _ = simulated("two", decisions=5)
    with pytest.raises(vt.InputError, match="decision 'd9' is unknown"):
        vt.learn_panel(profile, {"d9": "yes"})
    with pytest.raises(vt.InputError, match="alternative 'maybe' is unknown"):
        vt.learn_panel(profile, {"d1": "maybe"})
    with pytest.raises(vt.InputError, match="one decision"):
        vt.learn_panel(profile.decision(0))
    with pytest.raises(vt.InputError, match="shape"):
        vt.learn_panel(profile, truth[:2])
    with pytest.raises(vt.InputError, match="without answers"):
        vt.learn_panel(profile, factors=2)
    import polars as pl

    both = pl.DataFrame({"decision": ["d1", "d1"], "best": ["yes", "no"]})
    with pytest.raises(vt.InputError, match="two answers, 'yes' and 'no'"):
        vt.learn_panel(profile, both)


def test_a_panel_for_other_votes_is_refused():
    profile, truth, _ = simulated("values")
    panel = vt.learn_panel(profile, truth, factors=0)
    other, _, _ = simulated("three")
    with pytest.raises(vt.InputError, match="learned from values"):
        vt.decide(other, panel=panel)
    with pytest.raises(vt.InputError, match="knows sigma itself"):
        vt.decide(profile, panel=panel, sigma=1.0)


def test_single_comparisons_of_two_are_rankings_with_the_first_place_as_a_role():
    pairs = np.zeros((2, 2, 2, 2))
    pairs[0, 0, 0, 1] = pairs[0, 1, 1, 0] = pairs[1, 0, 1, 0] = pairs[1, 1, 1, 0] = 1
    first = np.where(pairs > 0, [[0, 1], [0, 0]], 0)
    profile = vt.Profile(pairs=pairs)
    prepared = Prepared.of(profile.with_ballots(profile.ballots.with_positions(first * 1.0)), None)
    assert (prepared.kind, prepared.roles) == ("rankings", ("first", "second"))
    assert prepared.profile.ranks[0].tolist() == [[1, 2], [2, 1]]
    assert prepared.profile.ballots.roles[0].tolist() == [[0, 1], [0, 1]]
    assert members(prepared.profile, ("0", "1")).tolist() == [[0, 1], [0, 1]]


def test_the_evidence_of_comparisons_is_their_probability():
    """Against numerical integration over truth and one shared error."""
    from scipy.special import ndtr

    from veritally.inference.probit import Comparisons, probit_evidence

    weights = np.array([[1.2, 0.8], [0.7, -0.5], [-0.4, 0.9], [1.5, 0.2]])
    signs, offset = np.array([1.0, 1, -1, 1]), np.array([0.3, -0.2, 0.1, 0.0])
    given = Comparisons((signs[:, None] * weights)[None], (signs * offset)[None], np.full((1, 4), 2.0), np.ones((1, 4)))
    line = np.linspace(-8, 8, 801)
    truth, error = np.meshgrid(line, line, indexing="ij")
    whole = np.exp(-(truth**2 + error**2) / 4) / (4 * np.pi)
    for (a, b), sign, o in zip(weights, signs, offset, strict=True):
        whole = whole * ndtr(sign * (a * truth + b * error + o) / 2**0.5)
    exact = np.log(whole.sum() * (line[1] - line[0]) ** 2)
    assert abs(probit_evidence(given, 2.0).log_evidence[0] - exact) < 0.01  # as near as expectation propagation comes


def test_levels_of_confidence_are_learned_and_used():
    import polars as pl

    random = np.random.default_rng(0)
    worth = {1: 1.0, 3: 4.0, 5: 16.0}
    truth = random.normal(size=(120, 3))
    rows = []
    for d in range(120):
        for i in range(4):
            level = int(random.choice(list(worth)))
            seen = truth[d] + random.normal(size=3) / worth[level] ** 0.5
            rows += [(f"d{d}", f"v{i}", "ABC"[j], int(np.sum(seen >= seen[j])), level) for j in range(3)]
    table = pl.DataFrame(rows, schema=["decision", "voter", "alternative", "rank", "confidence"], orient="row")
    with pytest.warns(vt.InputNote):
        profile = vt.read(table)
    panel = vt.learn_panel(profile, truth, factors=0)
    assert panel.levels["1"] < panel.levels["3"] < panel.levels["5"]
    assert 4 < panel.levels["5"] / panel.levels["1"] < 40
    counts = vt.decide(profile, panel=panel, tie_break="first").profile.counts
    assert np.isin(np.round(counts[counts > 0], 9), np.round(list(panel.levels.values()), 9)).all()


def test_copies_and_those_who_say_the_opposite_are_found_and_honest_voters_are_not():
    from veritally.panel.copies import copy_sets

    random = np.random.default_rng(5)
    truth = random.normal(size=400)
    votes = np.sign(truth[:, None] + random.normal(size=(400, 6)))
    names = tuple("abcdefgh")
    twin = votes[:, 0] * np.where(random.random(400) < 0.05, -1, 1)
    every = np.column_stack([votes, twin, -votes[:, 1]])
    ranks = np.stack([np.where(every > 0, 2, 1), np.where(every > 0, 1, 2)], axis=-1)
    assert copy_sets(vt.Profile(ranks=ranks[:, :6]), tuple(map(str, range(6)))) == []
    assert copy_sets(vt.Profile(ranks=ranks, voters=list(names)), names) == [{0: 1, 6: 1}, {1: 1, 7: -1}]


def test_a_voter_with_one_vote_stays_near_the_average():
    profile, truth, _ = simulated("two", decisions=80, slope=np.full(6, 1.0))
    multiplicity = np.ones((80, 6))
    multiplicity[1:, 5] = 0
    alone = profile.with_ballots(profile.ballots.weighed(multiplicity))
    panel = vt.learn_panel(alone, truth, factors=0, roles="alternatives")
    assert panel.votes_by[5] == 1
    assert abs(panel.slope[5] - panel.mean_slope) < 0.5
    assert panel.slope_error[5] > np.max(panel.slope_error[:5])


def test_a_constant_added_to_all_values_changes_nothing_but_the_scores():
    profile, truth, _ = simulated("values", decisions=40)
    values = np.array(profile.values)
    values[..., 1:][np.random.default_rng(1).random((40, 6, 2)) < 0.3] = np.nan
    names = {"voters": list(profile.voters), "decisions": list(profile.decisions)}
    counts = np.where(np.isnan(values), 0, profile.counts)
    found = []
    for constant in (0.0, 5000.0):
        moved = vt.Profile(values=values + constant, counts=counts, **names)
        panel = vt.learn_panel(moved, truth, factors=0)
        outcome = vt.decide(moved, panel=panel, tie_break="first")
        found.append((panel.slope, np.asarray(outcome.p_best), np.asarray(outcome.scores) - constant))
    for one, other in zip(*found, strict=True):
        known = np.isfinite(one)
        assert np.allclose(one[known], other[known], atol=2e-3)


def test_answers_that_tell_nothing_are_no_answers():
    profile, truth, _ = simulated("two", decisions=30)
    known = truth.copy()
    known[:, 1] = np.nan
    for given in (known, np.ones_like(truth)):
        panel = vt.learn_panel(profile, given, roles="alternatives")
        assert panel.answers == 0
        assert panel.assumption is not None


def test_a_damaged_state_or_panel_is_no_traceback(tmp_path):
    profile, truth, _ = simulated("two", decisions=30)
    state = tmp_path / "panel.state"
    state.write_bytes(b"PK\x03\x04cut")
    panel = vt.learn_panel(profile, truth, factors=0, state=state)
    for name, value in {"omega": None, "typical_count": 0, "noise": [], "levels": [1], "voters": "abcdef"}.items():
        with pytest.raises(vt.InputError):
            vt.LearnedPanel.from_dict(panel.to_dict() | {name: value})


def test_many_answers_leave_the_truth_where_it_is():
    """Directions are drawn about as far as answers leave them open, also where that is very near."""
    slope, loadings = np.linspace(0.4, 1.6, 6), np.stack([np.full(6, 0.8), np.linspace(-1, 1, 6)], axis=1)
    profile, truth, _ = simulated("two", 900, slope=slope, loadings=loadings, seed=4)
    lesson = Lesson.of(profile, truth, "alternatives", 0.3, 0)
    layout, found = lesson.learn(2, None, None)
    moved = [layout.unpack(turned(lesson.votes, layout, found.x, seed)) for seed in (0, 1)]
    assert np.max(np.abs(moved[0].slope - moved[1].slope)) < 0.02
    before, after = (float(np.sum(lesson.votes.evidence(now)[0])) for now in (layout.unpack(found.x), moved[0]))
    assert after > before - 2


def test_voters_who_agree_are_not_reversed_without_answers():
    for seed in range(6):
        profile, _, _ = simulated("two", 20, 5, seed=seed, slope=np.full(5, 0.5), loadings=np.zeros((5, 2)))
        assert np.mean(vt.learn_panel(profile).slope) > 0


def test_a_voter_who_always_gives_the_same_value_tells_nothing():
    profile, truth, _ = simulated("values", 60, 4, slope=np.array([2.0, 1.5, 1.0, 1.0]), loadings=np.zeros((4, 2)))
    values = np.array(profile.values)
    values[:, 3] = 3.0
    panel = vt.learn_panel(vt.Profile(values=values, counts=profile.counts, voters=list("abcd")), truth)
    assert panel.converged
    assert np.isfinite(panel.slope).all()
    assert abs(panel.slope[3]) < 0.4 < np.min(panel.slope[:3])


def test_units_of_one_voter_may_be_larger():
    profile, truth, _ = simulated("values", 80, 4, slope=np.full(4, 1.5), loadings=np.zeros((4, 2)))
    values = np.array(profile.values)
    values[:, 3] *= 1000
    panel = vt.learn_panel(vt.Profile(values=values, counts=profile.counts, voters=list("abcd")), truth, factors=0)
    assert panel.converged
    assert panel.noise[3] > 100 * np.max(panel.noise[:3])


def test_a_role_may_stand_beside_none():
    """Truths of one role are higher; the other alternative has no role. It is as with two roles."""
    random = np.random.default_rng(7)
    truth = random.normal(size=(300, 2)) + np.array([1.5, 0.0])
    seen = truth[:, None] + random.normal(size=(300, 4, 2))
    ranks = np.argsort(np.argsort(-seen)) + 1.0
    found = []
    for roles in ([0.0, -1.0], [0.0, 1.0]):
        profile = vt.Profile(ranks=ranks, voters=list("abcd"))
        ballots = profile.ballots.with_roles(np.broadcast_to(np.array(roles), ranks.shape).copy())
        profile = profile.with_ballots(ballots, role_names=("own", "other")[: 1 + int(roles[1] > 0)])
        panel = vt.learn_panel(profile, np.where(np.arange(300)[:, None] < 200, truth, np.nan), factors=0)
        found.append(np.asarray(vt.decide(profile, panel=panel, tie_break="first").p_best)[200:, 0])
    assert np.max(np.abs(found[0] - found[1])) < 0.05


def test_a_panel_of_other_people_is_refused():
    profile, truth, _ = simulated("two")
    panel = vt.learn_panel(profile, truth, factors=0, roles="alternatives")
    new = vt.Profile(order=[["yes", "no"], ["no", "yes"]], voters=["Xu", "Yan"])
    with pytest.raises(vt.InputError, match="knows none of these voters"):
        vt.decide(new, panel=panel)
    other = vt.Profile(order=[["true", "false"]], voters=["v0"])
    with pytest.warns(vt.InputWarning, match="nothing of false, true"):
        vt.decide(other, panel=panel)


def test_answers_and_roles_that_cannot_be_are_refused():
    profile, truth, _ = simulated("two")
    with pytest.raises(vt.InputError, match="finite numbers"):
        vt.learn_panel(profile, np.where(truth > 0, np.inf, truth))
    with pytest.raises(vt.InputError, match="roles 'foo' is unknown"):
        vt.learn_panel(profile, truth, roles="foo")
    with pytest.raises(vt.InputError, match="not a list"):
        vt.learn_panel(profile, truth.tolist())
