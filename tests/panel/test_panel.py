"""Panels as users say them."""

import json

import numpy as np
import pytest

import veritally as vt
from veritally.model.means import VoterMeans
from veritally.panel.factors import factors, principal_factors
from veritally.panel.worth import effective_voters
from veritally.votes.items import Items

RANKS = [[1, 2, 3], [2, 1, 3], [1, 3, 2], [3, 1, 2], [1, 2, 3]]
COUNTS = [[1, 4, 2], [9, 9, 9], [2, 2, 2], [5, 1, 3], [4, 4, 4]]
VOTERS = ["Ann", "Bob", "Cem", "Dan", "Eve"]


@pytest.fixture
def profile():
    return vt.Profile(ranks=RANKS, counts=COUNTS, voters=VOTERS)


def test_no_correlation_is_no_panel(profile):
    panel = vt.Panel({"lab": ["Ann", "Bob"]}, correlation=0)
    np.testing.assert_array_equal(vt.decide(profile, panel=panel).scores, vt.decide(profile).scores)


def test_groups_are_a_kernel_of_blocks(profile):
    groups = vt.Panel({"lab": ["Ann", "Bob", "Cem"], "office": ["Dan", "Eve"]}, correlation=0.6)
    kernel = np.zeros((5, 5))
    kernel[:3, :3] = kernel[3:, 3:] = 1
    similar = vt.Panel(similarity=kernel, correlation=0.6)
    one, other = (vt.decide(profile, panel=panel, sigma=1.5, tau=1) for panel in (groups, similar))
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)
    assert one.effective_voters == pytest.approx(other.effective_voters, abs=1e-6)


def test_pairs_of_voters_are_a_kernel_of_blocks():
    """However many factors that takes."""
    random = np.random.default_rng(4)
    votes = vt.Profile(values=random.normal(size=(24, 3)))
    groups = vt.Panel({str(k): [2 * k, 2 * k + 1] for k in range(12)}, correlation=0.8)
    similar = vt.Panel(similarity=np.kron(np.eye(12), np.ones((2, 2))), correlation=0.8)
    one, other = (vt.decide(votes, panel=panel, sigma=1, tau=1) for panel in (groups, similar))
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)
    assert other.effective_voters == pytest.approx(24 / 1.8)


def test_a_trace_of_correlation_changes_nothing():
    """Also where σ is not known, and votes may be nothing but noise."""
    random = np.random.default_rng(2)
    votes = vt.Profile(ranks=[random.permutation(4) + 1 for _ in range(8)])
    plain, panel = (vt.decide(votes, panel=own) for own in (None, vt.Panel({"g": [0, 1]}, correlation=1e-9)))
    np.testing.assert_allclose(panel.scores, plain.scores, atol=1e-4)
    assert panel.details["p_noise"] == pytest.approx(float(plain.details["p_noise"]), abs=1e-4)
    assert plain.details["p_noise"] > 0.5


@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("strength", [0.85, "estimated"])
def test_the_unit_of_values_changes_nothing(unit, strength):
    values, voters = np.array([[3, 4, 5.0], [3, 4, 5], [2, 4, 5], [3, 4, 4]]), [*"abcd"]
    panel = vt.Panel({"g": voters[:3]}, correlation=strength)
    one, other = (vt.decide(vt.Profile(values=x, voters=voters), panel=panel) for x in (values, unit * values))
    np.testing.assert_allclose(other.scores / unit, one.scores, rtol=1e-6)
    np.testing.assert_allclose(other.p_best, one.p_best, atol=0.003)
    assert other.details["correlation"] == pytest.approx(float(one.details["correlation"]), abs=1e-6)
    assert other.belief.sigma.mean() / unit == pytest.approx(one.belief.sigma.mean(), rel=1e-6)


def test_voters_who_say_the_same_are_no_surer_as_a_group():
    votes = vt.Profile(values=[[1, 2, 3.3]] * 2, voters=["a", "b"])
    with pytest.warns(vt.InputWarning, match="all voters are in one group"):
        together = vt.decide(votes, panel=vt.Panel({"g": ["a", "b"]}))
    assert together.p_best.max() <= vt.decide(votes).p_best.max()


