"""Which of the directions that voters have in common is the truth: the mean of those that fit the answers.

Votes alone do not tell the truth from errors that voters share. Turn these into each other, or let all truths of a role
be higher and voters lean against it: the votes are as probable as before. Only answers tell. Where an answer says no
more than which of two is better, many directions fit a few of them about as well, and their mean is nearer to the truth
than the one that fits best.
"""

import numpy as np

from veritally.arrays import Array
from veritally.panel.evidence import PanelVotes
from veritally.panel.parameters import Layout

_ROUNDS, _DRAWS = 3, 128
_FEWEST = 10  # draws that fit, counted by their weights
_WIDER = 1.5  # times as far as directions are expected to lie from the best one
_STEP = 1e-4  # of a turn, to see what it changes


def turned(votes: PanelVotes, layout: Layout, x: Array, seed: int) -> Array:
    """Return parameters ``x`` turned to the mean of the directions that fit the answers."""
    turns = Turns(layout, x)
    mean = turns.start
    if not len(mean):
        return x
    some = votes.take(np.flatnonzero(votes.answered))
    _, table, near = some.evidence(layout.unpack(x))

    def log_probability(turn: Array) -> float:
        return float(np.sum(some.evidence(layout.unpack(turns.at(turn)), near)[0])) + turns.log_prior(turn)

    scores = layout.scores(table, some.facts.members) @ turns.slopes()
    spread = np.linalg.inv(scores.T @ scores + np.eye(len(mean)))
    random = np.random.default_rng((seed, 23))
    for _ in range(_ROUNDS):  # each draws from what the one before found
        root = np.linalg.cholesky(_WIDER**2 * spread)
        steps = random.normal(size=(_DRAWS // 2, len(mean)))
        steps = np.concat([steps, -steps])
        draws = mean + steps @ root.T
        logs = np.sum(steps**2, axis=-1) / 2 + np.array([log_probability(turn) for turn in draws])
        weights = np.exp(logs - np.max(logs))
        weights = weights / np.sum(weights)
        if 1 / np.sum(weights**2) < _FEWEST:
            return x  # too few draws fit to tell their mean
        mean = weights @ draws
        away = draws - mean
        spread = (away * weights[:, None]).T @ away
    return turns.at(turns.mean(draws, weights))


class Turns:
    """Parameters that make the votes as probable as given ones do.

    A turn is a vector: where the truth points, beside the direction that it has, along each shared error; then by how
    much the truths that are expected of roles differ, in orthogonal contrasts, or from those without a role.
    """

    def __init__(self, layout: Layout, x: Array) -> None:
        from scipy.linalg import helmert

        now = layout.unpack(x)
        self.layout, self.now = layout, now
        self.shared = ~np.any(layout.bound, axis=0)  # not those of copies alone
        mean = np.append(now.mean_slope, now.mean_loadings[self.shared])
        own = np.concat([now.slope[:, None], now.loadings[:, self.shared]], axis=1)
        self.weights = np.concat([own, mean[None]])  # the last voter is the mean of all
        self.leaning = np.concat([now.leaning, now.mean_leaning[None]]) + self.weights[:, :1] * now.base
        contrasts = helmert(layout.roles) if layout.whole and layout.roles else np.eye(layout.roles)
        self.contrasts = contrasts if layout.base else np.zeros((0, layout.roles))
        self.start = np.concat([np.zeros(len(mean) - 1), self.contrasts @ now.base])

    def at(self, turn: Array) -> Array:
        """Return the parameters after a turn."""
        direction, base = self._parts(turn)
        weights = self.weights @ _reflection(direction)
        leaning = self.leaning - weights[:, :1] * base
        loadings, mean_loadings = self.now.loadings.copy(), self.now.mean_loadings.copy()
        loadings[:, self.shared], mean_loadings[self.shared] = weights[:-1, 1:], weights[-1, 1:]
        return self.layout.pack(
            self.now._replace(
                slope=weights[:-1, 0],
                leaning=leaning[:-1],
                loadings=loadings,
                mean_slope=weights[-1, 0],
                mean_loadings=mean_loadings,
                mean_leaning=leaning[-1],
                base=base,
            )
        )

    def slopes(self) -> Array:
        """Return how parameters change with a turn from the start on, ``(parameter, number)``."""
        ends = [(self.at(self.start + step), self.at(self.start - step)) for step in _STEP * np.eye(len(self.start))]
        return np.stack([(up - down) / 2 / _STEP for up, down in ends], axis=1)

    def log_prior(self, turn: Array) -> float:
        """Return how probable a turn is before any answer, up to a constant: all directions alike."""
        direction, base = self._parts(turn)
        return float(len(direction) * np.log(direction[0]) - np.sum(base**2) / 2)

    def mean(self, turns: Array, weights: Array) -> Array:
        """Return the mean of turns, ``(draw, number)``."""
        parts = [self._parts(turn) for turn in turns]
        direction = weights @ np.stack([own for own, _ in parts])
        rest = turns[:, len(direction) - 1 :]
        return np.concat([direction[1:] / direction[0], weights @ rest])

    def _parts(self, turn: Array) -> tuple[Array, Array]:
        """Return the direction of the truth, of length 1, and where truths are expected by role."""
        split = self.weights.shape[1] - 1
        direction = np.append(1.0, turn[:split])
        return direction / np.linalg.norm(direction), turn[split:] @ self.contrasts


def _reflection(direction: Array) -> Array:
    """Return the reflection that exchanges a direction of length 1 and the first axis."""
    across = -direction.copy()
    across[0] += 1
    length = float(across @ across)
    eye = np.eye(len(direction))
    return eye - 2 * np.outer(across, across) / length if length > 1e-20 else eye
