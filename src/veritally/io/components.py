"""Components of variance: what part of the noise of a look belongs to the item that is looked at."""

from typing import Any, NamedTuple

import numpy as np

from veritally.arrays import Array

_MOST_VOTERS = 1000  # whose looks are taken, those with the most: equations are solved for each
_ROUNDING = 1e-10  # of the largest eigenvalue
_LARGEST_SHARE = 0.99


def share_of_items(values: Array, alternative: Array, cell: Array, voter: Array) -> float | None:
    """Estimate ρ, the part of the variance of one look that belongs to the item; None where looks do not tell.

    A look is μ_j + β_i + b_js + e: the truth of the alternative, the leniency of the voter, what the item does to the
    alternative, and the rest. Leniencies are taken out, and ρ = Var b/(Var b + Var e), from 0 to 0.99.

    Parameters
    ----------
    values
        What was seen, ``(look,)``.
    alternative, cell, voter
        Numbers from 0, ``(look,)``: for the alternative of a decision, for an item of it, and for the voter.
    """
    kept = np.ones(len(values), dtype=bool)
    number = np.bincount(voter)
    if len(number) > _MOST_VOTERS:
        frequent = np.zeros(len(number), dtype=bool)
        frequent[np.argsort(-number, kind="stable")[:_MOST_VOTERS]] = True
        kept = frequent[voter]
    alternative, cell, voter = (np.unique(codes[kept], return_inverse=True)[1] for codes in (alternative, cell, voter))
    for voters in (voter, np.zeros_like(voter)):  # where few looks leave leniencies open, there are none
        found = components(values[kept], alternative, cell, voters)
        if found is not None:
            between, within = max(found[0], 0.0), found[1]
            return 0.0 if between == 0 else min(between / (between + within), _LARGEST_SHARE)
    return None


def components(values: Array, alternative: Array, cell: Array, voter: Array) -> tuple[float, float] | None:
    """Return unbiased estimates of Var b and Var e; None where one of them cannot be told.

    Henderson's third method. Let S₁ be the sum of squares that alternatives and voters leave, S₂ the one that items and
    voters leave, f₁ and f₂ their degrees of freedom. Then E S₂ = f₂ Var e, and E S₁ = f₁ Var e + t Var b with
    t = tr ZᵀMZ, where Z marks the item of each look and M takes out alternatives and voters. So leniencies of whatever
    size leave no trace.

    References
    ----------
    C. R. Henderson, Estimation of variance and covariance components. Biometrics 9 (1953), 226–252.
    """
    looks, voters = len(values), _marks(voter)
    items, alternatives = _marks(cell), _marks(alternative)
    left, least = _Rest.of(values, voters, alternatives), _Rest.of(values, voters, items)
    free = looks - items.shape[1] - least.rank
    weight = _weight(items, alternatives, voters, left.inverse)
    if free < 1 or weight <= _ROUNDING * looks:
        return None
    within = least.squares / free
    return (left.squares - (looks - alternatives.shape[1] - left.rank) * within) / weight, within


class _Rest(NamedTuple):
    """What classes of looks and voters leave: the sum of squares, the rank of voters beside classes, and (VᵀMV)⁺."""

    squares: float
    rank: int
    inverse: Array

    @classmethod
    def of(cls, values: Array, voters: Any, classes: Any) -> "_Rest":
        """Take out the means of the classes, and then what voters explain of the rest."""
        number = classes.sum(axis=0)
        rest = values - classes @ ((classes.T @ values) / number)
        met = (classes.T @ voters).tocsr()
        gram = np.diag(voters.sum(axis=0)) - (met.T @ met.multiply(1 / number[:, None]).tocsr()).toarray()
        size, vectors = np.linalg.eigh(gram)
        kept = size > _ROUNDING * len(values)
        inverse = (vectors[:, kept] / size[kept]) @ vectors[:, kept].T
        pull = voters.T @ rest
        return cls(float(rest @ rest - pull @ inverse @ pull), int(kept.sum()), inverse)


def _weight(items: Any, alternatives: Any, voters: Any, inverse: Array) -> float:
    """Return t: of alternatives alone N − Σ_c n_c²/n_j, from which voters take tr (VᵀMV)⁺ AᵀA with A = ZᵀMV.

    The row of A for an item c of an alternative j is how often each voter saw it, less n_c times the part of the looks
    at j that the voter had.
    """
    size, number = items.sum(axis=0), alternatives.sum(axis=0)
    owner = (alternatives.T @ items > 0).astype(float).tocsr()
    squares = owner @ size**2
    met = (items.T @ voters).tocsr()
    part = (alternatives.T @ voters).multiply(1 / number[:, None]).tocsr()
    mixed = (part.T @ (owner @ met.multiply(size[:, None]).tocsr())).toarray()
    product = (met.T @ met).toarray() - mixed - mixed.T + (part.T @ part.multiply(squares[:, None]).tocsr()).toarray()
    return float(size.sum() - np.sum(squares / number) - np.sum(inverse * product))


def _marks(codes: Array) -> Any:
    """Mark the class of each look, ``(look, class)``."""
    from scipy.sparse import csr_array

    looks = np.arange(len(codes))
    return csr_array((np.ones(len(codes)), (looks, codes)), shape=(len(codes), int(codes.max()) + 1))