def test_a_voter_who_says_nothing_changes_nothing():
    ranks, counts, panel = (
        [[1, 2, 3], [1, 3, 2], [3, 1, 2]],
        [[4] * 3] * 3,
        vt.Panel({"g": ["a", "b"]}, correlation=0.6),
    )
    given = {"panel": panel, "sigma": 1, "tau": 1, "cap": "none"}
    silent = vt.Profile(ranks=[*ranks, [1, 1, 1]], counts=[*counts, [1e6] * 3], voters=[*"abcz"])
    one, other = (
        vt.decide(votes, **given) for votes in (vt.Profile(ranks=ranks, counts=counts, voters=[*"abc"]), silent)
    )
    np.testing.assert_allclose(other.scores, one.scores, atol=1e-9)
    assert other.effective_voters == pytest.approx(one.effective_voters)


def test_a_cap_is_as_counts_that_end_there():
    ranks, panel = [[1, 2], [2, 1], [1, 2]], vt.Panel({"g": [0, 1]}, correlation=0.6)
    many = vt.Profile(ranks=ranks, counts=[[1, 100], [100, 100], [4, 9]])
    few = vt.Profile(ranks=ranks, counts=[[1, 4], [4, 4], [4, 4]])
    one, other = vt.decide(many, panel=panel, cap=4, sigma=1, tau=1), vt.decide(few, panel=panel, sigma=1, tau=1)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-9)
    assert one.effective_voters == pytest.approx(other.effective_voters)


def test_a_ballot_of_several_members_is_these_members():
    values, panel = [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], {"h": ["b", "c"]}
    one = vt.Profile(values=values, voters=[*"abc"], multiplicity=[5, 1, 1])
    names = [f"a{k}" for k in range(5)]
    each = vt.Profile(values=[values[0]] * 5 + values[1:], voters=[*names, "b", "c"])
    found = [
        vt.decide(votes, panel=vt.Panel(panel | {"g": own}, correlation=0.8), sigma=1, tau=1, leniency=0)
        for votes, own in ((one, ["a"]), (each, names))
    ]
    np.testing.assert_allclose(found[0].scores, found[1].scores, atol=1e-9)
    assert found[0].effective_voters == pytest.approx(found[1].effective_voters)


def test_groups_of_votes_stay_with_those_who_vote(profile):
    votes = profile.with_facts(groups={"Ann": "lab", "Bob": "lab", "Cem": "lab"})
    both = vt.stack([votes, votes.select(voters=["Ann", "Bob", "Dan"])])
    assert vt.decide(both.unstack()[1]).panel.groups == {"lab": ("Ann", "Bob")}
    assert vt.decide(votes.select(voters=["Ann", "Dan"])).panel is None
    assert vt.decide(both.part(1, 2)).panel.groups == {"lab": ("Ann", "Bob")}


def test_equals_are_worth_what_the_formula_says():
    profile = vt.Profile(ranks=[[1, 2, 3]] * 6, counts=np.full((6, 3), 7.0))
    panel = vt.Panel({"all": list(range(6))}, correlation=0.4)
    assert effective_voters(panel.applied(profile).ballots, VoterMeans(), 0.4)[0] == pytest.approx(6 / (1 + 5 * 0.4))
    outcome = vt.decide(profile, panel=panel)
    assert outcome.effective_voters == pytest.approx(6 / (1 + 5 * 0.4))
    without = outcome.explain().effective_voters_without
    assert without[0] == pytest.approx(5 / (1 + 4 * 0.4))
    assert json.loads(outcome.to_json())["effective_voters"] == pytest.approx(2.0)


def test_worth_by_plain_algebra(profile):
    """I_j = 1ᵀ(C + diag v)⁻¹1 over the largest 1/(C_ii + v_i), with some who did not see everything."""
    counts = np.array(COUNTS, dtype=float)
    counts[3, 1] = 0
    ranks = np.where(counts > 0, RANKS, 0)
    votes = vt.Profile(ranks=ranks, counts=counts, voters=VOTERS)
    rho, groups = 0.55, {"lab": ["Ann", "Bob", "Dan"]}
    typical = np.exp(np.log(counts[counts > 0]).mean())
    member = np.isin(VOTERS, groups["lab"])
    parts = []
    for j in range(3):
        seen = counts[:, j] > 0
        own = np.where(member, 1 - rho, 1)[seen] / counts[seen, j]
        shared = rho / typical * np.outer(member[seen], member[seen])
        whole = np.linalg.inv(shared + np.diag(own)).sum()
        parts.append(whole * np.min(np.diag(shared) + own))
    outcome = vt.decide(votes, panel=vt.Panel(groups, correlation=rho))
    assert outcome.effective_voters == pytest.approx(np.mean(parts))


