"""The commands that simulate, compare and reproduce."""

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import veritally as vt
from veritally.cli import cli


def run(*arguments, **options):
    return CliRunner().invoke(cli, list(map(str, arguments)), **options)


@pytest.fixture
def files(tmp_path):
    votes, truth = tmp_path / "votes.csv", tmp_path / "truth.csv"
    result = run("simulate", votes, truth, "--scenario", "high-variance", "--voters", 5, "--instances", 40, "--seed", 3)
    assert result.exit_code == 0, result.output
    return votes, truth


def test_what_is_simulated_can_be_decided_and_compared(files):
    votes, truth = files
    assert run("decide", votes).stdout.startswith("By posterior")
    rows = list(map(json.loads, run("compare", "--votes", votes, "--truth", truth, "--json").output.splitlines()))
    trials = vt.simulate("high-variance", voters=5, instances=40, seed=3)
    for row in vt.compare(trials).rows():
        if row["rule"] in ("mean", "pairwise"):  # which do not tie
            assert next(x for x in rows if x["rule"] == row["rule"])["regret"] == pytest.approx(row["regret"])


def test_sigma_is_told_by_name_or_in_order(tmp_path):
    files = [tmp_path / "v.csv", tmp_path / "t.csv"]
    scenario = ["--voters", 4, "--alternatives", 3, "--sigma", "1,10,100", "--experience", "uniform:0:3"]
    assert run("simulate", *files, *scenario, "--ballots", "rank", "--instances", 50).exit_code == 0
    comparing = ["compare", "--votes", files[0], "--truth", files[1], "--rules", "pairwise", "--json", "--sigma"]
    told = [run(*comparing, sigma).stdout for sigma in ("1,10,100", "a3=100,a1=1,a2=10")]
    direct = vt.Scenario(voters=4, alternatives=3, sigma=(1, 10, 100), experience="uniform:0:3", votes="rank")
    expected = vt.compare(vt.simulate(direct, instances=50), rules=["pairwise"]).rows()[0]
    for output in told:
        assert json.loads(output)["regret"] == pytest.approx(expected["regret"], abs=0.05)
    assert told[0] == told[1]


def test_data_sets_are_compared_by_name():
    options = ["compare", "--dataset", "polls538", "--rules", "borda,mean", "--placebo", 2]
    lines = run(*options).output.splitlines()
    assert lines[0].startswith("1,000 decisions in 25 clusters; ± standard errors;")
    assert lines[1].split() == ["rule", "regret", "accuracy", "correlation", "−", "borda", "worth", "of", "counts"]
    assert lines[-1].startswith("polls538: who wins an election, by pollsters in its last three weeks. CC BY 4.0, ")
    rows = list(map(json.loads, run(*options, "--json").output.splitlines()))
    assert rows == vt.compare(vt.datasets.load("polls538"), rules=["borda", "mean"], placebo=2).rows()
    assert {row["clusters"] for row in rows} == {25}
    for name in vt.datasets.names():
        assert name in run("compare", "--help").output


def test_simulate_takes_every_part_of_a_scenario(tmp_path):
    parts = ["--voters", 3, "--alternatives", 4, "--prior", "normal:5:2", "--experience", "specialists:1:9:1"]
    parts += ["--noise", "laplace", "--sigma", "1,2,3,4", "--count-error", "percentage:0.2", "--ballots", "rank"]
    result = run("simulate", tmp_path / "v.parquet", tmp_path / "t.csv", *parts, "--instances", 7)
    assert "Wrote 7 decisions of 3 voters on 4 alternatives (rankings)" in result.output
    assert vt.read(tmp_path / "v.parquet").shape == (7, 3, 4)


def test_compare_prints_a_table(tmp_path):
    result = run("compare", "--scenario", "low-variance", "--voters", 3, "--rules", "borda,case4-normalized")
    lines = result.output.splitlines()
    assert lines[0] == "2,000 decisions, 3 voters each; ± standard errors; * may have the lowest regret (95%)"
    assert lines[1].split() == ["rule", "regret", "accuracy", "correlation", "−", "borda"]
    assert lines[2].startswith("pairwise-normalized * ")
    assert lines[3].startswith("borda ")
    assert max(map(len, lines[1:])) <= 80


def test_compare_says_that_a_plot_has_some_of_many_rules(tmp_path):
    options = ["compare", "--vary", "voters=3,4", "--instances", 20, "--workers", 1, "--plot", tmp_path / "voters.svg"]
    result = run(*options)
    rules = len(result.stdout.split("Left out")[0].splitlines()) - 2
    assert f"voters.svg with 6 of {rules} rules, the best on average; the table has the others" in result.stderr


