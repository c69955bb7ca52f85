"""Real votes whose truth became known later, to compare rules on."""

from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

from veritally.arrays import Array
from veritally.errors import InputError, quoted
from veritally.io.truth import read_truth
from veritally.io.votes import read
from veritally.votes.ballots import frozen
from veritally.votes.profile import Profile

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Dataset", "load", "names"]


@dataclass(frozen=True)
class Dataset:
    """Many decisions with votes, counts and truth. The files are read when they are first needed.

    Attributes
    ----------
    name
        The name to load it by.
    summary
        What was decided, in a line.
    licence, attribution
        The licence of the data, and whom to credit when you pass them on.
    """

    name: str
    summary: str
    licence: str
    attribution: str

    @cached_property
    def profile(self) -> Profile:
        """The votes of all decisions."""
        return read(self.table("votes"))

    @cached_property
    def truth(self) -> Array:
        """The truth that became known, ``(decision, alternative)``, NaN for padding."""
        return frozen(read_truth(self.table("truth"), self.profile))

    @cached_property
    def clusters(self) -> tuple[str, ...]:
        """The cluster of each decision. Decisions of a cluster may err together."""
        of = dict(self.table("truth").select("decision", "cluster").iter_rows())
        return tuple(of[decision] for decision in self.profile.decision_names)

    @property
    def source(self) -> str:
        """Where the data come from, how they were turned into votes, and their pitfalls."""
        return self._file("SOURCE.md").decode()

    def table(self, name: str) -> "pl.DataFrame":
        """Return a table as shipped: ``votes`` or ``truth``; llmfao also has ``comparisons``, and mqm ``looks``."""
        from veritally.io import parquet

        try:
            return parquet.read(self._file(f"{name}.parquet"), f"{self.name}/{name}")
        except FileNotFoundError:
            raise InputError(f"the data set {self.name} has no table {quoted(name)}; it has votes and truth") from None

    def _file(self, name: str) -> bytes:
        return files("veritally.datasets").joinpath(self.name, name).read_bytes()

    def __repr__(self) -> str:
        return f"Dataset({self.name}: {self.summary})"


_DATASETS = (
    Dataset(
        "flights13",
        "which airline is most punctual to a destination, by weeks of a quarter",
        "CC0 1.0",
        "flights from New York in 2013: US Bureau of Transportation Statistics, by way of nycflights13 (H. Wickham)",
    ),
    Dataset(
        "llmfao",
        "which of 59 language models answers best, by crowd workers who compared pairs of answers",
        "CC BY 4.0",
        "LLMFAO by Dmitry Ustalov, github.com/dustalov/llmfao, with prompts and answers of llmonitor.com; regrouped",
    ),
    Dataset(
        "mqm",
        "which machine translation is best, by professional translators who marked its errors",
        "Apache 2.0",
        "WMT MQM human evaluation by Google, github.com/google/wmt-mqm-human-evaluation; regrouped",
    ),
    Dataset(
        "polls538",
        "who wins an election, by pollsters in its last three weeks",
        "CC BY 4.0",
        "pollster ratings of FiveThirtyEight, github.com/fivethirtyeight/data; regrouped",
    ),
)


def names() -> tuple[str, ...]:
    """Return the names of all data sets.

    >>> names()
    ('flights13', 'llmfao', 'mqm', 'polls538')
    """
    return tuple(dataset.name for dataset in _DATASETS)


def load(name: str) -> Dataset:
    """Return a data set by its name.

    >>> dataset = load("flights13")
    >>> dataset.profile
    Profile(152 decisions, 14 voters, 7 alternatives, values)
    >>> dataset.truth.shape, dataset.clusters[:5], dataset.licence
    ((152, 7), ('ATL', 'ATL', 'ATL', 'ATL', 'AUS'), 'CC0 1.0')
    """
    for dataset in _DATASETS:
        if dataset.name == name:
            return dataset
    raise InputError(f"there is no data set {quoted(name)}; choose one of {', '.join(names())}")