def test_copies_add_nothing(profile):
    ranks, counts = np.array(RANKS), np.array(COUNTS, dtype=float)
    rows = [0, 1, 2, 3, 4] + [4] * 9
    many = vt.Profile(ranks=ranks[rows], counts=counts[rows], voters=[*VOTERS, *(f"copy {k}" for k in range(9))])
    copies = ["Eve", *(f"copy {k}" for k in range(9))]
    alone = vt.decide(profile, sigma=2, tau=1)
    known = vt.decide(many, sigma=2, tau=1, panel=vt.Panel({"copies": copies}, correlation=0.999))
    np.testing.assert_allclose(known.p_best, alone.p_best, atol=0.03)
    assert float(np.abs(vt.decide(many, sigma=2, tau=1).p_best - alone.p_best).max()) > 0.1


def test_a_batch_is_decided_as_one_by_one(profile):
    panel = vt.Panel({"lab": ["Ann", "Bob"], "office": ["Cem", "Eve"]}, correlation=0.5)
    other = vt.Profile(ranks=[[1, 2], [2, 1], [1, 2]], counts=[[3, 3], [1, 5], [2, 2]], voters=["Bob", "Ann", "Eve"])
    whole = vt.decide(vt.stack([profile, other]), panel=panel, sigma=2, tau=1)
    for one, votes in zip(whole.unstack(), (profile, other), strict=True):
        alone = vt.decide(votes, panel=_of(panel, votes), sigma=2, tau=1)
        np.testing.assert_allclose(one.scores, alone.scores, atol=1e-5)
        assert one.effective_voters == pytest.approx(alone.effective_voters)


def _of(panel, profile):
    """Name only those who vote."""
    groups = {name: [voter for voter in own if voter in profile.voters] for name, own in panel.groups.items()}
    return vt.Panel(groups, correlation=panel.correlation)


def test_the_strength_is_found_from_many_decisions():
    """Of 40 decisions whose groups share most of their errors, and of 40 whose groups share nothing."""
    random = np.random.default_rng(2)

    def decisions(share):
        truth, counts = random.normal(size=(40, 1, 5)), np.full((40, 8, 5), 4.0)
        shared = np.repeat(random.normal(size=(40, 2, 5)), 4, axis=1)
        x = truth + np.sqrt(share) * shared + np.sqrt(1 - share) * random.normal(size=counts.shape)
        return vt.Profile(ranks=(-x).argsort(axis=-1).argsort(axis=-1) + 1, counts=counts)

    panel = vt.Panel({"a": [0, 1, 2, 3], "b": [4, 5, 6, 7]})
    together, apart = (decisions(share) for share in (0.7, 0.0))
    for given, least in (({}, 0.3), ({"sigma": 2, "tau": 1}, 0.05)):  # what σ is leaves less to be told by
        strong, none = (vt.decide(votes, panel=panel, **given).details["correlation"] for votes in (together, apart))
        assert np.ptp(strong) == pytest.approx(0, abs=1e-12)  # one for all decisions
        assert 0.55 < strong[0] < 0.8
        assert none[0] < least
    pooled, at_once = (
        vt.decide(together, panel=own, scale="pooled") for own in (panel, vt.Panel(panel.groups, correlation=0.65))
    )
    noise, other = (outcome.pooled_noise[0] for outcome in (pooled, at_once))
    assert noise.log_centre == pytest.approx(other.log_centre, abs=0.1)  # the noise is found beside the strength


def test_three_voters_with_the_same_items():
    """Precision 15, where independent looks would have 30 and one voter 10: of the note on panels."""
    voters, names = ("a", "b", "c"), ("A", "B")
    rows = [(v, a, s + 10 * (a == "B")) for v in voters for a in names for s in range(10)]
    who, what, items = zip(*rows, strict=True)
    looks = Items(who, what, np.array(items), np.ones(len(rows)))
    profile = vt.Profile(
        values=[[0.3, 0.1], [0.2, -0.4], [0.0, 0.6]], counts=np.full((3, 2), 10.0), voters=voters, alternatives=names
    )
    outcome = vt.decide(profile, panel=vt.Panel(items=looks, correlation=0.5), sigma=1, tau=2)
    prior = (np.eye(2) - 0.5) / 4
    np.testing.assert_allclose(outcome.fit.posterior.moments.precision[0] - prior, 15 * np.eye(2), atol=1e-12)
    assert outcome.effective_voters == pytest.approx(1.5)


