"""How votes come about: the truth, how much each voter sees of it, and what the voter makes of it."""

from veritally.model.errors import Percentage, Replacement
from veritally.model.experience import ConstantCounts, GivenCounts, Specialists, StratifiedCounts, UniformCounts
from veritally.model.observation import (
    BernoulliArms,
    FunctionNoise,
    LaplaceNoise,
    NormalNoise,
    StudentNoise,
    UniformNoise,
)
from veritally.model.scenario import Scenario, scenario
from veritally.model.simulation import Trials, simulate
from veritally.model.truth import FixedTruth, NormalTruth

__all__ = [
    "BernoulliArms",
    "ConstantCounts",
    "FixedTruth",
    "FunctionNoise",
    "GivenCounts",
    "LaplaceNoise",
    "NormalNoise",
    "NormalTruth",
    "Percentage",
    "Replacement",
    "Scenario",
    "Specialists",
    "StratifiedCounts",
    "StudentNoise",
    "Trials",
    "UniformCounts",
    "UniformNoise",
    "scenario",
    "simulate",
]
