"""Combine the votes of people or sources who saw different amounts of evidence."""

from veritally.combine import concat, stack
from veritally.engine import decide, evaluate
from veritally.errors import InputError, InputWarning, TieError
from veritally.explanation import Explanation
from veritally.io.votes import read, write
from veritally.noise import Scenario, Trials, scenario, simulate
from veritally.outcome import Outcome
from veritally.profile import Profile
from veritally.registry import RuleInfo, rule, rules

__all__ = [
    "Explanation",
    "InputError",
    "InputWarning",
    "Outcome",
    "Profile",
    "RuleInfo",
    "Scenario",
    "TieError",
    "Trials",
    "concat",
    "decide",
    "evaluate",
    "read",
    "rule",
    "rules",
    "scenario",
    "simulate",
    "stack",
    "write",
]
