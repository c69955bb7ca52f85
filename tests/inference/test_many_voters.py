"""Of very many votes a part tells the noise: not of few votes in a large table, and never by the order of rows."""

import numpy as np
import pytest

import veritally as vt
from veritally.inference import noise


def reviews(voters=300, papers=30, each=4, seed=3):
    """Values of reviewers who each saw one or two of many papers, NaN elsewhere, with their counts."""
    rng = np.random.default_rng(seed)
    seen = np.zeros((voters, papers), dtype=bool)
    for paper in range(papers):
        seen[rng.choice(voters, each, replace=False), paper] = True
    values = rng.normal(size=papers) + 0.5 * rng.normal(size=(voters, 1)) + 0.8 * rng.normal(size=(voters, papers))
    saw = seen.any(axis=1)
    return np.where(seen, values, np.nan)[saw], rng.integers(1, 5, seen.shape)[saw] * seen[saw]


def rankings(voters=210, alternatives=15, seed=4):
    """Full rankings of many voters."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 20, (voters, alternatives))
    seen = rng.normal(size=alternatives) + 2 * rng.normal(size=counts.shape) / np.sqrt(counts)
    return np.argsort(np.argsort(-seen, axis=1), axis=1) + 1, counts


def test_few_votes_in_a_large_table_are_all_used():
    values, counts = reviews()
    assert len(values) > 100
    assert values.size > 3000
    ballots = vt.Profile(values=values, counts=counts).ballots
    assert noise.some_voters(ballots) is ballots


def test_of_full_rankings_a_part_is_used():
    ranks, counts = rankings()
    some = noise.some_voters(vt.Profile(ranks=ranks, counts=counts).ballots)
    assert 100 <= len(some.counts) < len(ranks)


@pytest.mark.parametrize(("kind", "votes"), [("values", reviews()), ("ranks", rankings())])
def test_the_order_of_rows_and_columns_does_not_matter(kind, votes):
    rng = np.random.default_rng(0)
    votes, counts = votes
    rows, columns = rng.permutation(len(votes)), rng.permutation(votes.shape[1])
    plain = vt.decide(vt.Profile(**{kind: votes}, counts=counts), leniency=0)
    mixed = vt.decide(vt.Profile(**{kind: votes[rows][:, columns]}, counts=counts[rows][:, columns]), leniency=0)
    np.testing.assert_allclose(mixed.scale, plain.scale, rtol=1e-6)
    np.testing.assert_allclose(mixed.scores, plain.scores[columns], atol=1e-6)


def test_favourites_and_pairs_have_places_that_do_not_depend_on_their_order():
    rng = np.random.default_rng(1)
    winner, loser = rng.integers(0, 5, 400), rng.integers(1, 5, 400)
    pairs = np.zeros((400, 5, 5))
    pairs[np.arange(400), winner, (winner + loser) % 5] = 1
    rows = rng.permutation(400)
    for make in (lambda rows: vt.Profile(pairs=pairs[rows]), lambda rows: vt.Profile(top=winner[rows])):
        places = [
            noise._places_by_agreement(make(order).ballots, np.ones(400, dtype=bool))
            for order in (np.arange(400), rows)
        ]
        picked = [
            sorted(winner[order[place % 4 == 0]]) for order, place in zip((np.arange(400), rows), places, strict=True)
        ]
        assert picked[0] == picked[1]


def test_leaving_out_one_of_many_reviewers_changes_the_noise_little():
    values, counts = reviews()
    scales = [vt.decide(vt.Profile(values=values[k:], counts=counts[k:]), leniency=0).scale[0] for k in (0, 1)]
    assert scales[1] == pytest.approx(scales[0], rel=0.05)


def test_intervals_of_the_noise_contain_it_as_often_as_they_say():
    """σ/τ is 1, of 10 papers with 4 reviews each: at least 85% of 100."""
    rng = np.random.default_rng(2)
    truth = rng.normal(size=(100, 1, 10))
    seen = np.tile(np.repeat(np.eye(10), 4, axis=0), (100, 1, 1))
    values = np.where(seen > 0, truth + rng.normal(size=seen.shape), np.nan)
    scale = vt.decide(vt.Profile(values=values, counts=seen), leniency=0).scale
    assert np.mean((scale[:, 1] <= 1) & (scale[:, 2] >= 1)) >= 0.85
