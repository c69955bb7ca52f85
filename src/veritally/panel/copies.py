"""Voters who vote nearly alike, or nearly the opposite, in many decisions: more than the others explain."""

import numpy as np

from veritally.arrays import Array
from veritally.votes.oddities.table import BallotTable, orders
from veritally.votes.profile import Profile

_ALIKE = 0.8  # correlation of who is put above whom
_BEYOND = 0.4  # by which its Fisher transform exceeds all others of the same voters
_ALL = 0.95  # correlation, where all voters are alike
_FEWEST = 20  # pairs of alternatives that both ordered
_MOST = 20_000_000  # voters × pairs that are looked at


def copy_sets(profile: Profile, voters: tuple[str, ...]) -> list[dict[int, int]]:
    """Return sets of copies: the place of each among voters, with 1, or −1 for one who votes the opposite."""
    table = BallotTable.of(profile)
    pairs = table.ranks.shape[-1] * (table.ranks.shape[-1] - 1) // 2
    most = max(1, _MOST // max(1, len(voters) * pairs))
    table = table.part(np.arange(min(len(table.ranks), most)))
    place = {name: i for i, name in enumerate(voters)}
    at = np.array([place[str(name)] for name in table.names] + [-1])
    signs = np.zeros((len(voters) + 1, len(table.ranks), pairs))
    signs[at[table.voters], np.arange(len(table.ranks))[:, None]] = orders(table.ranks)[0]
    correlation = _correlations(signs[:-1].reshape(len(voters), -1))
    near = np.abs(correlation) >= _ALIKE
    found = []
    for group in _connected(near):
        inside = np.isin(np.arange(len(voters)), group)
        within = np.abs(correlation[np.ix_(inside, inside)])[~np.eye(len(group), dtype=bool)]
        outside = np.abs(correlation[np.ix_(inside, ~inside)])
        if not outside.size and np.min(within) < _ALL:
            continue
        outside = outside if outside.size else np.zeros(1)
        apart = np.arctanh(np.min(within).clip(max=1 - 1e-9)) - np.arctanh(np.max(outside).clip(max=1 - 1e-9))
        if apart > _BEYOND:
            found.append({int(i): 1 if correlation[group[0], i] > 0 or i == group[0] else -1 for i in group})
    return found


def _correlations(signs: Array) -> Array:
    """Return how orders of pairs correlate between voters, ``(voter, voter)``; 0 where too few are in common."""
    given = (signs != 0).astype(float)
    number = given @ given.T
    some = np.maximum(number, 1)
    mean = signs @ given.T / some  # of a voter, where the other voted too
    together = signs @ signs.T / some - mean * mean.T
    variance = np.maximum(1 - mean**2, 0)
    root = np.sqrt(variance * variance.T)
    known = (number >= _FEWEST) & (root > 0) & ~np.eye(len(signs), dtype=bool)
    return np.where(known, together / np.where(known, root, 1), 0.0).clip(-1, 1)


def _connected(near: Array) -> list[Array]:
    """Return the sets of two or more voters who are near each other, in one or more steps."""
    from scipy.sparse.csgraph import connected_components

    number, label = connected_components(near, directed=False)
    groups = [np.flatnonzero(label == k) for k in range(number)]
    return [group for group in groups if len(group) > 1]
