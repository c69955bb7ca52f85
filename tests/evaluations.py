"""Evaluations with the real inspect_ai, whose logs its tests read; in a process of their own, since they warn.

    python tests/evaluations.py FOLDER

The evaluated model and the graders are mock models. The samples are q0, q1, …, and graders say what VERDICTS say.
"""

import json
import random
import re
import sys
from pathlib import Path

from inspect_ai import Epochs, Task, eval  # noqa: A004
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, model_graded_qa, multi_scorer, scorer

import veritally as vt
from veritally.inspect_ai import combined, effective_graders, read_log, sureness

VERDICTS = {"amber": "CCCI", "birch": "CCIC", "cedar": "CIII"}
METRICS = [accuracy(), effective_graders(), sureness()]
PANEL = vt.Panel(groups={"one family": ["amber", "birch"]}, correlation=0.8)


def mock(answer):
    """Return a model that answers by the last message; it has its usage, so that nobody counts tokens."""

    def output(messages, *_):
        found = ModelOutput.from_content("mockllm", answer(messages[-1].text))
        found.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return found

    return get_model("mockllm/model", memoize=False, custom_outputs=output)


def place(text):
    return int(re.search(r"sample (\d+)", text)[1])


def grader(verdicts):
    return mock(lambda text: f"Because of it. GRADE: {verdicts[place(text)]}")


@scorer(metrics=METRICS)
def silent(how):
    async def score(state, target):
        return None if how == "none" else Score(value=float("nan"))

    return score


@scorer(metrics=METRICS)
def values(*own):
    async def score(state, target):
        return Score(value=own[place(state.input_text)])

    return score


def tasks(folder):
    """Return the scorers of each evaluation, with further arguments of its task."""
    models = list(map(grader, VERDICTS.values()))
    qa = [model_graded_qa(model=own) for own in models]
    names = list(VERDICTS)
    PANEL.write(folder / "panel.json")
    return {
        "alone": ([model_graded_qa(model=models, reducer=combined(graders=names))], {}),
        "unnamed": ([multi_scorer(qa, combined())], {}),
        "by name": ([multi_scorer(qa, "veritally/combined")], {}),
        "panel": ([multi_scorer(qa, combined(folder / "panel.json", graders=names))], {}),
        "known noise": ([multi_scorer(qa, combined(sigma=0.5, tau=1.0))], {}),
        "epochs": ([multi_scorer(qa, combined(graders=names))], {"epochs": Epochs(2, "mean")}),
        "one is silent": ([multi_scorer([*qa, silent("nan")], combined(graders=[*names, "dune"]))], {}),
        "one is missing": ([multi_scorer([*qa, silent("none")], combined(graders=[*names, "dune"]))], {}),
        "all are silent": ([multi_scorer([silent("nan"), silent("nan")], combined())], {}),
        "two tie": ([multi_scorer(qa[::2], combined())], {}),
        "numbers": ([multi_scorer([values(1, True, 0.5, 0), values(1.0, False, 0.5, "I")], combined())], {}),
        "classes": ([multi_scorer([values(1, 2, 3, 3), values(1, 2, 3, 1)], combined(verdicts=[1, 2, 3]))], {}),
        "ratings": ([multi_scorer([values(7, 8, 9, 6), values(7, 8, 9, 5)], combined())], {}),
        "several scorers": (qa, {}),
        "majority": ([model_graded_qa(model=models)], {}),
        "collect": ([multi_scorer(qa, "collect")], {}),
    }


def run(folder, scorers, samples, **others):
    """Evaluate, and return where the log is."""
    task = Task(dataset=samples, scorer=scorers, metrics=METRICS, **others)
    (log,) = eval(task, model=mock(lambda _: "yes"), display="none", log_dir=str(folder))
    return log.location


def learned(folder):
    """Learn a panel from the log of an evaluation and what is known of its samples, and use it in another."""
    rng = random.Random(5)
    truth = [rng.random() < 0.5 for _ in range(120)]
    amber = [own != (rng.random() < 0.1) for own in truth]
    # Birch is a copy of Amber, Cedar errs by itself.
    said = {"amber": amber, "birch": amber, "cedar": [own != (rng.random() < 0.2) for own in truth]}
    models = [grader(["C" if own else "I" for own in verdicts]) for verdicts in said.values()]
    samples = [
        Sample(input=f"sample {k}", target="yes", id=f"q{k}", metadata={"label": "C" if own else "I"})
        for k, own in enumerate(truth)
    ]
    names = list(said)
    first = run(folder, model_graded_qa(model=models, reducer=combined(graders=names)), samples)
    answers = {sample.id: sample.metadata["label"] for sample in samples}
    panel = vt.learn_panel(read_log(first), answers, roles="alternatives")
    panel.write(folder / "learned.json")
    reducer = combined(str(folder / "learned.json"), graders=names)
    return {"first": first, "second": run(folder, model_graded_qa(model=models, reducer=reducer), samples)}


def main(folder):
    samples = [Sample(input=f"sample {k}", target="yes", id=f"q{k}") for k in range(4)]
    cases = tasks(folder).items()
    logs = {name: run(folder, scorers, samples, **others) for name, (scorers, others) in cases}
    (folder / "logs.json").write_text(json.dumps(logs | learned(folder)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