def test_a_panel_in_a_file(tmp_path, profile):
    path = tmp_path / "panel.json"
    for panel in (
        vt.Panel({"lab": ["Ann", "Bob"]}, correlation=0.5, votes="rankings"),
        vt.Panel(similarity=0.5 + np.eye(5) / 2, voters=VOTERS),
        vt.Panel(items=Items(("Ann", "Bob"), (0, 0), np.array([1, 1]), np.ones(2)), correlation=0.3),
    ):
        panel.write(path)
        again = vt.Panel.read(path)
        assert again.to_dict() == panel.to_dict()
        np.testing.assert_array_equal(vt.decide(profile, panel=again).scores, vt.decide(profile, panel=panel).scores)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": {"a": ["Ann", "Bob"], "b": ["Bob", "Cem"]}}, "'Bob' is in 'a' and 'b'"),
        ({"groups": {"a": ["Ann", "Ann"]}}, "'Ann' appears twice in the group 'a'"),
        ({"groups": {"a": "Ann"}}, "needs a list of voters"),
        ({"groups": {"a": ["Ann"]}}, "no group has two voters"),
        ({"groups": {"a": ["Ann", None]}}, "names None, which is not a name"),
        ({"groups": {"a": ["Ann", ["Bob"]]}}, "which is not a name"),
        ({"groups": {1: ["Ann", "Bob"], "1": ["Cem"]}}, "two groups are called '1'"),
        ({"groups": {"a": ["Ann", "Bob"]}, "correlation": np.array([0.5, 0.6])}, "from 0 to below 1"),
        ({"groups": {"a": ["Ann", "Bob"]}, "votes": ["rankings"]}, "the kind of votes"),
        ({"groups": ["Ann"]}, "groups must be a dictionary"),
        ({"groups": {"a": ["Ann", "Bob"]}, "correlation": 1}, "from 0 to below 1"),
        ({"groups": {"a": ["Ann", "Bob"]}, "correlation": -0.1}, "from 0 to below 1"),
        ({"groups": {"a": ["Ann", "Bob"]}, "correlation": "strong"}, "from 0 to below 1"),
        ({"groups": {"a": ["Ann", "Bob"]}, "votes": "letters"}, "the kind of votes 'letters' is unknown"),
        ({"groups": {"a": ["Ann", "Bob"]}, "voters": VOTERS}, "voters= goes with similarity="),
        ({"similarity": [[1, 0.5], [0.4, 1]]}, "not symmetric"),
        ({"similarity": [[1, 2], [2, 1]]}, "has the eigenvalue -1; eigenvalues must not be negative"),
        ({"similarity": [[0, 0], [0, 1]]}, "to itself must be above 0"),
        ({"similarity": [1, 2]}, "a square matrix"),
        ({"similarity": [[1, 0], [0, 1]], "voters": ["Ann"]}, "2 rows, but voters= has 1"),
        ({"similarity": [[1, 0], [0, 1]], "voters": ["Ann", "Ann"]}, "names must differ"),
        ({"items": [1, 2]}, "items= takes the profile.items"),
        ({}, "needs exactly one of groups, similarity and items"),
    ],
)
def test_what_is_no_panel(given, message):
    with pytest.raises(vt.InputError, match=message):
        vt.Panel(**given)


@pytest.mark.parametrize(
    ("panel", "message"),
    [
        (vt.Panel({"a": ["Ann", "Nobody"]}), "the panel's voter 'Nobody' is unknown"),
        (vt.Panel({"a": ["Ann", "Bob"]}, votes="values"), "for values, but these votes are rankings"),
        (vt.Panel(similarity=np.eye(3)), "for 3 voters, but 5 vote"),
        ({"a": ["Ann", "Bob"]}, "panel takes a vt.Panel, not dict"),
    ],
)
def test_a_panel_for_others(profile, panel, message):
    with pytest.raises(vt.InputError, match=message):
        vt.decide(profile, panel=panel)


