"""The voting methods of the package pref_voting as rules; needs the extra ``pref-voting``."""

import difflib
import functools
import importlib
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from veritally.arrays import Array, namespace, through_numpy
from veritally.errors import InputError, quoted
from veritally.rules.protocol import Fit, Rule
from veritally.votes.ballots import Ballots
from veritally.votes.pref_voting import election, missing

PACKAGE = "pref_voting"
_METHODS = f"{PACKAGE}.voting_methods"  # the module that has them all


@dataclass(frozen=True)
class PrefVoting(Rule):
    """A voting method of pref_voting, or one that you wrote with its decorator ``vm``.

    It sees rankings and no counts: what a voter has not seen is unranked, and multiplicities are numbers of voters. The
    method names the winners W of each decision, and scores are the chances of an even draw between them:

        score_j = 1/|W|  for j in W, else 0

    So all winners are kept, tied, and the others are tied behind them: such a rule chooses, but ranks nothing else.

    Parameters
    ----------
    method
        Where the method is: ``pref_voting.copeland``, or the module and name of one of your own.

    Examples
    --------
    >>> PrefVoting("pref_voting.copeland")
    pref_voting.copeland
    """

    method: str

    votes = "rankings"

    @classmethod
    def of(cls, method: Any) -> "PrefVoting":
        """Return a voting method as a rule that other processes find by its place."""
        shared, own = (sys.modules.get(name) for name in (_METHODS, getattr(method, "__module__", "")))
        for module, place in ((shared, PACKAGE), (own, getattr(own, "__name__", ""))):
            for name, found in vars(module).items() if module else ():
                if found is method:
                    return cls(f"{place}.{name}")
        raise InputError(f"{quoted(method)} has no name in its module, by which it could be found; define it there")

    def fit(self, ballots: Ballots) -> Fit:
        """Return the winners of each decision, with equal shares."""
        self.require(ballots)
        arrays = (ballots.votes, ballots.multiplicity, ballots.mask)
        (shares,) = through_numpy(self._shares, (ballots.votes[..., 0, :],), *arrays)
        xp = namespace(shares)
        return Fit.without_search(xp.where(ballots.mask, shares, -xp.inf), xp.zeros_like(shares))

    def _shares(self, votes: Array, multiplicity: Array, mask: Array) -> tuple[Array]:
        """Decide one decision after the other."""
        shares = np.zeros(mask.shape, dtype=votes.dtype)
        for decision in np.ndindex(mask.shape[:-1]):
            known = np.flatnonzero(mask[decision])
            ranks, many = votes[decision][:, known], multiplicity[decision]
            if len(known) and ((ranks > 0).any(axis=-1) & (many > 0)).any():
                winners = known[self._winners(ranks, many, decision)]
                shares[(*decision, winners)] = 1 / len(winners)
        return (shares,)

    def _winners(self, ranks: Array, multiplicity: Array, decision: tuple[int, ...]) -> list[int]:
        """Return the places of the winners of a single decision."""
        place = f"decision {decision[0]}, " if decision else ""
        method = find_method(self.method)
        given = _input(election(ranks, multiplicity, lambda index: f"{place}voter {index[0]}"), method, self.method)
        try:
            winners = method(given)
        except Exception as error:  # whatever a method does
            problem = f"{type(error).__name__}: {error}"
            raise InputError(f"{self.method} cannot decide these votes ({problem})") from error
        if not winners:
            raise InputError(f"{self.method} names no winner; some methods give up where many margins are equal")
        return [int(winner) for winner in winners]

    def __repr__(self) -> str:
        return self.method


def is_voting_method(given: Any) -> bool:
    """Whether an object is a voting method of pref_voting; does not import it."""
    module = sys.modules.get(f"{PACKAGE}.voting_method")
    return module is not None and isinstance(given, module.VotingMethod)


def _input(given: Any, method: Any, name: str) -> Any:
    """Return an election in the form that a method takes; refuse what it does not take."""
    takes = {kind.name for kind in getattr(method, "input_types", None) or ()}
    linear = type(given).__name__ == "Profile"
    if not takes or ("PROFILE" if linear else "PROFILE_WITH_TIES") in takes:
        return given
    if linear:
        return given.to_profile_with_ties()
    if "TRUNCATED_LINEAR_PROFILE" in takes and given.is_truncated_linear:
        return given
    kind = "rankings without ties" if "TRUNCATED_LINEAR_PROFILE" in takes else "rankings of everything without ties"
    raise InputError(f"{name} takes {kind}, and some of these votes have ties or leave something out")


@functools.cache
def find_method(path: str) -> Any:
    """Import the voting method at a place."""
    module, _, name = path.rpartition(".")
    try:
        found = importlib.import_module(_METHODS if module == PACKAGE else module)
        kind = importlib.import_module(f"{PACKAGE}.voting_method").VotingMethod
    except ImportError as error:
        if path.startswith(PACKAGE) and error.name in (None, PACKAGE):
            raise missing() from error
        raise InputError(f"{quoted(path)} cannot be imported ({error})") from error
    method = getattr(found, name, None)
    if isinstance(method, kind):
        return method
    names = [own for own, value in vars(found).items() if isinstance(value, kind)]
    near = difflib.get_close_matches(name, names)
    hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(sorted(names)[:5])} and others"
    raise InputError(f"{module} has no voting method {quoted(name)}; {hint}")
