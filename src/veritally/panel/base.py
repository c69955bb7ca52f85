"""What decisions need of a panel, whether a person wrote it or it was learned."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any

from veritally.votes.profile import Profile

LEARNED = "veritally learned panel"  # the format of files with one


class AnyPanel(ABC):
    """What is known of voters besides how much they saw."""

    @property
    @abstractmethod
    def group_of(self) -> dict[Hashable, str]:
        """The group of each voter; voters without a group are left out."""

    @property
    @abstractmethod
    def known(self) -> dict[str, Any]:
        """What a rule that takes panels is given, by parameter."""

    @abstractmethod
    def applied(self, profile: Profile, cap: float | None = None) -> Profile:
        """Return the votes with what the panel says of their voters; ``cap`` is the most that a count counts for."""

    @abstractmethod
    def remarks(self, profile: Profile) -> tuple[str, ...]:
        """Return warnings: what in these votes the panel ignores or cannot estimate."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain objects, ready for JSON."""
