"""Scores by other libraries, from the form of votes that each takes."""

from collections.abc import Callable
from typing import Any

import choix
import evalica
import numpy as np
import pandas as pd
import trueskillthroughtime as ttt
from crowdkit.aggregation import NoisyBradleyTerry
from pref_voting.margin_based_methods import beat_path as winners_by_beat_path
from pref_voting.profiles import Profile
from pref_voting.profiles_with_ties import ProfileWithTies
from pymare.estimators import DerSimonianLaird, WeightedLeastSquares

from peers.cells import Cell
from peers.votes import Votes

_REGULARISED = 0.01
_OUTCOMES = {1.0: evalica.Winner.X, 0.5: evalica.Winner.Draw, 0.0: evalica.Winner.Y}


def trueskill(votes: Votes) -> list[float]:
    """Play the ballots as games one after the other, each player with noise σ/√c."""
    if votes.judged:
        return _by_judgements(votes)
    skills = [ttt.Gaussian(0.0, votes.tau)] * votes.alternatives
    neighbours = sum(len(order) - 1 for order in votes.orders)
    draws = sum(len(tier) - 1 for tiers in votes.tiers for tier in tiers) / neighbours
    for tiers, noise in zip(votes.tiers, votes.noises, strict=True):
        players = [j for tier in tiers for j in tier]
        results = [-place for place, tier in enumerate(tiers) for _ in tier]
        teams = [[ttt.Player(skills[j], noise[j], 0.0)] for j in players]
        game = ttt.Game(teams, results, p_draw=min(draws, 0.99))
        for j, (skill,) in zip(players, game.posteriors(), strict=True):
            skills[j] = skill
    return [skill.mu for skill in skills]


def _by_judgements(votes: Votes) -> list[float]:
    """Play judgements as games of two, with the library's own noise and prior."""
    _, left, right, score, _ = votes.judgements
    skills = [ttt.Gaussian()] * votes.alternatives
    draws = score.count(0.5) / len(score)
    for j, k, own in zip(left, right, score, strict=True):
        teams = [[ttt.Player(skills[j], gamma=0.0)], [ttt.Player(skills[k], gamma=0.0)]]
        (skills[j],), (skills[k],) = ttt.Game(teams, [own, 1 - own], p_draw=draws).posteriors()
    return [skill.mu for skill in skills]


def trueskill_converged(votes: Votes) -> list[float]:
    """Play the ballots at one time; an alternative has a partner in each, of whom nothing is known but σ/√c."""
    n = votes.alternatives
    games = [[[f"a{j}", f"{i}-{j}"] for j in order] for i, order in enumerate(votes.orders)]
    players = {f"a{j}": ttt.Player(ttt.Gaussian(0.0, votes.tau), 0.0, 0.0) for j in range(n)}
    for i, noise in enumerate(votes.noises):
        players |= {f"{i}-{j}": ttt.Player(ttt.Gaussian(0.0, size), 0.0, 0.0) for j, size in noise.items()}
    results = [list(range(len(order), 0, -1)) for order in votes.orders]
    history = ttt.History(games, results, [1] * len(games), priors=players, gamma=0.0)
    history.convergence(epsilon=1e-3, iterations=10, verbose=False)
    curves = history.learning_curves()
    return [curves[f"a{j}"][-1][1].mu for j in range(n)]


def plackett_luce(votes: Votes) -> list[float]:
    """Fit Plackett–Luce to rankings, Bradley–Terry to judgements."""
    if votes.judged:
        return choix.ilsr_pairwise_dense(votes.wins, alpha=_REGULARISED)
    return choix.ilsr_rankings(votes.alternatives, votes.orders, alpha=_REGULARISED)


def probit(votes: Votes) -> list[float]:
    """Fit Thurstone's model to pairs by expectation propagation."""
    _, left, right, score, _ = votes.judgements
    pairs = [(j, k) if own == 1 else (k, j) for j, k, own in zip(left, right, score, strict=True) if own != 0.5]
    return choix.ep_pairwise(votes.alternatives, pairs, alpha=1.0, model="probit")[0]


