"""What a ballot keeps of the looks behind it."""

from veritally.arrays import normal_scores
from veritally.planning.compositions import BALLOTS
from veritally.votes.labels import require_known


def worth_of_a_look(votes: str, known: int, alternatives: int) -> float:
    """Return what part of a look's information about n alternatives reaches a ballot on k of them.

    This is the limit of many voters whose means are noisy beside the truths, with as many looks at each alternative
    that they know. Let z_1 > … > z_k be the expected values of k ordered standard normals. Near equal truths, the slope
    of the log-probability of a ranking is z/s for each place, and for a favourite z_1/s and −z_1/((k − 1) s) for the
    others, where s is the standard deviation of a mean. The variance of the slopes is the information. Added up over
    ballots on all alternatives alike, it is that of

        n/(n − 1) · Σ z²/k  looks for a ranking,    n/(n − 1) · z_1²/(k − 1)  for a favourite

    in place of each look. Values keep all of it.

    Examples
    --------
    >>> round(worth_of_a_look("rankings", 2, 2), 4)  # 2/π
    0.6366
    """
    require_known(votes, BALLOTS, "kind of votes")
    if votes == "values":
        return 1.0
    if known < 2:  # there is nothing to compare
        return 0.0
    z = normal_scores(known)
    kept = sum(x * x for x in z) / known if votes == "rankings" else max(z) ** 2 / (known - 1)
    return kept * alternatives / (alternatives - 1)
