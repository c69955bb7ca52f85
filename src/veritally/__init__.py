"""Combine the votes of people or sources who saw different amounts of evidence."""

import importlib
from typing import TYPE_CHECKING, Any

from veritally import likelihood
from veritally.decide import decide, evaluate
from veritally.errors import InputError, InputNote, InputWarning, TieError
from veritally.explain import Explanation
from veritally.io.votes import read, to_frame, write
from veritally.outcome import Outcome
from veritally.panel.learned import LearnedPanel
from veritally.panel.panel import Panel
from veritally.registry import register, rule, rules
from veritally.rules.info import RuleInfo
from veritally.rules.protocol import Fit, Rule, Status
from veritally.rules.sums import Encoder, Encoding, SumRule
from veritally.votes.combine import concat, stack
from veritally.votes.profile import Profile

if TYPE_CHECKING:
    from veritally import datasets, inspect_ai, plots
    from veritally.citation import cite
    from veritally.experiments.compare import Comparison, compare
    from veritally.experiments.reproduce import reproduce
    from veritally.experiments.sweep import Sweep
    from veritally.io.answers import read_answers
    from veritally.io.pref_voting import from_pref_voting
    from veritally.io.truth import read_truth, write_truth
    from veritally.learned.train import train
    from veritally.learning import learn_panel
    from veritally.model import Scenario, Trials, scenario, simulate
    from veritally.panel.files import read_panel
    from veritally.planning.compose import compose
    from veritally.planning.compositions import Composition
    from veritally.planning.group_comparison import GroupComparison
    from veritally.planning.plan import Plan, next_looks
    from veritally.report.writing import write_report
    from veritally.streams.run import decide_file

__all__ = [
    "Comparison",
    "Composition",
    "Encoder",
    "Encoding",
    "Explanation",
    "Fit",
    "GroupComparison",
    "InputError",
    "InputNote",
    "InputWarning",
    "LearnedPanel",
    "Outcome",
    "Panel",
    "Plan",
    "Profile",
    "Rule",
    "RuleInfo",
    "Scenario",
    "Status",
    "SumRule",
    "Sweep",
    "TieError",
    "Trials",
    "cite",
    "compare",
    "compose",
    "concat",
    "datasets",
    "decide",
    "decide_file",
    "evaluate",
    "from_pref_voting",
    "inspect_ai",
    "learn_panel",
    "likelihood",
    "next_looks",
    "plots",
    "read",
    "read_answers",
    "read_panel",
    "read_truth",
    "register",
    "reproduce",
    "rule",
    "rules",
    "scenario",
    "simulate",
    "stack",
    "to_frame",
    "train",
    "write",
    "write_report",
    "write_truth",
]

# What deciding does not need is imported when it is first used, so that the start stays light.
_LATER = {
    "Comparison": "experiments.compare",
    "Composition": "planning.compositions",
    "GroupComparison": "planning.group_comparison",
    "Plan": "planning.plan",
    "Scenario": "model",
    "Sweep": "experiments.sweep",
    "Trials": "model",
    "cite": "citation",
    "compare": "experiments.compare",
    "compose": "planning.compose",
    "from_pref_voting": "io.pref_voting",
    "datasets": "datasets",
    "inspect_ai": "inspect_ai",
    "learn_panel": "learning",
    "decide_file": "streams.run",
    "model": "model",
    "next_looks": "planning.plan",
    "plots": "plots",
    "read_answers": "io.answers",
    "read_panel": "panel.files",
    "read_truth": "io.truth",
    "reproduce": "experiments.reproduce",
    "scenario": "model",
    "simulate": "model",
    "train": "learned.train",
    "write_report": "report.writing",
    "write_truth": "io.truth",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'veritally' has no attribute {name!r}")
    module = importlib.import_module(f"veritally.{_LATER[name]}")
    return module if name in ("datasets", "inspect_ai", "model", "plots") else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
