"""Training: what it learns, that it can be interrupted, and what the command says."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner

import veritally as vt
from support import random_profile
from veritally.cli import cli
from veritally.learned.deepsets import Configuration
from veritally.learned.models import model
from veritally.learned.tasks import DeepSetsTask
from veritally.learned.training import fit, measure_loss
from veritally.learned.weights import load, save
from veritally.model.scenario import SCENARIOS

SMALL = Configuration(encoder_layers=1, decoder_layers=1, width=8)
EASY = DeepSetsTask(SMALL, SCENARIOS["low-variance"], (4, 5), (3, 5), 16, 1e-2)
ONE = replace(EASY, voters=(4, 4))  # of one size, so that one program is compiled


def run(*arguments):
    return CliRunner().invoke(cli, list(map(str, arguments)))


@pytest.fixture(scope="module")
def trained():
    return fit(ONE, steps=200, seed=1)


def test_it_learns(trained):
    before, _ = measure_loss(ONE, ONE.initial_parameters(1), batches=16)
    after, error = measure_loss(ONE, trained.parameters, batches=16)
    assert after + 3 * error < before
    assert trained.curve[-1][0] == 200
    assert trained.curve[-1][1] < trained.curve[0][1]
    assert trained.curve[-1][2] > trained.curve[0][2]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_weights(trained):
    again = fit(ONE, steps=200, seed=1)
    for name, x in trained.parameters.items():
        np.testing.assert_array_equal(again.parameters[name], x)
    assert (EASY.initial_parameters(2)["encoder.0.w"] != EASY.initial_parameters(1)["encoder.0.w"]).any()
    assert EASY.size_of_step(2, 0) != EASY.size_of_step(1, 0) or EASY.size_of_step(2, 1) != EASY.size_of_step(1, 1)


def test_an_interrupted_run_ends_where_it_would_have_ended(trained, tmp_path):
    checkpoint = tmp_path / "c.checkpoint"

    def stop(progress):
        if progress.step == 130:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(ONE, steps=200, seed=1, checkpoint=checkpoint, every=0, progress=stop)
    assert checkpoint.exists()
    steps = []
    again = fit(ONE, steps=200, seed=1, checkpoint=checkpoint, progress=lambda now: steps.append(now.step))
    assert min(steps) == 130
    assert again.curve == trained.curve
    for name, x in trained.parameters.items():
        np.testing.assert_array_equal(again.parameters[name], x)


def test_interrupted_at_the_first_report_it_starts_anew(tmp_path):
    checkpoint = tmp_path / "c.checkpoint"

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(ONE, steps=3, seed=1, checkpoint=checkpoint, progress=stop)
    assert [step for step, *_ in fit(ONE, steps=3, seed=1, checkpoint=checkpoint).curve] == [1, 2, 3]


TAMPERED = {
    "a step beyond the end": lambda arrays: {"step": np.asarray(10**9)},
    "a step that the curve does not reach": lambda arrays: {"step": arrays["step"] + 1},
    "a negative step": lambda arrays: {"step": np.asarray(-1)},
    "a step that is no number": lambda arrays: {"step": np.zeros(2, dtype=np.int64)},
    "the end without a curve": lambda arrays: {
        "step": np.asarray(60),
        "curve": np.zeros((0, 3)),
        "pending": np.zeros((60, 2)),
    },
    "a curve of another shape": lambda arrays: {"curve": np.zeros((3, 2))},
    "a curve that is a number": lambda arrays: {"curve": np.asarray(1.0)},
    "parameters of another shape": lambda arrays: {"0000": np.zeros(3, dtype=np.float32)},
    "parameters that are missing": lambda arrays: {"0000": None},
}


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """A checkpoint that was kept at the interruption, however long the last time is ago."""
    checkpoint = tmp_path_factory.mktemp("interrupted") / "c.checkpoint"

    def stop(progress):
        if progress.step == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(ONE, steps=60, seed=1, checkpoint=checkpoint, every=1e9, progress=stop)
    return load(checkpoint)


def test_a_checkpoint_of_another_training_is_refused(interrupted, tmp_path):
    checkpoint = tmp_path / "c.checkpoint"
    save(checkpoint, *interrupted)
    with pytest.raises(vt.InputError, match="belongs to another training"):
        fit(ONE, steps=60, seed=2, checkpoint=checkpoint)
    checkpoint.write_bytes(checkpoint.read_bytes()[:-9])
    with pytest.raises(vt.InputError, match="is not a safetensors file"):
        fit(ONE, steps=60, seed=1, checkpoint=checkpoint)


@pytest.mark.parametrize("how", TAMPERED)
def test_a_tampered_checkpoint_is_refused_in_a_sentence(interrupted, tmp_path, how):
    arrays, about = interrupted
    changed = {**arrays, **TAMPERED[how](arrays)}
    checkpoint = tmp_path / "c.checkpoint"
    save(checkpoint, {name: array for name, array in changed.items() if array is not None}, about)
    with pytest.raises(vt.InputError, match="is damaged or not from a training of 60 steps; remove it to start over"):
        fit(ONE, steps=60, seed=1, checkpoint=checkpoint)


def test_a_loss_that_runs_off_is_said(monkeypatch):
    def infinite(self, size, parameters, key, numbers):
        return jnp.inf * parameters["encoder.0.b"][0], jnp.asarray(0.5)

    monkeypatch.setattr(DeepSetsTask, "loss", infinite)
    with pytest.raises(vt.InputError, match="no longer finite after 1 of 50 steps; lower the learning rate"):
        fit(ONE, steps=50)


def test_mini_batches_need_few_programs():
    task = DeepSetsTask()
    assert len(task.sizes) == 4
    places = {}
    for step in range(2000):
        place, (m, n) = task.size_of_step(0, step)
        places.setdefault(place, []).append(m)
        assert task.sizes[place][1] >= m
        assert task.sizes[place][2] >= n
    numbers = [m for own in places.values() for m in own]
    assert (min(numbers), max(numbers)) == (5, 349)
    for place, own in places.items():  # no voter is padded in vain
        assert place == 0 or min(own) > task.sizes[place - 1][1]


def drawn(task, size, numbers):
    """Truths and ballots of a mini-batch, compiled, which is quicker than to draw them step by step."""
    return jax.jit(partial(task.draw, size))(jax.random.key(0), jnp.asarray(numbers))


def test_specialists_get_a_program_for_each_number_of_alternatives():
    """What a specialist knows depends on how many alternatives there are, so that padding would not do."""
    scenario = SCENARIOS["high-variance"].replace(experience="specialists:2:40:1")
    task = DeepSetsTask(scenario=scenario, alternatives=(3, 5))
    assert {n for _, _, n in task.sizes} == {3, 4, 5}
    place, (_, n) = task.size_of_step(0, 3)
    _, ballots = drawn(task, task.sizes[place], (4, n))
    assert (np.sum(np.asarray(ballots.counts) == 40, axis=-1) == 2).all()


def test_padding_changes_no_loss():
    """A mini-batch in a larger program has the same distribution, and voters beyond it do not count."""
    task = EASY
    truth, ballots = drawn(task, (8, 6, 5), (4, 3))
    assert truth.shape == (8, 5)
    assert np.asarray(ballots.mask).sum(axis=-1).tolist() == [3] * 8
    assert np.asarray(ballots.multiplicity).sum(axis=-1).tolist() == [4] * 8
    assert (np.asarray(ballots.votes)[..., 3:] == 0).all()
    assert np.asarray(ballots.votes)[..., :3].sum(axis=-1).tolist() == [[6.0] * 6] * 8


def test_a_scenario_of_one_size_is_refused():
    with pytest.raises(vt.InputError, match="given counts are 2 × 3"):
        DeepSetsTask(scenario=vt.Scenario(voters=2, alternatives=3, experience=[[1, 2, 3], [4, 5, 6]]))


ARGUMENTS = ("--batches", 120, "--batch-size", 8, "--voters", "5", "--alternatives", "3-4", "--width", 8)
ARGUMENTS += ("--encoder-layers", 1, "--decoder-layers", 1, "--held-out", 4, "--sigma", 3, "--learning-rate", 0.01)


def test_the_command_trains_a_rule_that_decides(tmp_path):
    path = tmp_path / "my.safetensors"
    result = run("train", path, *ARGUMENTS, "--plot", tmp_path / "curve.svg", "--count-error", "percentage:0.2")
    assert result.exit_code == 0, result.output
    assert "Held-out loss" in result.output
    assert "posterior" in result.output
    assert (tmp_path / "curve.svg").read_text().startswith("<?xml")
    card = path.with_name("my-card.md").read_text()
    for part in ("| encoder_layers | 1 |", "percentage 0.2", "| voters | 5 to 5 |", "optax", "| as trained | 4 |"):
        assert part in card.replace("configuration: ", "").replace("scenario: ", "")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["curve.svg", "my-card.md", "my.safetensors"]
    votes = tmp_path / "votes.csv"
    vt.write(random_profile(1, voters=5, alternatives=4).renamed("d", "v", "a"), votes)
    told = json.loads(run("decide", votes, "--rule", "learned", "--model", path, "--json").stdout)
    expected = vt.decide(vt.read(votes), rule="learned", model=str(path))
    assert told["scores"] == pytest.approx(dict(zip(expected.alternatives, expected.scores, strict=True)))
    assert run("decide", votes, "--model", path).output.startswith("By learned")
    assert run("decide", votes, "--rule", "learned").exit_code == 0


@pytest.mark.slow
def test_a_search_keeps_the_best(tmp_path):
    path = tmp_path / "best.safetensors"
    arguments = ("--batches", 30, "--batch-size", 4, "--voters", "3", "--alternatives", "3-3", "--width", 4)
    result = run("train", path, *arguments, "--search", 2, "--held-out", 0, "--seed", 5)
    assert result.exit_code == 0, result.output
    rows = json.loads((tmp_path / "best-search.json").read_text())
    assert len(rows) == 2
    assert rows == sorted(rows, key=lambda row: row["loss"])
    chosen = model(path, "deepsets").task
    first = {key: rows[0][key] for key in chosen["configuration"]}
    assert chosen["configuration"] == first
    assert chosen["learning_rate"] == rows[0]["learning_rate"]
    parts = sorted((tmp_path / "best-search").iterdir())
    stamps = [part.stat().st_mtime_ns for part in parts]
    assert run("train", path, *arguments, "--search", 2, "--held-out", 0, "--seed", 5).exit_code == 0
    assert [part.stat().st_mtime_ns for part in parts] == stamps  # finished ones are not trained again


PROBLEMS = (
    (("x.bin",), "ends in .safetensors"),
    (("x.safetensors", "--voters", "9-3"), "highest number of voters"),
    (("x.safetensors", "--voters", "few"), "is not a range"),
    (("x.safetensors", "--search", 3, "--pool", "mean"), "a search chooses"),
    (("x.safetensors", "--voters", "5-"), "is not a range"),
    (("x.safetensors", "--held-out", 1), "one held-out decision is too few"),
    (("x.safetensors", "--experience", "constant:0"), "nothing to learn"),
    (("x.safetensors", "--seed", "9" * 20), "seed must be"),
    (("/proc/x.safetensors",), "cannot be written"),
    (("x.safetensors", "--noise", "cauchy"), "'cauchy' is unknown"),
    (("x.safetensors", "--learning-rate", -1), "learning rate must be"),
    (("x.safetensors", "--plot", "x.doc"), "cannot draw"),
)


@pytest.mark.parametrize(("arguments", "message"), PROBLEMS, ids=range(len(PROBLEMS)))
def test_problems_are_said_in_a_sentence(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("train", *arguments)
    assert result.exit_code == 2
    assert message in re.sub(r"\s+", " ", result.output)


WRONG = (
    {"voters": (1, 2, 3)},
    {"voters": "5-9"},
    {"alternatives": 1},
    {"seed": 1.5},
    {"held_out": -1},
    {"pool": ["max"]},
    {"votes": "top"},
    {"search": 3, "pool": "mean"},
    {"learning_rate": 1e99},
)


@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_trained_is_refused(wrong, tmp_path):
    with pytest.raises(vt.InputError):
        vt.train(tmp_path / "x.safetensors", **wrong)


@pytest.mark.slow
def test_scenarios_of_one_size_can_be_trained(tmp_path):
    options = ("--batches", 2, "--batch-size", 2, "--voters", 2, "--alternatives", 3, "--held-out", 0, "--width", 2)
    result = run("train", tmp_path / "x.safetensors", *options, "--prior", "fixed:1:2:3", "--sigma", "1,2,3")
    assert result.exit_code == 0, result.output


def test_a_finished_training_is_not_repeated(tmp_path):
    options = {"batches": 3, "batch_size": 2, "voters": 2, "alternatives": 3, "width": 2, "held_out": 0}
    before = vt.train(tmp_path / "x.safetensors", **options)
    notes = []
    again = vt.train(
        tmp_path / "x.safetensors", **options | {"held_out": 2}, progress=lambda _, note: notes.append(note)
    )
    assert not any("loss 1" in note or "compiling" in note for note in notes)
    assert again.card["held_out"]
    with pytest.raises(vt.InputError, match="exists, and is not what this command wrote"):
        vt.train(tmp_path / "x.safetensors", **options | {"batches": 4})
    np.testing.assert_array_equal(before.parameters["encoder.0.w"], again.parameters["encoder.0.w"])


@pytest.mark.slow
def test_progress_has_what_would_be_learned():
    seen = []
    short = fit(EASY, steps=2)
    fit(EASY, steps=4, progress=seen.append)
    assert [now.step for now in seen] == [1, 2, 3, 4]
    for name, last in short.parameters.items():
        np.testing.assert_array_equal(seen[1].parameters[name], last)


def test_a_misspelt_setting_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(vt.InputError, match=r"setting.*leraning_rate.*learning_rate"):
        vt.train(tmp_path / "x.safetensors", leraning_rate=1e-3)


def test_unseen_alternatives_are_no_target():
    scenario = SCENARIOS["high-variance"].replace(experience="uniform:0:1")
    task = DeepSetsTask(SMALL, scenario, (1, 1), (3, 3), 64)
    _, ballots = drawn(task, (64, 1, 3), (1, 3))
    np.testing.assert_array_equal(np.asarray(ballots.mask), np.asarray(ballots.counts)[:, 0] > 0)


def test_without_jax_the_extra_is_named(tmp_path):
    code = "import sys; sys.modules['optax'] = None\nimport veritally as vt; vt.train(sys.argv[1])"
    command = [sys.executable, "-c", code, str(tmp_path / "x.safetensors")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "pip install 'veritally[train]'" in result.stderr


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
def test_a_killed_run_goes_on(tmp_path):
    arguments = [sys.executable, "-m", "veritally", "train"]
    options = list(map(str, ARGUMENTS))
    options[options.index("--held-out") + 1] = "0"
    code = "from veritally.learned.training import fit; fit.__kwdefaults__['every'] = 0.2\n"
    code += "from veritally.cli import main; main()"
    arguments = [sys.executable, "-c", code, "train"]
    options[options.index("--batches") + 1] = "3000"
    killed, checkpoint = tmp_path / "killed.safetensors", tmp_path / "killed.checkpoint"
    process = subprocess.Popen([*arguments, str(killed), *options], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    assert process.poll() is None, process.stderr.read()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not killed.exists()
    result = subprocess.run([*arguments, str(killed), *options], capture_output=True, text=True, check=True)
    assert "Resuming from" in result.stderr
    assert not checkpoint.exists()
    whole = tmp_path / "whole.safetensors"
    subprocess.run([*arguments, str(whole), *options], capture_output=True, check=True)
    for name, x in model(whole, "deepsets").parameters.items():
        np.testing.assert_array_equal(model(killed, "deepsets").parameters[name], x)