def test_compare_varies_one_quantity(tmp_path):
    options = ["compare", "--scenario", "low-variance", "--rules", "borda,mean", "--instances", 50, "--workers", 1]
    result = run(*options, "--vary", "voters=3,10", "--plot", tmp_path / "voters.pdf", "--plot-width", 3.3)
    heading, columns, *rows = result.stdout.splitlines()
    told = "Regret ± standard error; 50 decisions at each of 2 levels of voters; * may be the lowest at its level (95%)"
    assert heading == told
    assert columns.split() == ["voters", "3", "10"]
    assert [row.split()[0] for row in rows] == ["mean", "borda"]
    assert f"Saved {tmp_path / 'voters.pdf'}\n" in result.stderr
    assert (tmp_path / "voters.pdf").read_bytes().startswith(b"%PDF")
    rows = list(map(json.loads, run(*options, "--vary", "sigma=1,10.5", "--json").stdout.splitlines()))
    python = vt.compare("low-variance", vary={"sigma": [1, 10.5]}, rules=["borda", "mean"], instances=50)
    assert rows == json.loads(json.dumps(python.rows()))
    noisy = run(*options, "--vary", "count-error=percentage:0.1,percentage:0.9", "--json").stdout.splitlines()
    assert {json.loads(line)["count_error"] for line in noisy} == {"percentage:0.1", "percentage:0.9"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vary", "voters"], "--vary takes a quantity and its levels, such as voters=3,10,30, not 'voters'"),
        (["--vary", "=3"], "--vary takes a quantity and its levels"),
        (["--vary", "voters="], "--vary takes a quantity and its levels, such as voters=3,10,30, not 'voters='"),
        (["--vary", "voters=3", "--vary", "sigma=1"], "--vary takes one quantity at a time"),
        (["--vary", "voters=3", "--voters", 4], "--voters is what --vary varies; leave --voters out"),
        (
            ["--vary", "count-error=percentage:1", "--count-error", "percentage:0.5"],
            "--count-error is what --vary varies",
        ),
        (["--vary", "voters=3", "--dataset", "polls538"], "--vary is for simulated votes; with --dataset leave it out"),
        (["--plot-width", 3], "give the plot with --plot FILE"),
    ],
)
def test_what_cannot_be_varied(options, message):
    result = run("compare", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_compare_draws(tmp_path):
    result = run("compare", "--rules", "borda,mean", "--instances", 20, "--plot", tmp_path / "rules.svg")
    assert f"Saved {tmp_path / 'rules.svg'}" in result.output
    assert (tmp_path / "rules.svg").read_text().startswith("<?xml")
    assert "cannot draw" in run("compare", "--rules", "borda", "--instances", 20, "--plot", "rules.xyz").output


def test_reproduce_prints_tables_that_fit_and_writes_a_report(tmp_path):
    result = run(
        "reproduce", "--voters", "3,10", "--tables", "low-variance", "--instances", 40, "--out", tmp_path / "r"
    )
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "low-variance: regret ± standard error; below, the published regret and z"
    rows = pl.read_csv(tmp_path / "r" / "results.csv").filter(pl.col("rule") == "pairwise").rows(named=True)
    place = next(i for i, line in enumerate(lines) if line.startswith("pairwise "))
    assert lines[place].split() == ["pairwise", *(f"{row['regret']:.4f}±{row['se']:.4f}" for row in rows)]
    beside = " ".join(f"{row['published']:.4f} ({row['z']:+.1f}){'!' * (abs(row['z']) > 3)}" for row in rows)
    assert " ".join(lines[place + 1].split()) == beside
    assert beside.startswith("0.1711 (")  # as printed in the paper
    assert any(line.startswith("plurality+arithmetic-sqrt ") for line in lines)
    assert max(map(len, lines[:-1])) <= 80
    assert "published cells lie within 3 standard errors" in result.output
    text = (tmp_path / "r" / "README.md").read_text()
    assert "`veritally reproduce --tables low-variance --voters 3,10 --instances 40`" in text


def test_progress_in_a_log(monkeypatch, capsys):
    from veritally.cli import progress

    clock = iter([0.0, *(10.0 * step for step in range(1, 30))])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(progress, "_FELT", 2.0)
    with progress.progress_bar("Work") as update:
        for done in (0.4, 0.45, 0.6, 1.0):
            update(done)
    assert capsys.readouterr().err == "Work: 60% done, about 60 s left\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "a.csv", "a.csv"], "votes and truth need two different files"),
        (["simulate", "a.xyz", "b.csv"], "cannot tell the format"),
        (["simulate", "a.csv", "b.csv", "--experience", "given:1"], "use vt.Scenario"),
        (["simulate", "a.csv", "b.csv", "--sigma", "x"], "--sigma takes numbers separated by commas"),
        (["simulate", "no/folder/a.csv", "b.csv", "--instances", "2"], "cannot be written"),
        (["simulate", "a.csv", "no/folder/b.csv", "--instances", "2"], "cannot be written"),
        (["compare", "--votes", "a.csv"], "give both --votes and --truth, or neither"),
        (["compare", "--votes", "a.csv", "--truth", "b.csv", "--voters", "3"], "--voters is for simulated votes"),
        (["compare", "--votes", "a.csv", "--truth", "b.csv", "--instances", "9"], "--instances is for simulated votes"),
        (["compare", "--votes", "a.csv", "--truth", "b.csv"], "there is no such file"),
        (["compare", "--votes", "rankings"], "to set what simulated voters report, use --ballots"),
        (
            ["compare", "--dataset", "polls"],
            "no data set 'polls'; choose one of flights13, llmfao, mqm, polls538",
        ),
        (["compare", "--dataset", "llmfao", "--voters", "3"], "--voters is for simulated votes; with --dataset leave"),
        (["compare", "--dataset", "llmfao", "--ballots", "rank"], "--ballots is for your own vote file"),
        (["compare", "--dataset", "llmfao", "--votes", "a", "--truth", "b"], "--votes is for your own vote file"),
        (["compare", "--placebo", "3"], "placebo and clusters need votes, not a scenario"),
        (["compare", "--scenario", "low-varience"], "did you mean 'low-variance'"),
        (["compare", "--plot", "no/folder/x.png"], "there is no folder no/folder"),
        (["compare", "--rules", ","], "name at least one rule"),
        (["compare", "--prior", "fixed:a:b"], "a fixed truth must be a finite number"),
        (["compare", "--voters", "9" * 20], "too many to simulate"),
        (["compare", "--backend", "jax", "--seed", "3000000000"], "seed must be a whole number, from 0 to 2147483647"),
        (["reproduce", "--tables", ","], "name at least one of the tables"),
        (["reproduce", "--voters", "3.5"], "the number of voters must be a whole number"),
        (["reproduce", "--voters", "x"], "--voters takes numbers separated by commas"),
        (["reproduce", "--rules", "learnt"], "there is no rule 'learnt'"),
    ],
)
def test_errors_are_one_sentence(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert result.output.count("\n") == 1
    assert not [path for path in Path(tmp_path).rglob("*") if path.is_file() and path.suffix in (".csv", ".part")]


def test_a_single_decision_is_valid_json(tmp_path):
    (tmp_path / "v.csv").write_text("voter,alternative,rank\nu,A,1\nu,B,2\n")
    (tmp_path / "t.csv").write_text("alternative,truth\nA,1\nB,0\n")
    result = run("compare", "--votes", tmp_path / "v.csv", "--truth", tmp_path / "t.csv", "--rules", "borda", "--json")
    row = json.loads(result.output, parse_constant=pytest.fail)
    assert (row["regret"], row["se"], row["instances"]) == (0, None, 1)


def test_the_default_rule_is_compared_where_votes_are_few(files, tmp_path):
    votes, truth = files
    few = "".join(line for line in votes.read_text().splitlines(keepends=True) if line.startswith(("decision", "d1,")))
    (tmp_path / "few.csv").write_text(few)
    result = run("compare", "--votes", tmp_path / "few.csv", "--truth", truth)
    assert "posterior" in result.stdout.split("Left out")[0]
    assert "Left out, because they are slower: mle and score. To add one: --rules all,mle." in result.stdout
    assert "One decision cannot tell rules apart" in result.stdout
    assert run("simulate", votes, truth, "--voters", 11, "--instances", 100, "--force").exit_code == 0
    many = run("compare", "--votes", votes, "--truth", truth).stdout
    assert "Left out, because they are slower: posterior, mle and score." in many
    assert "cannot tell" not in many
    named = run("compare", "--votes", tmp_path / "few.csv", "--truth", truth, "--rules", "borda").stdout
    assert "posterior" not in named
