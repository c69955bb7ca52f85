"""The command: what a person types and sees, and what a script gets."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import veritally as vt
from veritally.cli import cli

PANEL = str(Path(__file__).with_name("panel.csv"))
DEMO = str(Path(__file__).parents[2] / "examples" / "clinics.csv")
DECISIONS = "decision,voter,alternative,rank\np,u,A,1\np,u,B,2\nq,u,A,2\nq,u,C,1\nq,v,A,1\nq,v,C,2\n"


def run(*arguments, **options):
    return CliRunner().invoke(cli, list(map(str, arguments)), **options)


@pytest.fixture
def file(tmp_path):
    def write(text, name="votes.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_decide_prints_a_table_a_person_understands():
    result = run("decide", PANEL)
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0] == "By posterior: 8 voters, 6 alternatives"
    assert lines[1].split() == ["σ", "behind", "95%", "interval", "P(best)"]
    assert lines[2].startswith("1  Coral genomics ")
    assert "█" in lines[2]
    assert re.search(r"^6  Battery chemistry +1\.\d\d   0\.\d\d to 1\.\d\d ", result.output, flags=re.MULTILINE)
    assert "Winner: Coral genomics; next is Sea-level records, 0.02 σ behind (95%: -0.3" in result.output
    assert "Coral genomics has a 3" in result.output
    near = "Sea-level records, Protein design and Quantum sensing."
    assert f"chance of being best. Not clearly worse (less than 97.5% sure): {near}" in result.output
    assert "Distances are in units of σ, the noise (standard deviation) of one observation." in result.output
    assert "varies 2 times as much as true quality does (σ/τ; 95%: 0.76 to 4.7)." in result.output
    assert "Decided by Reviewer 4 (+0.1" in result.output
    lead = "the lead of Coral genomics over Sea-level records (0.059 in scores)"
    assert f"Each number is about what {lead} loses without that voter." in result.output
    assert "\x1b" not in result.output


def test_distances_of_values_are_in_their_unit(file):
    path = file("voter,alternative,value\nu,A,120\nu,B,70\nv,A,121\nv,B,70\nw,A,120\nw,B,71\n")
    output = run("decide", path).output
    assert output.splitlines()[1].split() == ["estimate", "behind", "95%", "interval", "P(best)"]
    assert re.search(r"^2  B +7\d\.\d+ +50\.\d+ +4\d\.\d+ to 5\d\.\d+ ", output, flags=re.MULTILINE)
    assert re.search(r"Winner: A; next is B, 50\.\d+ behind \(", output)
    assert (
        "A has more than a 99% chance of being best. Each of the others is clearly worse (with more than 97.5%)."
        in output
    )
    assert "Distances are in units of σ" not in output


def test_a_long_list_of_those_that_are_not_clearly_worse_is_cut(file):
    path = file("voter,alternative,rank\n" + "".join(f"u,{name},{rank}\n" for rank, name in enumerate("ABCDEFGHI", 1)))
    assert (
        "Not clearly worse (less than 97.5% sure): B, C, D, E, F and 3 others."
        in run("decide", path, "--sigma", 9).output
    )


def test_a_learned_rule_says_how_sure_it_is_and_what_it_found_out():
    output = run("decide", PANEL, "--rule", "learned-universal").output
    assert re.search(r"has a \d+% chance of being best. There is a 95% chance that the best is one of", output)
    assert re.search(r"varies [\d.]+ times as much as true quality does \(σ/τ; 95%: [\d.]+ to [\d.]+\)", output)
    assert "estimated" not in run("decide", PANEL, "--rule", "learned-universal", "--sigma", "2", "--tau", "1").output


def test_explain_names_who_and_what_if():
    output = run("decide", PANEL, "--explain").output
    assert "What the lead loses without each" in output
    assert "Contributions to the lead" in run("decide", PANEL, "--rule", "borda", "--explain").output
    assert "Without Reviewer 4: the winner would be Protein design." in output
    assert "With equal counts: the winner would be Protein design." in output
    plain = run("decide", PANEL, "--rule", "pairwise").output
    assert plain.splitlines()[1].startswith("1  Coral genomics ")
    assert "Winner: Coral genomics, ahead of Protein design by 7.453." in plain
    same = run("decide", PANEL, "--explain", "--rule", "borda").output
    assert "With equal counts: the winner would be the same." in same


def test_json_is_what_the_library_says():
    result = run("decide", PANEL, "--json", "--rule", "case4", "--sigma", "2", "--explain")
    outcome = vt.decide(vt.read(PANEL), "pairwise", sigma=2.0)
    assert json.loads(result.output) == json.loads(outcome.to_json(explain=True))
    assert json.loads(result.output)["rule"] == "pairwise"


def many_decisions(number):
    """Decisions between A and B by five voters, of whom two, one or none want B."""
    rows = [
        f"d{d},v{i},{name},{rank}\n"
        for d in range(number)
        for i in range(5)
        for rank, name in enumerate("AB" if i >= d % 3 else "BA", 1)
    ]
    return "decision,voter,alternative,rank\n" + "".join(rows)


@pytest.mark.parametrize(
    ("number", "options", "pooled"),
    [
        (20, (), True),
        (19, (), False),
        (20, ("--scale", "each"), False),
        (20, ("--scale", "pooled"), True),
        (20, ("--scale", "2"), False),
        (20, ("--sigma", "2"), False),
        (20, ("--tau", "2"), False),
        (20, ("--rule", "posterior"), True),
    ],
)
def test_from_twenty_decisions_on_their_noise_is_pooled(file, number, options, pooled):
    path = file(many_decisions(number))
    output = run("decide", path, *options).output.splitlines()
    line = re.compile(
        r"The noise of 20 decisions is pooled: σ/τ is [\d.]+ \([\d.]+ to [\d.e+]+\) in a typical one, and in "
    )
    assert sum(bool(line.match(text)) for text in output) == pooled
    told = [json.loads(line) for line in run("decide", path, *options, "--json").output.splitlines()]
    assert len(told) == number
    assert all(("pooled_noise" in one) == pooled for one in told)
    if pooled:
        assert [noise["decisions"] for noise in told[3]["pooled_noise"]] == [20]
        profile = vt.read(path)
        expected = vt.decide(profile, scale="pooled").unstack()[3]
        assert told[3]["p_best"]["A"] == pytest.approx(expected.p_best[0])


def test_the_noise_can_be_told_as_a_number(file):
    path = file(DECISIONS)
    one, other = (
        [json.loads(line) for line in run("decide", path, *options, "--json").output.splitlines()]
        for options in (("--scale", "2"), ("--sigma", "2", "--tau", "1"))
    )
    assert [x["p_best"] for x in one] == [x["p_best"] for x in other]
    refused = run("decide", path, "--scale", "2", "--sigma", "1")
    assert refused.exit_code == 2
    assert "scale is sigma over tau; give scale, or sigma and tau, not both" in refused.stderr
    assert "--scale" in run("decide", path, "--scale", "lots").stderr


def test_many_decisions_one_a_line(file):
    path = file(DECISIONS)
    output = run("decide", path, "--rule", "borda").output
    assert [line.split()[:2] for line in output.splitlines()[2:]] == [["p", "A"], ["q", "A"]]
    assert " C" in output  # A and C tie in q
    both = run("decide", path, "--rule", "borda", "--choose", 2).output
    assert "best 2" in both
    assert "A, B" in both
    sure = run("decide", path).output.splitlines()
    assert sure[0].endswith("leads in σ, the noise (standard deviation) of one observation")
    assert re.search(r"^p  .* \d+\.\d+ σ ", sure[2])
    assert re.search(r"^q +A = C .* 0 +\d$", sure[3])  # who tie
    assert "decision 'p': cannot choose 3 of 2 alternatives" in run("decide", path, "--choose", 3).stderr
    lines = run("decide", path, "--rule", "borda", "--json").output.splitlines()
    assert [json.loads(line)["decision"] for line in lines] == ["p", "q"]
    explained = run("decide", path, "--rule", "borda", "--explain").output
    assert "Decision q" in explained
    assert "Tie: A and C share the highest score." in explained


def test_ties_are_settled_as_told(file):
    path = file("voter,alternative,rank\nu,A,1\nu,B,2\nv,A,2\nv,B,1\n")
    assert json.loads(run("decide", path, "--json").output)["winner"] is None
    assert "the tie-break (first) says A" in run("decide", path, "--tie-break", "first").output
    drawn = {
        json.loads(run("decide", path, "--json", "--tie-break", "random", "--seed", s).output)["winner"]
        for s in range(9)
    }
    assert drawn == {"A", "B"}
    result = run("decide", path, "--tie-break", "error")
    assert result.exit_code == 2
    assert "Error: A and B tie for first place" in result.stderr


def test_choose_marks_the_best_k():
    assert "Chosen: Coral genomics, Sea-level records, Protein design." in run("decide", PANEL, "--choose", "3").output
    assert re.search(
        r"Last in: Protein design; first out is Quantum sensing, 0\.2\d σ behind\.",
        run("decide", PANEL, "--choose", "3").output,
    )
    plain = run("decide", PANEL, "--choose", "3", "--rule", "pairwise").output
    assert "Last in: Sea-level records, ahead of Quantum sensing, first out, by " in plain
    assert "Tie: Quantum sensing and Protein design" in run("decide", PANEL, "--rule", "veto").output
    explained = run("decide", PANEL, "--choose", "2", "--explain", "--rule", "pairwise").output
    assert "Leaving out any single voter would not change the chosen." in explained


def test_choose_says_how_sure_the_cut_is():
    printed = run("decide", PANEL, "--choose", "4").output
    assert "P(best 4)" in printed
    assert "In for sure (95% or more): Coral genomics, Sea-level records, Protein design, Quantum sensing." in printed
    assert "Borderline" not in printed
    assert "Out (5% or less): Urban heat, Battery chemistry." in printed
    printed = run("decide", PANEL, "--choose", 2).output
    assert "In for sure (95% or more): none." in printed
    assert re.search(r"Borderline, chosen: Coral genomics \(\d+%\), Sea-level records \(\d+%\)\.", printed)
    found = json.loads(run("decide", PANEL, "--choose", "4", "--json").stdout)
    assert sum(found["p_chosen"].values()) == pytest.approx(4)


def test_ballots_that_stand_for_several_voters_are_counted(file):
    path = file("voter,alternative,rank,multiplicity\nu,A,1,12\nu,B,2,12\nv,A,2,7\nv,B,1,7\n")
    printed = run("decide", path).output
    assert "19 voters on 2 ballots" in printed
    assert "Two alternatives say little about the noise" in printed
    assert "2; 2 ballots stand for 19" in " ".join(run("check", path).output.split())


def test_choose_across_a_tie_says_so(file):
    path = file("voter,alternative,rank\nu,A,1\nu,B,2\nu,C,2\n")
    assert "Chosen: A, 1 of B and C (tied)." in run("decide", path, "--choose", 2).output
    assert "Chosen: A, B." in run("decide", path, "--choose", 2, "--tie-break", "first").output


def test_a_tie_with_equal_counts_is_called_one(file):
    path = file("voter,alternative,rank,count\nu,A,1,5\nu,B,2,5\nv,A,,2\nv,B,1,3\nv,C,2,1\n")
    assert "With equal counts: A and B would tie." in run("decide", path, "--rule", "case5-zero", "--explain").output
    assert "Contributions" not in run("decide", path, "--choose", 3, "--explain").output


def test_standard_input_and_values(file):
    text = "voter,alternative,value,count\nu,A,10,5\nu,B,20,5\n"
    assert json.loads(run("decide", "-", "--json", input=text).output)["winner"] == "B"
    assert "Values are negated" in run("decide", "-", "--lower-is-better", input=text).output
    lower = json.loads(run("decide", "-", "--json", "--lower-is-better", input=text).output)
    assert lower["winner"] == "A"
    assert json.loads(run("decide", "-", "--json", "--ballots", "top", input=text).output)["rule"] == "posterior"


def test_majority_says_how_far_and_infinity(file):
    path = file("voter,alternative,rank\nu,A,1\nu,B,2\n")
    result = run("decide", path, "--rule", "majority")
    assert "Maximum-likelihood difference B − A: -inf." in result.output
    assert "no finite maximum: all voters agree" in result.stderr


def test_parameters_of_rules(file):
    scores = json.loads(run("decide", PANEL, "--json", "--rule", "positional", "--points", "1,0,0,0,0,0").output)[
        "scores"
    ]
    assert len(scores) == 6
    path = file("voter,alternative,rank,count\nu,A,1,2\nu,B,2,3\n")
    result = run("decide", path, "--rule", "pairwise", "--json", "--sigma", "A=1", "--sigma", "B=2")
    expected = vt.decide(vt.read(path), "pairwise", sigma={"A": 1, "B": 2}).scores[0]
    assert json.loads(result.output)["scores"]["A"] == pytest.approx(expected)
    drawn = [
        run("decide", PANEL, "--rule", "case5-monte-carlo", "--samples", 7, "--json", "--seed", s).output
        for s in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.csv"], "there is no such file"),
        (["."], "is a folder"),
        (["x" * 300], "no file can have this name, because it is too long"),
        ([PANEL, "--rule", "bord"], "there is no rule 'bord'; did you mean borda or borda+arithmetic or borda+?"),
        ([PANEL, "--rule", "mean"], "the rule mean needs values, but these votes are rankings"),
        ([PANEL, "--choose", "7"], "cannot choose 7 of 6"),
        ([PANEL, "--rule", "pairwise", "--sigma", "wide"], "--sigma takes numbers separated by commas, or NAME=NUMBER"),
        ([PANEL, "--rule", "pairwise", "--sigma", "-1"], "sigma must be a finite number above 0"),
        ([PANEL, "--rule", "positional"], "the rule positional needs points"),
        ([PANEL, "--plot", "picture.xyz"], "cannot draw this kind of file"),
        ([PANEL, "--plot", "missing/picture.png"], "cannot be written"),
        ([PANEL, "--rule", "borda", "--points", "1,2"], "the rule borda has no parameter points; it takes none"),
        ([PANEL, "--rule", "case5"], "did you mean case5-lower-bound or case5-zero or case5-monte-carlo?"),
        ([PANEL, "--lower-is-better"], "lower-is-better is about values"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(arguments, message):
    result = run("decide", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


def test_unknown_options_are_usage_errors():
    assert run("decide", PANEL, "--tie-break", "coin").exit_code == 2


def test_a_voter_without_a_vote_is_a_warning(file):
    result = run("decide", file("voter,alternative,rank\nu,A,1\nu,B,2\nv,A,\n"))
    assert result.exit_code == 0
    assert result.stderr == "Warning: voter 'v': no usable vote, ignored\n"


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_plot_saves_a_picture(tmp_path, suffix):
    path = tmp_path / f"picture{suffix}"
    assert run("decide", PANEL, "--plot", path).exit_code == 0
    assert path.stat().st_size > 5000


def test_plot_takes_dollar_signs_for_what_they_are(tmp_path, file):
    path = tmp_path / "picture.svg"
    result = run("decide", file("voter,alternative,rank\nu,cost $5_^ vs $10,1\nu,B,2\n"), "--plot", path)
    assert result.exit_code == 0
    assert "<!-- cost $5_^ vs $10 -->" in path.read_text()


def test_a_picture_shows_the_scores(file):
    from matplotlib.figure import Figure

    from veritally.plots import draw

    for name in ("borda", "pairwise-normalized"):
        outcome = vt.decide(vt.read(PANEL), name)
        ax = Figure().subplots()
        draw(outcome, ax)
        marks = next(line for line in ax.lines if line.get_label() == "score")
        assert sorted(marks.get_xdata()) == pytest.approx(sorted(outcome.scores))
        ends = {round(bar.get_y(), 6): 0.0 for bar in ax.patches}
        for bar in ax.patches:
            ends[round(bar.get_y(), 6)] += bar.get_width()
        # The bars of a row add up to its score, less the origin where scores are means.
        origin = outcome.scores.mean() if name == "pairwise-normalized" else 0
        assert sorted(ends.values()) == pytest.approx(sorted(outcome.scores - origin))


def test_output_that_cannot_be_written_is_one_sentence():
    command = f"{sys.executable} -m veritally decide {PANEL} --rule borda > /dev/full"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr == "Error: cannot write the output (No space left on device)\n"


def test_a_reader_that_goes_away_leaves_no_traceback():
    command = f"{sys.executable} -m veritally rules | head -1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert result.stdout.startswith("posterior")
    assert "Traceback" not in result.stderr


def test_plot_of_many_decisions_and_voters(tmp_path, file):
    rows = "".join(
        f"p,v{i},{a},{1 + (i + j) % 3}\nq,v{i},{a},{j + 1}\n" for i in range(12) for j, a in enumerate("ABC")
    )
    path = tmp_path / "picture.svg"
    votes = file("decision,voter,alternative,rank\n" + rows)
    assert run("decide", votes, "--rule", "pairwise", "--plot", path).exit_code == 0
    assert path.read_text().count("<!-- 4 others -->") == 2
    assert run("decide", votes, "--sigma", 1, "--tau", 1, "--plot", path).exit_code == 0
    assert path.read_text().count("<!-- P(best) -->") == 2
    many = "".join(f"d{i},u,A,1\nd{i},u,B,2\n" for i in range(30))
    result = run("decide", file("decision,voter,alternative,rank\n" + many), "--rule", "borda", "--plot", path)
    assert result.exit_code == 2
    assert "too many for one picture" in result.stderr


def test_check_says_what_was_understood(file):
    output = run("check", PANEL).output
    assert output.splitlines() == [
        "Decisions:     1",
        "Voters:        8",
        "Alternatives:  6",
        "Votes:         rankings: 5 complete, 3 partial",
        "Counts:        1 to 59, median 4",
        "Odd:           nothing",
    ]


def test_check_writes_large_numbers_as_the_other_commands_do(file):
    rows = "".join(f"q{d},{name},{rank}\n" for d in range(1200) for name, rank in (("A", 1), ("B", 2)))
    output = run("check", file("decision,alternative,rank,voter\n" + rows.replace("\n", ",v\n"))).output
    assert "Decisions:     1,200\n" in output
    assert "Votes:         rankings: 1,200 complete\n" in output


def test_check_says_what_is_odd(file):
    text = "voter,alternative,rank,count\nu,A,1,5\nu,B,1,5\nv,A,1,5\nv,B,2,90000\nw,A,,5\nv,C,3,1\nv,D,,0\n"
    text += "V,A,1,5\nV,B,2,5\n"
    result = run("check", file(text))
    for oddity in (
        "voter 'w': no usable vote, ignored",
        "nobody saw D",
        "only one voter saw C",
        "voter v claims up to 90,000 observations",
        "voter u ranks all that they saw equally",
        "the voters 'v' and 'V' differ only in capitals or spaces",
        "nobody saw D",
    ):
        assert oddity in result.output
    equal = run(
        "check", file("decision,voter,alternative,rank\np,u,A,1\np,u,B,2\nq,u,A,1\nq,u,B,2\nq,v,A,1\nq,v,B,2\n")
    )
    assert "Voters:        1 to 2" in equal.output
    assert "decision 'p': there is a single voter" in equal.output
    assert "Counts:        all 1, so that no voter counts for more than another" in equal.output


def test_groups_in_a_file_of_their_own(file, tmp_path):
    votes = file("voter,alternative,rank,count\nu,A,1,2\nu,B,2,3\nv,A,1,4\nv,B,2,5\nw,A,2,1\nw,B,1,1\n")
    groups = tmp_path / "groups.csv"
    groups.write_text("voter,group\nu,lab\nv,lab\n")
    assert "Groups:        1, of 2 voters; 1 in none" in run("check", votes, "--groups", str(groups)).output
    assert run("decide", votes, "--rule", "borda", "--groups", str(groups)).exit_code == 0
    groups.write_text("voter,group\nx,lab\n")
    for command in ("check", "decide"):
        result = run(command, votes, "--groups", str(groups))
        assert result.exit_code == 2
        assert "groups.csv: none of its voters votes" in result.stderr


def test_items_have_a_line(file):
    looks = "voter,alternative,item,value\nu,A,1,2\nu,B,1,3\nv,A,1,1\nv,B,1,1\nv,B,2,5\n"
    assert "Items:         2, looked at 1.67 times" in run("check", file(looks)).output


def test_confidence_in_place_of_counts(file):
    votes = file("voter,alternative,rank,confidence\nu,A,1,1\nu,B,2,2\nv,A,2,3\nv,B,1,5\n")
    checked = run("check", votes)
    assert "Counts:        1 to 8.4, median 3.65" in checked.output
    assert "citations at ICLR 2018" in checked.output
    given = run("check", votes, "--confidence", "1:1,2:10, 3:20,5:30")
    assert "Counts:        1 to 30, median 15" in given.output
    assert "default" not in given.output
    assert "citations at ICLR 2018" in run("decide", votes, "--rule", "pairwise").stderr
    assert run("decide", votes, "--rule", "pairwise", "--confidence", "1:1,2:10,3:20,5:30").stderr == ""
    for wrong, sentence in {
        "1,2": "--confidence takes LEVEL:COUNT for each level",
        "1:x": "--confidence takes numbers",
        "1:1,1:2": "--confidence has a level twice",
        "1:1": "line 3: the confidence '2' is not among the levels that are given, 1",
        "1:-1": "must be",
    }.items():
        result = run("decide", votes, "--confidence", wrong)
        assert result.exit_code == 2
        assert sentence in result.stderr


def test_decide_and_check_say_what_may_be_meant_otherwise(file):
    ranks = file("voter,alternative,value\nu,A,1\nu,B,2\nu,C,3\nv,A,1\nv,B,3\nv,C,2\n")
    message = "line 2: the values of each voter are 1, 2, 3, … like ranks"
    decided, checked = run("decide", ranks, "--rule", "mean", "--json"), run("check", ranks)
    assert f"Warning: {ranks}, {message}" in decided.stderr
    assert json.loads(decided.stdout)["winner"] != "A"
    assert message in checked.stdout
    assert checked.stderr == ""
    assert "nothing" not in checked.stdout
    decided, checked = (run(*command, ranks, "--lower-is-better") for command in (["decide", "--json"], ["check"]))
    assert json.loads(decided.stdout)["winner"] == "A"
    assert "like ranks" not in decided.stderr + checked.output


def test_rules_lists_every_rule():
    output = run("rules").output
    assert all(info.name in output for info in vt.rules())
    lines = [json.loads(line) for line in run("rules", "--json").output.splitlines()]
    assert [line["name"] for line in lines] == [info.name for info in vt.rules()]
    assert {"votes", "uses_counts", "stochastic", "cost", "reference"} <= set(lines[0])


def test_cite_prints_what_the_library_says():
    assert run("cite", "case4").output == vt.cite("pairwise") + "\n"
    result = run("cite", "brda")
    assert result.exit_code == 2
    assert "did you mean borda" in result.stderr


@pytest.mark.parametrize("command", [[], ["decide"], ["check"], ["rules"], ["cite"]])
def test_help_with_examples(command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert not command or "Examples:" in result.output


def test_the_module_runs_as_a_command():
    result = subprocess.run(
        [sys.executable, "-m", "veritally", "--version"], capture_output=True, text=True, check=True
    )
    assert "veritally" in result.stdout


def test_the_readme_shows_what_the_demo_prints():
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    assert len(readme.splitlines()) <= 110
    shown = readme.split("$ veritally decide examples/clinics.csv --explain\n")[1].split("\n\n")[0].splitlines()
    printed = [line.rstrip() for line in run("decide", DEMO, "--explain").output.splitlines()]
    before, after = " ".join(shown).split("…")
    assert len(shown) > 9
    assert [line.removeprefix("    ") for line in shown if line in before] == printed[: len(shown) - 2]
    assert after.strip() == printed[-1]
    first = "\n".join(f"    {line}" for line in Path(DEMO).read_text().splitlines()[:4])
    assert first in readme


def test_votes_of_other_forms(file):
    wide = file("voter,A,B\nu,2,1\nv,1,2\n")
    counts = file("voter,A,B\nu,90,90\nv,1,1\n", "counts.csv")
    assert "say whether these are ranks" in run("decide", wide, "--rule", "case4").stderr
    result = run("decide", wide, "--rule", "case4", "--ballots", "value", "--counts", counts, "--json")
    assert json.loads(result.output)["winner"] == "A"
    assert "rankings" in run("check", wide, "--ballots", "rank", "--counts", counts).output
    orders = file("2: A > B\nC > B > A\n", "votes.orders")
    assert json.loads(run("decide", orders, "--rule", "borda", "--json", "--unranked", "below").output)["winner"] == "A"
    arena = file("judge,model_a,model_b,winner\nu,A,B,tie\nu,A,C,model_a\n", "arena.csv")
    assert json.loads(run("decide", arena, "--rule", "mean", "--json").output)["scores"]["A"] == 0.75


def test_comparing_on_votes_of_other_forms(file):
    votes = file("voter,A,B,C\nu,1,2,3\nv,1,3,2\n")
    truth = file("alternative,truth\nA,2\nB,1\nC,0\n", "truth.csv")
    given = ("compare", "--votes", votes, "--truth", truth, "--rules", "borda", "--json")
    assert json.loads(run(*given, "--ballots", "rank").output)["regret"] == 0
    assert "unranked is not for tidy tables" in run(*given[:2], PANEL, *given[3:], "--unranked", "below").stderr
    assert "--confidence and --verdicts describe a vote file" in run("compare", "--unranked", "below").stderr
    assert "describe a vote file; give it with --votes" in run("compare", "--verdicts", "yes,no").stderr


def test_check_warns_also_of_what_it_then_refuses(file):
    result = run("check", file("voter,alternative,rank,count\nu,A,1,4\nu,B,2,x\nv,A,1,5\nv,B,2,"))
    assert result.exit_code == 2
    assert "was it cut off?" in result.stderr
    assert "'x' in the column count is not a number" in result.stderr


def test_numbered_names_are_not_taken_for_misspelt_ones(file):
    rows = [f"{voter},Paper {number},{number}" for voter in "uv" for number in (1, 2)] + ["u,Paper 12,3"]
    result = run("check", file("voter,alternative,rank\n" + "\n".join(rows) + "\n"))
    assert "only one voter saw Paper 12" in result.stdout
    assert "another is named" not in result.stdout


def test_counts_beyond_all_measure_are_written_short(file):
    rows = ["u,A,1,1e300", "u,B,2,1e300", *(f"v{i},{a},1,2" for i in range(3) for a in "AB")]
    result = run("check", file("voter,alternative,rank,count\n" + "\n".join(rows) + "\n"))
    assert "claims up to 1e+300 observations" in result.stdout


def test_voters_can_be_left_out():
    without = json.loads(run("decide", PANEL, "--without", "Reviewer 4", "--json").stdout)
    assert without["winner"] == "Protein design"
    assert without["voters"] == 7
    assert "Reviewer 44" in run("decide", PANEL, "--without", "Reviewer 44").stderr


def test_without_takes_a_file_whose_one_decision_has_a_name(file):
    rows = [f"q1,{voter},{x},{rank}" for voter in "abc" for x, rank in (("x", 1), ("y", 2))]
    path = file("\n".join(["decision,voter,alternative,rank", *rows]))
    assert json.loads(run("decide", path, "--without", "b", "--json").stdout)["voters"] == 2


def test_without_leaves_out_groups_and_alternatives(file):
    rows = "".join(
        f'"{judge}, q{k}",{name},{value + k % 2},{judge}\n'
        for judge in ("one", "two", "three")
        for k in range(3)
        for name, value in (("A", 1), ("B", 2), ("C", 3))
    )
    path = file("voter,alternative,value,group\n" + rows)
    assert "6 voters" in run("decide", path, "--without", "two").output
    assert "9 voters" in run("decide", path, "--without", "C").output
    assert "2 alternatives" in run("decide", path, "--without", "C").output
    assert "did you mean 'three'?" in run("decide", path, "--without", "thre").output


@pytest.mark.parametrize(("required", "code"), [("0.1", 0), ("0.9999", 1)])
def test_a_closed_pipe_does_not_shut_the_gate(required, code):
    command = [sys.executable, "-m", "veritally", "decide", DEMO, "--require-sure", required]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.close()
        assert process.wait() == code


@pytest.mark.parametrize(
    ("option", "what"),
    [("--report", "the votes"), ("--plot", "the votes"), ("--counts", "the counts"), ("--groups", "groups")],
)
def test_an_answer_is_not_saved_over_what_it_is_made_of(tmp_path, option, what):
    votes, other = tmp_path / "votes.csv", tmp_path / "other.csv"
    votes.write_text("voter,a,b\nu,1,2\nv,2,1\n")
    other.write_text("voter,a,b\nu,4,4\nv,2,2\n")
    if what == "the votes":
        picture = tmp_path / ("votes.svg" if option == "--plot" else "votes.csv")
        if not picture.exists():
            picture.symlink_to(votes)
        result = run("decide", votes, option, picture, "--force")
    else:
        result = run("decide", votes, option, other, "--report", other, "--force")
    assert result.exit_code == 2
    assert f"is the file of {what}; write the answer to another" in result.stderr
    assert votes.read_text().startswith("voter,a,b\nu,1")
    assert other.read_text().startswith("voter,a,b\nu,4")