def bradley_terry(votes: Votes, weighted: bool = False) -> list[float]:
    """Fit Bradley–Terry to pairs, with a small tie of all with all."""
    _, left, right, score, weight = votes.judgements
    n = votes.alternatives
    first, second = (side.tolist() for side in np.triu_indices(n, 1))
    outcomes = [_OUTCOMES[own] for own in score] + [evalica.Winner.Draw] * len(first)
    weights = (weight if weighted else [1.0] * len(score)) + [_REGULARISED] * len(first)
    found = evalica.bradley_terry(left + first, right + second, outcomes, weights=weights, limit=1000)
    return found.scores.reindex(range(n)).to_list()


def noisy_bradley_terry(votes: Votes) -> list[float]:
    """Fit Bradley–Terry with the skill and bias of each voter to pairs."""
    voter, left, right, score, _ = votes.judgements
    table = pd.DataFrame({"worker": voter, "left": left, "right": right})
    table["label"] = np.where(np.array(score) == 1, left, right)
    found = NoisyBradleyTerry().fit_predict(table[np.array(score) != 0.5])
    return found.reindex(range(votes.alternatives), fill_value=-np.inf).to_list()


def _profile(votes: Votes) -> Profile | ProfileWithTies:
    """Make a profile of rankings; what a voter did not see stands neither above nor below."""
    if votes.strict:
        return Profile(votes.orders)
    ballots = [{j: place for place, tier in enumerate(tiers, 1) for j in tier} for tiers in votes.tiers]
    profile = ProfileWithTies(ballots, candidates=list(range(votes.alternatives)))
    profile.use_strict_preference()
    return profile


def borda(votes: Votes) -> list[float]:
    """Give Borda's points; by margins where ballots are not whole and strict."""
    profile = _profile(votes)
    if isinstance(profile, Profile):
        return list(profile.borda_scores().values())
    return np.sum(profile.margin_matrix, axis=1).tolist()


def plurality(votes: Votes) -> list[float]:
    """Give a point for the favourite, shared where several tie."""
    profile = _profile(votes)
    found = profile.plurality_scores() if isinstance(profile, Profile) else profile.tops_scores(score_type="split")
    return [found[j] for j in range(votes.alternatives)]


def beat_path(votes: Votes) -> list[float]:
    """Give 1 to the winners."""
    winners = winners_by_beat_path(_profile(votes))
    return [float(j in winners) for j in range(votes.alternatives)]


def fixed_effects(cell: Cell) -> np.ndarray:
    """Take the mean weighted by the inverse variances."""
    return _effects(WeightedLeastSquares, cell)


def random_effects(cell: Cell) -> np.ndarray:
    """Take it with variance between voters."""
    return _effects(DerSimonianLaird, cell)


def _effects(estimator: Callable[[], Any], cell: Cell) -> np.ndarray:
    """Estimate each alternative of each decision: a column with a row for each voter."""
    if all(np.all(votes.counts > 0) for votes in cell.each) and len({votes.values.shape for votes in cell.each}) == 1:
        values = np.concatenate([votes.values for votes in cell.each], axis=1)
        variances = np.concatenate([votes.sampling**2 / votes.counts for votes in cell.each], axis=1)
        return _fitted(estimator(), values, variances).reshape(len(cell), -1)
    scores = np.full(cell.truth.shape, -np.inf)
    for row, votes in zip(scores, cell.each, strict=True):
        for j, (values, counts) in enumerate(zip(votes.values.T, votes.counts.T, strict=True)):
            seen = counts > 0
            row[j] = _fitted(estimator(), values[seen, None], votes.sampling**2 / counts[seen, None])[0]
    return scores


def _fitted(estimator: Any, values: np.ndarray, variances: np.ndarray) -> np.ndarray:
    estimator.fit(y=values, X=np.ones((len(values), 1)), v=variances)
    return np.asarray(estimator.params_["fe_params"])[0]