def looked_at(looks, share=0.5):
    items = {"share": share, "columns": ["voter", "alternative", "item", "times"], "looks": looks}
    return json.dumps({"format": "veritally panel", "version": 1, "items": items})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"is not valid JSON \(line 1, column 2"),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", "is not a panel"),
        ('{"format": "veritally panel", "version": 2}', "of version 2; this program reads 1"),
        ('{"format": "veritally panel", "version": 1}', "needs exactly one of groups, similarity and items"),
        ('{"format": "veritally panel", "version": 1, "code": "x"}', "part 'code' is unknown"),
        ('{"format": "veritally panel", "version": 1, "group": {}}', "did you mean 'groups'"),
        (
            '{"format": "veritally panel", "version": true, "groups": {"a": ["b", "c"]}}',
            "of version True",
        ),
        (
            '{"format": "veritally panel", "version": 1, "votes": {"a": 1}, "groups": {"a": ["b", "c"]}}',
            "kind of votes",
        ),
        (
            '{"format": "veritally panel", "version": 1, "groups": {"a": ["b", "c"], "a": ["d", "e"]}}',
            "'a' appears twice",
        ),
        (looked_at([["b", "c", 0.7, 1]]), "the items are damaged"),
        (looked_at([["b", "c", 1e30, 1]]), "the items are damaged"),
        (looked_at([["b", "c", 1, 1]], "x"), "the items are damaged"),
        ('{"format": "veritally panel", "version": 1, "items": {"looks": 3}}', "the items are damaged"),
        ('{"format": "veritally panel", "version": 1, "groups": {"a": ["b", "b"]}}', "appears twice"),
    ],
)
def test_damaged_files(tmp_path, text, message):
    path = tmp_path / "panel.json"
    path.write_text(text)
    with pytest.raises(vt.InputError, match=message) as error:
        vt.Panel.read(path)
    assert str(path) in str(error.value)


def test_rules_without_a_panel(profile):
    with pytest.raises(vt.InputError, match="borda takes no panel; use posterior, or leave the panel out"):
        vt.decide(profile, rule="borda", panel=vt.Panel({"a": ["Ann", "Bob"]}))
    with pytest.raises(vt.InputError, match="cannot be combined with noise or count_error"):
        vt.decide(profile, panel=vt.Panel({"a": ["Ann", "Bob"]}, correlation=0.5), noise="laplace", sigma=1, tau=1)


def test_differences_of_a_group():
    """Exactly: Δ ~ N(0, 2τ²), and members' differences share twice the variance of their shared error."""
    x, counts, rho, tau = np.array([1.0, -0.5, 2.0]), np.full((3, 2), 4.0), 0.6, 0.8
    profile = vt.Profile(differences=x, counts=counts, voters=["a", "b", "c"])
    outcome = vt.decide(profile, panel=vt.Panel({"g": ["a", "b"]}, correlation=rho), sigma=1, tau=tau)
    covariance = 2 / 4 * np.array([[1, rho, 0], [rho, 1, 0], [0, 0, 1]])
    inverse = np.linalg.inv(covariance)
    mean = (inverse @ x).sum() / (inverse.sum() + 1 / (2 * tau**2))
    np.testing.assert_allclose(outcome.scores, [-mean / 2, mean / 2], atol=1e-6)


def test_a_column_group_is_ignored_aloud(profile):
    votes = profile.with_facts(groups={"Ann": "lab", "Bob": "lab"})
    with pytest.warns(vt.InputWarning, match="borda ignores groups and shared items; use posterior"):
        vt.decide(votes, rule="borda")
    assert vt.decide(votes).panel.groups == {"lab": ("Ann", "Bob")}


def test_factors():
    random = np.random.default_rng(3)
    root = random.normal(size=(4, 2))
    found = factors(root @ root.T)
    assert found.shape == (4, 2)
    np.testing.assert_allclose(found @ found.T, root @ root.T, atol=1e-12)
    kernel = 0.3 + 0.7 * np.eye(6)
    np.testing.assert_allclose(np.abs(principal_factors(kernel, 4)), np.full((6, 1), 0.3**0.5), atol=1e-5)
    assert not principal_factors(np.eye(4), 4).any()
