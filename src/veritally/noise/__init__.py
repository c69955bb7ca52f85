"""How votes come about: the truth, how much each voter sees of it, and what the voter makes of it."""

from veritally.noise.errors import Percentage, Replacement
from veritally.noise.experience import ConstantCounts, GivenCounts, Specialists, StratifiedCounts, UniformCounts
from veritally.noise.observation import BernoulliArms, LaplaceNoise, NormalNoise, StudentNoise, UniformNoise
from veritally.noise.prior import FixedTruth, NormalTruth
from veritally.noise.scenario import Scenario, scenario
from veritally.noise.simulation import Trials, simulate

__all__ = [
    "BernoulliArms",
    "ConstantCounts",
    "FixedTruth",
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
