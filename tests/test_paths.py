"""Names that no file can have, wherever a path is taken."""

import pytest
from click.testing import CliRunner

import veritally as vt
from veritally.checks import usable_path
from veritally.cli import cli
from veritally.io.truth import read_truth, write_truth
from veritally.plots import save

NAMES = {
    "NUL": ("a\0b", "it has a NUL character"),
    "long name": ("x" * 300, "it is too long"),
    "long path": ("x/" * 3000, "it is too long"),
    "no Unicode": ("\ud800", "it is not Unicode text"),
}
PROFILE = vt.Profile(ranks=[[1, 2], [1, 2]])
USES = {
    "read": lambda name: vt.read(f"{name}.csv"),
    "counts": lambda name: vt.read(vt.to_frame(PROFILE, form="wide"), counts=f"{name}.csv"),
    "write": lambda name: vt.write(PROFILE, f"{name}.csv"),
    "write orders": lambda name: vt.write(PROFILE, f"{name}.orders"),
    "write PrefLib": lambda name: vt.write(PROFILE, f"{name}.soc"),
    "read_truth": lambda name: read_truth(f"{name}.csv", PROFILE),
    "write_truth": lambda name: write_truth([1.0, 2.0], PROFILE, f"{name}.csv"),
    "weights": lambda name: vt.decide(PROFILE, rule="learned", model=f"{name}.safetensors"),
    "plot": lambda name: save(vt.decide(PROFILE, rule="borda"), f"{name}.png"),
    "train": lambda name: vt.train(f"{name}.safetensors", batches=1),
    "reproduce": lambda name: vt.reproduce(name, instances=2, rules=["borda"]),
}


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("use", USES)
def test_a_name_that_no_file_can_have_is_refused(use, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, why = NAMES[kind]
    with pytest.raises(vt.InputError, match=f"no file can have this name, because {why}; choose another") as caught:
        USES[use](name)
    assert len(str(caught.value)) < 200
    assert not list(tmp_path.iterdir())


COMMANDS = (
    "decide %.csv",
    "check %.csv",
    "check votes.csv --counts %.csv",
    "decide votes.csv --plot %.png",
    "simulate %.csv truth.csv",
    "simulate votes.csv %.csv",
    "compare --votes %.csv --truth truth.csv",
    "compare --plot %.png",
    "compare --rules learned:model=%.safetensors",
    "reproduce --out %",
    "train %.safetensors",
    "train own.safetensors --plot %.png",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_refuses_it_in_a_sentence(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, command.replace("%", "x" * 300).split())
    assert result.exit_code == 2
    assert "no file can have this name, because it is too long" in result.output
    assert isinstance(result.exception, SystemExit)
    assert not list(tmp_path.iterdir())


def test_ordinary_names_are_left_alone():
    for name in ("votes.csv", "../a b/ü.csv", "x" * 255, "/".join(["folder"] * 500), ""):
        assert str(usable_path(name)) == (name or ".")
