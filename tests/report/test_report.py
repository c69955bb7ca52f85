"""Reports: what a page says is what the outcome says, and it needs nothing but itself."""

import json
import math
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import veritally as vt
from veritally.cli import cli
from veritally.report import sentences

REVIEWS = vt.Profile(
    values=[[7, 5, np.nan, 2], [8, 6, 3, np.nan], [6, np.nan, 4, 1], [7, 6, 3, 2]],
    counts=[[9, 2, 0, 4], [5, 5, 5, 0], [1, 0, 8, 3], [2, 2, 2, 2]],
    alternatives=["Paper <A>", "Paper B", "Paper | C", "Paper *D*"],
    voters=["R1", "R2", "R3", "R4"],
)


class Page(HTMLParser):
    """The texts of a page, and what it asks for from elsewhere."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.open, self.elsewhere, self.rows = [], [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elsewhere += [value for name, value in attrs if name in ("src", "href", "srcset")]
        self.rows += tag == "tr"
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)


@pytest.fixture
def page(tmp_path):
    def write(outcome, **about):
        vt.write_report(outcome, tmp_path / "report.html", **about)
        text = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert "http" not in text
        assert "@import" not in text
        read = Page(text)
        assert not read.open
        assert not read.elsewhere
        return read

    return write


def words(read):
    return re.sub(r"\s+", " ", " ".join(read.texts))


def test_a_page_has_the_answer_and_the_reasons(page):
    outcome = vt.decide(REVIEWS, choose=2)
    read = page(outcome, title="Which <papers>?", source="reviews.csv", checksum="ab12", command="veritally …")
    text = words(read)
    assert text.count("Which <papers>?") == 2
    for heading in (
        "Alternatives",
        "Who decided the last place",
        "What would change it",
        "Voters",
        "Data and settings",
    ):
        assert heading in text
    assert "Chosen: Paper <A>, Paper B." in text
    assert "In for sure (95% or more): Paper <A>" in text
    assert "SHA-256 of the file: ab12" in text
    for line in vt.decide(REVIEWS, choose=2).explain().pivotal:
        assert f"Without {line}" in text
    assert read.rows == 2 + 4 + 4


def test_the_table_of_a_page_has_the_numbers_of_the_frame(page):
    outcome = vt.decide(REVIEWS)
    text = words(page(outcome))
    for row in outcome.to_frame().rows(named=True):
        cells = rf"{re.escape(row['alternative'])} .*% {row['estimate']:.2f} {abs(row['distance']):.2f} .*"
        assert re.search(cells + f"{row['tier']} [0-9.]+ {row['voters']} {row['count']:g}", text)
    assert "Tier 1: Paper <A>" in text


@pytest.mark.parametrize("rule", ["borda", "learned-universal", "mle", "pairwise"])
def test_every_rule_has_a_page(page, rule):
    text = words(page(vt.decide(REVIEWS, rule)))
    assert ("P(best)" in text) == (rule == "learned-universal")
    assert "Part of the lead" in text or "Lead lost without" in text


def test_a_tie_is_called_one(page):
    assert "Tie: 0 and 1 share the highest score" in words(page(vt.decide(vt.Profile(ranks=[[1, 1, 2]]))))


def test_many_decisions_are_a_table_and_a_section_each(page):
    profile = vt.Profile(ranks=[[1, 2, 3], [1, 3, 2]], alternatives=["A", "B", "C"])
    text = words(page(vt.decide(vt.stack([profile] * 103, decisions=[f"d{k}" for k in range(103)]), "borda")))
    assert "103 decisions by borda" in text
    assert "The first 100 of 103 decisions in full" in text
    assert "Decision d99 " in text
    assert "Decision d100 " not in text


def test_a_file_with_one_decision_is_reported_in_full(page):
    profile = vt.stack([vt.Profile(ranks=[[1, 2, 3], [1, 3, 2]], alternatives=["A", "B", "C"])], decisions=["d1"])
    text = words(page(vt.decide(profile, "borda")))
    assert "1 decision" not in text
    assert "Winner: A" in text


def test_a_chance_is_not_rounded_to_a_level_that_it_misses(page):
    profile = vt.read("examples/committee.csv")
    text = words(page(vt.decide(profile, choose=8)))
    assert re.search(r"Borderline, chosen: .*Paper B \(94\.\d+%\)", text)
    assert re.search(r"Paper B 94\.\d+% borderline", text)


def test_parts_of_a_lead_in_sigma_are_said_in_leads_and_others_in_their_unit():
    clinics = vt.decide(vt.read("examples/clinics.csv"))
    explanation = clinics.explain()
    part = explanation.contributions["Clinic 4"] / explanation.lead
    said = " ".join(sentences.decided_by(clinics, explanation))
    assert f"Decided by Clinic 4 ({part:+.0%})" in said
    assert "about what part of the lead of Gamma over Delta is lost without that voter" in said
    assert "in scores" not in said
    borda = vt.decide(clinics.profile, "borda")
    assert "%" not in " ".join(sentences.decided_by(borda, borda.explain()))


def test_one_voter_is_not_called_voters(page):
    outcome = vt.decide(vt.Profile(ranks=[[1, 2]], alternatives=["A", "B"]), "borda")
    assert "1 voter, 2 alternatives" in words(page(outcome))
    assert "1 voter, 2 alternatives" in repr(outcome.profile)
    assert "1 voters" not in words(page(outcome)) + outcome._repr_html_()


def test_an_explanation_is_made_once():
    outcome = vt.decide(REVIEWS)
    assert outcome.explain() is outcome.explain()


def test_the_name_of_an_option_stays_on_one_line(tmp_path):
    vt.write_report(
        vt.decide(REVIEWS, "borda"), tmp_path / "report.html", command="veritally decide a-b.csv --rule borda"
    )
    text = (tmp_path / "report.html").read_text()
    assert '<code>veritally decide a-b.csv <span class="option">--rule</span> borda</code>' in text


def test_many_alternatives_have_names_in_the_table_and_thin_lines_in_the_chart(tmp_path):
    trials = vt.simulate(vt.Scenario(voters=4, alternatives=120, votes="values"), instances=1, seed=1)
    vt.write_report(vt.decide(trials.profile.unstack()[0]), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert text.count('class="row thin"') == 80
    assert text.count('<span class="track">') == 121


def test_panels_and_warnings_are_told(page):
    profile = vt.Profile(ranks=[[1, 2, 3], [1, 3, 2], [2, 1, 3]], voters=["a", "b", "c"])
    outcome = vt.decide(profile, panel=vt.Panel({"lab": ["a", "b"]}, correlation=0.5))
    text = words(page(outcome, notes=["confidence is read as count"]))
    assert "The panel is worth" in text
    assert "Panel's worth without" in text
    assert "confidence is read as count" in text


def test_markdown_keeps_names_from_being_markup(tmp_path):
    vt.write_report(vt.decide(REVIEWS), tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text()
    assert r"Paper \*D\*" in text
    assert r"Paper \| C" in text
    assert r"Paper \<A\>" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows[:6]} == {11}


def test_a_csv_report_is_the_frame(tmp_path):
    outcome = vt.decide(REVIEWS)
    vt.write_report(outcome, tmp_path / "report.csv")
    read = pl.read_csv(tmp_path / "report.csv")
    assert read.columns == outcome.to_frame().columns
    assert read["alternative"].to_list() == outcome.ordered


def test_other_kinds_of_reports_are_refused(tmp_path):
    outcome = vt.decide(REVIEWS)
    with pytest.raises(vt.InputError, match=r"report.pdf: a report is .html, .md or .csv"):
        vt.write_report(outcome, tmp_path / "report.pdf")
    with pytest.raises(vt.InputError, match="there is no folder"):
        vt.write_report(outcome, tmp_path / "none" / "report.html")


# The command


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    vt.write(REVIEWS, "votes.csv")
    return lambda *arguments: CliRunner().invoke(cli, ["decide", "votes.csv", *map(str, arguments)])


def test_the_command_writes_reports_of_all_kinds(run, tmp_path):
    result = run("--report", "a.html", "--report", "a.md", "--report", "a.csv", "--title", "Papers")
    assert result.exit_code == 0, result.output
    assert "<title>Papers</title>" in (tmp_path / "a.html").read_text()
    assert "# Papers" in (tmp_path / "a.md").read_text()
    assert len(pl.read_csv(tmp_path / "a.csv")) == 4
    assert run("--report", "a.html", "--report", "a.md", "--report", "a.csv").exit_code == 0  # its own it replaces
    for name in ("b.html", "b.md", "b.csv"):
        (tmp_path / name).write_text("mine")
        result = run("--report", name)
        assert result.exit_code == 2
        assert "choose another name, or replace it with --force" in result.stderr
        assert run("--report", name, "--force").exit_code == 0


def test_a_report_of_the_command_has_what_reading_remarked_on(run, tmp_path):
    (tmp_path / "votes.csv").write_text("voter,alternative,value,confidence\nu,A,1,2\nu,B,2,3\nv,A,2,5\nv,B,4,1\n")
    assert "confidence" in run("--report", "a.html").stderr
    assert "confidence 1, 2, 3, 5 counts as 1, 2.4, 4.9, 8.4" in (tmp_path / "a.html").read_text()


def test_top_and_title_need_something_to_show(run, tmp_path):
    assert "give --plot FILE" in run("--top", 2).stderr
    assert "give --report FILE or --plot FILE" in run("--title", "T").stderr
    result = run("--plot", "a.svg", "--top", 2, "--title", "The best two")
    assert result.exit_code == 0, result.output
    assert "The best two" in (tmp_path / "a.svg").read_text()


def test_a_gate_is_open_where_the_answer_is_sure(run):
    assert run("--require-sure", 0.5).exit_code == 0
    closed = run("--require-sure", 0.9999, "--choose", 3)
    assert closed.exit_code == 1
    assert "Chosen: " in closed.stdout  # what was found is printed all the same
    assert re.search(r"Not sure enough \(99.99% required\). Chance of being among the best 3: .*%", closed.stderr)
    assert re.search(r"Missing: evidence that separates .+ from .+\.", closed.stderr)


def test_a_gate_needs_a_rule_that_says_how_sure_it_is(run):
    result = run("--require-sure", 0.5, "--rule", "borda")
    assert result.exit_code == 2
    assert "the rule borda does not say how sure it is" in result.stderr
    assert run("--require-sure", 0.01, "--rule", "learned-universal").exit_code == 0
    assert "to be among the best 2" in run("--require-sure", 0.5, "--rule", "learned-universal", "--choose", 2).stderr


def test_a_tie_is_not_sure_enough(run, tmp_path):
    (tmp_path / "votes.csv").write_text("voter,alternative,rank\nu,A,1\nu,B,1\nu,C,2\n")
    result = run("--require-sure", 0.4)
    assert result.exit_code == 1
    assert "A and B tie" in result.stderr


def test_a_gate_of_many_decisions_names_those_that_are_unsure(run, tmp_path):
    sure = "".join(f"a,v{i},A,1\na,v{i},B,2\n" for i in range(40))
    (tmp_path / "votes.csv").write_text(f"decision,voter,alternative,rank\n{sure}b,u,A,1\nb,u,B,2\n")
    result = run("--require-sure", 0.9, "--json")
    assert result.exit_code == 1
    assert len([json.loads(line) for line in result.stdout.splitlines()]) == 2
    assert re.search(r"Not sure enough \(90% required\): 1 of 2 decisions: b \(\d+%\)\.", result.stderr)


def test_a_gate_says_the_error_of_a_chance_that_is_close_to_what_is_required(run, tmp_path):
    shutil.copy(Path(__file__).parents[2] / "examples/clinics.csv", tmp_path / "votes.csv")
    best = json.loads(run("--json").stdout)["p_best"]["Gamma"]
    error = 100 * math.sqrt(best * (1 - best) / 1024)
    closed = run("--require-sure", best + 0.001)
    assert closed.exit_code == 1
    assert f"being best: Gamma ({best:.1%} ± {error:.1f}%, from 1,024 draws)." in closed.stderr
    just = run("--require-sure", best - 0.001)
    assert just.exit_code == 0
    assert f"only just sure enough ({100 * best - 0.1:g}% required): Gamma ({best:.1%} ± {error:.1f}%" in just.stderr
    for level, code in ((best - 0.05, 0), (best + 0.05, 1)):  # here other draws decide nothing
        clear = run("--require-sure", level)
        assert clear.exit_code == code
        assert "±" not in clear.stderr


def test_a_tie_at_the_cut_is_not_sure_enough(run, tmp_path):
    (tmp_path / "votes.csv").write_text("voter,order\nu,A > B = C > D\nv,A > B = C > D\n")
    result = run("--choose", 2, "--require-sure", 0.1)
    assert result.exit_code == 1
    assert "A, B and C tie; choose a tie-break." in result.stderr
    assert run("--choose", 2, "--require-sure", 0.1, "--tie-break", "first").exit_code == 0


@pytest.mark.parametrize("name", ["a.tsv", "a.jsonl", "a.parquet", "a.html"])
def test_its_own_reports_are_replaced(run, name):
    assert run("--report", name).exit_code == 0
    assert run("--report", name).exit_code == 0


def test_what_reading_remarked_on_is_said_though_it_fails(run, tmp_path):
    (tmp_path / "votes.csv").write_text("reviewer,paper,rating\nu,A,7\nu,A,6\n")
    result = run()
    assert result.exit_code == 2
    assert "rating as value" in result.stderr


def test_the_checksum_is_that_of_the_votes(run, tmp_path):
    from hashlib import sha256

    votes = (tmp_path / "votes.csv").read_bytes()
    assert run("--report", "votes.csv", "--report", "a.md", "--force").exit_code == 2  # it would be of another file
    assert (tmp_path / "votes.csv").read_bytes() == votes
    assert run("--report", "a.md").exit_code == 0
    assert sha256(votes).hexdigest() in (tmp_path / "a.md").read_text()


def test_borderline_is_in_order_of_chance_and_leads_are_the_same(page):
    rng = np.random.default_rng(5)
    counts = (rng.random((8, 12)) < 0.5) * 1.0
    values = np.where(counts > 0, rng.normal(size=12) + rng.normal(size=(8, 12)), np.nan)
    outcome = vt.decide(vt.Profile(values=values, counts=counts), choose=3)
    lines = sentences.certainty(outcome)
    for line in lines[1:]:
        chances = [float(share) for share in re.findall(r"\(([\d.]+)%\)", line) if "Out" not in line]
        assert chances == sorted(chances, reverse=True)
        assert 5.0 not in chances
    explanation = outcome.explain()
    lead = re.search(r"\(([\d.]+)\) loses", sentences.decided_by(outcome, explanation)[-1])[1]
    assert f"{lead} behind" in sentences.answer(outcome, explanation)[-1]
