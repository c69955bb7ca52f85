"""How to compose a group: who should spend a budget of looks."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from itertools import chain, product
from typing import Any

import numpy as np

from veritally.arrays import Array
from veritally.checks import positive, real, whole
from veritally.errors import InputError, InputNote, InputWarning
from veritally.planning.budget import Budget
from veritally.planning.compositions import (
    BALLOTS,
    MOST_NEEDED,
    Composition,
    fewer_families,
    lattice,
    usual_knowledge,
    usual_numbers,
)
from veritally.planning.dealing import BLOCK, Circumstances, Dealing, Group
from veritally.planning.group_comparison import GroupComparison, best_of, clearly_worse, is_reference
from veritally.votes.labels import first_few, require_known
from veritally.work import check_executor, in_order

_SHARES = (0.1, 0.35, 1.0)  # of the decisions, after which groups that are clearly worse are left
_MOST_USUAL = 1000  # voters of a usual group that is simulated
_TOGETHER = 16  # pieces of work that are sent elsewhere at once
_ROUNDING = 1e-9


def compose(
    alternatives: int = 10,
    sigma: float = 10,
    looks: int | None = None,
    *,
    budget: float | None = None,
    voter_cost: float = 0,
    look_cost: float = 1,
    most_looks: int | None = None,
    votes: Sequence[str] = BALLOTS,
    voters: Sequence[int] | None = None,
    known: Sequence[int] | None = None,
    families: Sequence[int | None] = (None,),
    omega: float = 0,
    tau: float = 1,
    instances: int = 1000,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Callable[[float], None] = lambda share: None,
    finished: Callable[[GroupComparison], None] = lambda result: None,
) -> GroupComparison:
    """Find out which group of voters chooses best with a budget of looks.

    Many compositions of the group are simulated, all on the same truths and looks, and each decides by ``posterior``
    with σ, τ and ω known. Those that are clearly worse than the best with the same kind of votes are left after some
    decisions.

    Parameters
    ----------
    alternatives
        How many there are.
    sigma
        The standard deviation of one look.
    looks
        How many looks there are to share out, if voters are free. Default: 1000.
    budget, voter_cost, look_cost
        Instead of ``looks``: what may be spent, and what each voter and each look cost.
    most_looks
        The most looks that one voter can make; None for no limit.
    votes
        What voters may report: some of ``values``, ``rankings`` and ``favourites``.
    voters
        Numbers of voters to try. Default: 1, 2, 5, 10 and so on, up to 200, or up to 1,000 where fewer cannot make all
        looks.
    known
        Numbers of alternatives that specialists may know. Default: 1, 2, 3 and half of them.
    families
        Numbers of families that voters may come from; None for a family of their own each.
    omega
        The standard deviation of the error that a family has about each alternative, however much it sees.
    tau
        The standard deviation of the truths.
    instances
        How many decisions to simulate.
    seed
        The same seed gives the same result.
    executor
        Where to work, such as a ``concurrent.futures.ProcessPoolExecutor``. It does not change the result.
    progress
        Called with the share of the work that is done.
    finished
        Called with what is known after each hundred decisions.

    Examples
    --------
    >>> found = compose(3, 1, looks=30, votes=["rankings"], voters=[1, 5], known=[2], instances=100)
    >>> print(found.best.composition)
    1 generalist, rankings
    """
    now = Circumstances(
        whole(alternatives, "the number of alternatives", least=2),
        positive(sigma, "sigma"),
        positive(tau, "tau"),
        real(omega, "omega", least=0, most=1e100),
    )
    purse = Budget.checked(looks, budget, voter_cost, look_cost, most_looks, now.alternatives)
    instances, seed = whole(instances, "instances", least=2), whole(seed, "seed")
    kinds = _checked_votes(votes)
    homes = _checked_families(families, now.omega)
    knowledge = usual_knowledge(now.alternatives) if known is None else _checked_known(known, now.alternatives)
    numbers = usual_numbers(_most_voters(purse), purse.needed) if voters is None else _checked_voters(voters)
    wanted = list(lattice(now.alternatives, kinds, numbers, knowledge, homes))
    tried = _affordable(wanted, now, purse)
    if not tried:
        raise _too_few_looks(wanted, now, purse)
    if voters is not None:
        asked = [one for one in wanted if one.known is None or (known and one.voters * one.known >= now.alternatives)]
        _warn_of_left_out(numbers, asked, tried)
    _warn_of_unmade(tried, purse)
    usual = _usual_groups(now, purse, kinds, homes)
    if voters is not None:  # these are compared with, but nobody asked whether they are best
        usual = {one: replace(group, asked=one in tried) for one, group in usual.items()}
    groups = {**tried, **usual}
    dealing = Dealing(now, tuple(groups.values()), seed)
    return _narrow(dealing, purse, instances, check_executor(executor), progress, finished)


def _too_few_looks(wanted: Sequence[Composition], now: Circumstances, purse: Budget) -> InputError:
    """Say with how many looks the smallest of these groups could be made, or that voters cannot make so many."""
    fewest, n, most = min(one.voters for one in wanted), now.alternatives, purse.most_looks
    what = "voter" if fewest == 1 else "voters"
    problem = f"{fewest:,} {what} cannot share out {max(purse.looks(fewest), 0):,} looks at {n} alternatives"
    smallest = [one for one in wanted if one.voters == fewest]
    for each in range(1, fewest + 1):  # looks at each alternative; of generalists, as many as there are voters do
        for one in smallest:
            counts = one.counts(n, n * each)
            if counts is not None and (most is None or counts.sum(axis=1).max() <= most):
                return InputError(f"{problem}; with {n * each:,} looks they could")
    return InputError(f"{problem} if none makes more than {most:,}; let them make more, or give more voters")


def _warn_of_left_out(numbers: Sequence[int], asked: Sequence[Composition], tried: Iterable[Composition]) -> None:
    """Name numbers of voters, and groups that were asked for, that cannot be made."""
    made = {one.who for one in tried}
    gone = sorted(set(numbers) - {one.voters for one in tried})
    if gone:
        some = first_few(gone, 5, lambda number: f"{number:,}")
        warnings.warn(f"{some} voters cannot share out these looks, and are left out", InputWarning, stacklevel=3)
    left = list(dict.fromkeys(one.who for one in asked if one.voters not in gone and one.who not in made))
    if left:
        text = f"these cannot share out the looks, and are left out: {first_few(left, 5)}"
        warnings.warn(text, InputWarning, stacklevel=3)


def _warn_of_unmade(tried: Iterable[Composition], purse: Budget) -> None:
    """Say so where no group makes all looks."""
    most = max(one.voters for one in tried)
    if most < purse.needed:
        looks = purse.looks(most)
        text = f"{most:,} voters make {looks:,} looks; {purse.needed:,} could make all that there are"
        warnings.warn(text, InputNote, stacklevel=3)


def _checked_votes(given: Any) -> list[str]:
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        require_known(name, BALLOTS, "kind of votes")
    if not names:
        raise InputError(f"votes need at least one of {', '.join(BALLOTS)}")
    return list(dict.fromkeys(names))


def _checked_voters(given: Sequence[Any]) -> list[int]:
    return sorted({whole(m, "a number of voters", least=1) for m in given})


def _checked_known(given: Sequence[Any], alternatives: int) -> list[int]:
    what = "how many alternatives a specialist knows"
    return sorted({whole(k, what, least=1, most=alternatives - 1) for k in given})


def _checked_families(given: Sequence[Any], omega: float) -> list[int | None]:
    families = [None if one is None else whole(one, "a number of families", least=1) for one in given]
    if any(one is not None for one in families) and not omega:
        raise InputError("families share an error; give its standard deviation as omega")
    return list(dict.fromkeys(families)) or [None]


def _most_voters(purse: Budget) -> int:
    """Return how many voters can have a look each, up to a number that is never tried unasked."""
    return max((m for m in range(1, MOST_NEEDED + 1) if purse.looks(m) >= m), default=1)


def _affordable(compositions: Iterable[Composition], now: Circumstances, purse: Budget) -> dict[Composition, Group]:
    """Return groups that can be afforded."""
    found = {}
    for one in compositions:
        looks = purse.looks(one.voters)
        counts = one.counts(now.alternatives, looks) if looks >= one.voters else None
        if counts is not None and (purse.most_looks is None or counts.sum(axis=1).max() <= purse.most_looks):
            found[one] = Group(one, counts)
    return found


def _usual_groups(
    now: Circumstances, purse: Budget, kinds: Iterable[str], families: Iterable[int | None]
) -> dict[Composition, Group]:
    """Return one voter who sees everything, and as many as can see everything once."""
    n = now.alternatives
    many = math.floor(purse.amount / (purse.voter_cost + n * purse.look_cost) + _ROUNDING)
    once = many if n <= (purse.most_looks or n) else 0
    if once > _MOST_USUAL:
        text = f"{once:,} voters could see everything once; so many are not simulated, and have no price"
        warnings.warn(text, InputNote, stacklevel=3)
    found: dict[Composition, Group] = {}
    for kind, few in product(kinds, families):
        found |= _affordable([Composition(1, kind)], now, purse)
        if 1 <= once <= _MOST_USUAL:
            group = Group(Composition(once, kind, families=fewer_families(few, once)), np.ones((once, n), dtype=int))
            found[group.composition] = group
    return found


def _narrow(
    dealing: Dealing,
    purse: Budget,
    instances: int,
    executor: Executor | None,
    progress: Callable[[float], None],
    finished: Callable[[GroupComparison], None],
) -> GroupComparison:
    """Simulate some decisions by all groups, then more by those that may be the best with their kind of votes."""
    groups = dealing.groups
    regrets: list[Array] = [np.zeros(0) for _ in groups]
    alive, start = list(range(len(groups))), 0
    for stage, share in enumerate(_SHARES):
        end = max(1, math.ceil(share * instances / BLOCK))
        work = [(i, block) for block in range(start, end) for i in alive]
        for done, ((i, _), own) in enumerate(zip(work, _regrets(dealing, work, executor), strict=True), 1):
            regrets[i] = np.concat([regrets[i], own])[:instances]
            progress((stage + done / len(work)) / len(_SHARES))
            if i == alive[-1]:  # all have decided a block
                found = GroupComparison(dealing.circumstances, purse, groups, tuple(regrets))
                finished(found)
        best = {
            votes: regrets[best_of(groups, regrets, votes)] for votes in {group.composition.votes for group in groups}
        }
        alive = [
            i
            for i in alive
            if is_reference(groups[i]) or not clearly_worse(regrets[i], best[groups[i].composition.votes])
        ]
        start = end
    return found


def _regrets(dealing: Dealing, work: Sequence[tuple[int, int]], executor: Executor | None) -> Iterator[Array]:
    """Return the regrets of each group and block, in the order of the work."""
    size = 1 if executor is None else _TOGETHER
    pieces = [work[start : start + size] for start in range(0, len(work), size)]
    return chain.from_iterable(in_order(partial(_regrets_of, dealing), pieces, executor=executor))


def _regrets_of(dealing: Dealing, work: Sequence[tuple[int, int]]) -> list[Array]:
    return [dealing.regrets(number, block) for number, block in work]
