"""Plans of looks that add more, or less, than one to a count, such as reviews with confidence."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from looked_at import battles, simulated

import veritally as vt
from veritally.cli import cli
from veritally.planning.plan import next_looks

pytestmark = pytest.mark.filterwarnings("ignore::veritally.InputWarning")


@pytest.mark.parametrize("kind", ["values", "ranks", "top"])
@pytest.mark.parametrize("look", [4, "usual"])
def test_looks_of_any_size_are_those_of_size_one_with_less_noise(kind, look):
    """Counts of s with σ tell what counts of 1 with σ/√s do."""
    values = np.random.default_rng(1).normal(size=(3, 4))
    votes = {
        "values": values,
        "ranks": np.argsort(np.argsort(-values, axis=1), axis=1) + 1,
        "top": np.argmax(values, axis=1),
    }
    given = {"budget": 40, "tau": 1.0}
    once = next_looks(vt.Profile(**{kind: votes[kind]}, counts=np.ones((3, 4))), sigma=0.75, **given)
    often = next_looks(vt.Profile(**{kind: votes[kind]}, counts=np.full((3, 4), 4)), sigma=1.5, look=look, **given)
    unit = 1 if kind == "values" else 2  # regret is in σ, which differs
    worth = {look[:4]: look.gain / unit for look in once.offers}
    near = 1e-6 if kind == "values" else 0.2  # a single draw at a border may fall on either side of it
    assert {look[:4]: look.gain for look in often.offers} == pytest.approx(worth, rel=near, abs=1e-12)
    assert often.assignments().equals(once.assignments())
    assert often.cost == once.cost == 40


def reviews(kind="values"):
    """Four people with reviews of very different counts of six papers, each of about four."""
    rng = np.random.default_rng(3)
    counts = np.array([[2, 4.9, 0, 8, 1, 0], [0, 58, 20, 2, 0, 33], [1, 0, 1, 0, 2.4, 1], [8.4, 8, 0, 0, 4.9, 2.4]])
    values = np.where(counts > 0, rng.normal(size=counts.shape), np.nan)
    profile = vt.Profile(values=values, counts=counts, alternatives=list("ABCDEF"))
    return profile if kind == "values" else profile.coarsened(kind)


@pytest.mark.parametrize("kind", ["values", "rankings"])
def test_nobody_reviews_the_same_twice_whatever_the_counts(kind):
    profile = reviews(kind)
    plan = next_looks(profile, budget=10, look="usual", per_pair=1, newcomers=False, sigma=3.0, tau=1.0)
    unseen = {(i, name) for i, row in enumerate(profile.counts) for name, c in zip("ABCDEF", row, strict=True) if not c}
    single = [look for look in plan.offers if look.voters == 1]
    assert {(look.voter, look.alternatives[0]) for look in single} == unseen
    assert {look.looks for look in single} == {1}
    assert all(look.looks == 1 for look in plan.tasks)
    assert plan.looks


def test_the_usual_look_of_a_voter_is_the_mean_of_what_this_voter_has():
    """A voter with a lasting count of 50 tells more by one look than one with a count of 2."""
    profile = vt.Profile(values=[[1.0, 0.8], [0.9, 0.9]], counts=[[50, 50], [2, 2]], voters=["much", "little"])
    given = {"budget": 1, "sigma": 5.0, "tau": 1.0}
    worth = {look[:3]: look.gain for look in next_looks(profile, look="usual", **given).offers}
    by_hand = {
        size: {look[:3]: look.gain for look in next_looks(profile, look=size, **given).offers} for size in (50, 2, 26)
    }
    for j in range(2):
        for name, size in (("much", 50), ("little", 2), ("somebody new", 26)):
            assert worth[name, 1, (j,)] == pytest.approx(by_hand[size][name, 1, (j,)])


def test_looks_of_everybody_have_the_size_of_each():
    profile = vt.Profile(ranks=[[1, 2, 3], [2, 1, 3]], counts=[[9, 9, 9], [3, 3, 3]])
    given = {"budget": 30, "sigma": 3.0, "tau": 1.0, "newcomers": False}

    def worth(**look):
        return max(look.gain for look in next_looks(profile, **given, **look).offers if look.voter == "everybody")

    assert worth(look=3) < worth(look="usual") < worth(look=9)


@pytest.mark.parametrize("look", [0, -1, float("nan"), "often", True])
def test_mistakes_are_sentences(look):
    with pytest.raises(vt.InputError, match="what a look adds to a count"):
        next_looks(simulated("values", 1, voters=2, alternatives=3), budget=5, look=look)


@pytest.mark.parametrize("look", [2, "usual"])
def test_a_look_at_comparisons_is_one(look):
    with pytest.raises(vt.InputError, match="is one comparison"):
        next_looks(battles(1), budget=5, look=look)


def test_the_command_plans_reviews(tmp_path):
    votes = tmp_path / "votes.csv"
    votes.write_text("voter,alternative,value,confidence\na,x,5,5\na,y,4,3\nb,y,4,1\nb,z,4.3,1\n")
    plain = CliRunner().invoke(cli, ["next", str(votes), "--budget", "4"])
    assert "--look usual --per-pair 1" in plain.stdout
    found = CliRunner().invoke(
        cli, ["next", str(votes), "--budget", "4", "--look", "usual", "--per-pair", "1", "--no-newcomers", "--json"]
    )
    assert found.exit_code == 0, found.output
    assert '"looks": 1' in found.stdout
    for text in ("0", "often"):
        wrong = CliRunner().invoke(cli, ["next", str(votes), "--budget", "4", "--look", text])
        assert (wrong.exit_code, "look" in wrong.stderr) == (2, True)


ROOT = Path(__file__).parents[2]
PRINTED = re.findall(
    r"^    \$ veritally (next .*)\n((?:    .*\n)+)", (ROOT / "docs" / "next.md").read_text(), re.MULTILINE
)


@pytest.mark.parametrize(("command", "printed"), PRINTED, ids=["looks", "reviews"])
def test_the_page_shows_what_the_command_prints(command, printed, monkeypatch):
    monkeypatch.chdir(ROOT)
    found = CliRunner().invoke(cli, command.split())
    assert found.exit_code == 0, found.output
    assert found.stdout.split() == printed.split()


def test_the_page_says_what_spreading_the_work_costs():
    profile = vt.read(ROOT / "examples" / "committee.csv")
    plans = {n: vt.next_looks(profile, budget=10, choose=3, look="usual", per_pair=1, per_voter=n) for n in (1, 2, 3)}
    said = " ".join((ROOT / "docs" / "next.md").read_text().split())
    assert f"comes down to {plans[2].regret_after:.3f} instead of {plans[3].regret_after:.3f}" in said
    assert f"with 1, to {plans[1].regret_after:.3f}, and four of the ten" in said
    looks = {n: sum(look.looks for look in plan.looks if look.voter == "Reviewer 8") for n, plan in plans.items()}
    assert (looks[3], looks[2]) == (3, 2)
    assert sum(look.looks for look in plans[1].looks if look.voter == "somebody new") == 4
