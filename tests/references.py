"""The rules written again as slow, obvious loops, straight from the formulas, one decision at a time.

Votes are plain lists: ranks with 0 for unseen and ties by equal numbers; counts with 0 for unseen.
"""

import math
from statistics import harmonic_mean, mean

import numpy as np


def beats(ranks, j, k):
    return 1 if ranks[j] < ranks[k] else -1 if ranks[j] > ranks[k] else 0


def mean_rule(values, counts):
    result = []
    for j in range(len(values[0])):
        pairs = [(c[j], x[j]) for x, c in zip(values, counts, strict=True) if c[j] > 0 and not math.isnan(x[j])]
        total = sum(c for c, _ in pairs)
        result.append(sum(c * x for c, x in pairs) / total if total else -math.inf)
    return result


def difference_rule(values, counts, sigma):
    weighted, total = 0.0, 0.0
    for (x1, x2), (c1, c2) in zip(values, counts, strict=True):
        if c1 > 0 and c2 > 0 and not math.isnan(x1) and not math.isnan(x2):
            weight = c1 * c2 / (sigma[1] ** 2 * c1 + sigma[0] ** 2 * c2)
            weighted += weight * (x2 - x1)
            total += weight
    return weighted / total


def pair_weight(counts, sigma, j, k):
    """Equation 1: √(c_j c_k / (σ_k² c_j + σ_j² c_k))."""
    if counts[j] == 0 or counts[k] == 0:
        return 0.0
    return math.sqrt(counts[j] * counts[k] / (sigma[k] ** 2 * counts[j] + sigma[j] ** 2 * counts[k]))


def pairwise_rule(ranks, counts, sigma, normalized=False):
    n = len(ranks[0])
    result = []
    for j in range(n):
        signed = total = 0.0
        for r, c in zip(ranks, counts, strict=True):
            for k in range(n):
                if k != j:
                    signed += beats(r, j, k) * pair_weight(c, sigma, j, k)
                    total += pair_weight(c, sigma, j, k)
        result.append(signed if not normalized else signed / total if total else -math.inf)
    return result


def favourites(ranks):
    best = min(r for r in ranks if r > 0)
    return [j for j, r in enumerate(ranks) if r == best]


def top_rule(ranks, counts, one):
    """Average ``one(counts, favourite)`` over each voter's favourites, and sum over voters."""
    result = np.zeros(len(ranks[0]))
    for r, c in zip(ranks, counts, strict=True):
        tied = favourites(r)
        for j in tied:
            result += np.array(one(c, j)) / len(tied)
    return result


def top_zero(counts, favourite, sigma):
    return [math.sqrt(c) / sigma[j] if j == favourite else 0.0 for j, c in enumerate(counts)]


def top_lower_bound(counts, favourite, sigma):
    weights = [-pair_weight(counts, sigma, favourite, k) if k != favourite else 0.0 for k in range(len(counts))]
    weights[favourite] = -sum(weights)
    return weights


def top_gradient(counts, favourite, sigma, mpmath):
    """The gradient of log P(favourite) at V = 0, by mpmath's adaptive quadrature."""
    s = {k: mpmath.mpf(sigma[k]) / mpmath.sqrt(c) for k, c in enumerate(counts) if c > 0}
    rivals = [k for k in s if k != favourite]
    scales = sorted({*s.values()})
    grid = sorted({sign * scale * step for scale in scales for step in (0.5, 1, 2, 4, 8, 12) for sign in (-1, 1)} | {0})
    grid = [x for x in grid if abs(x) <= 12 * s[favourite]]

    def integral(density_of=None):
        def integrand(x):
            value = mpmath.npdf(x, 0, s[favourite])
            for k in rivals:
                value *= mpmath.npdf(x, 0, s[k]) if k == density_of else mpmath.ncdf(x, 0, s[k])
            return value

        return mpmath.quad(integrand, grid)

    probability = integral()
    weights = [-integral(k) / probability if k in rivals else 0 for k in range(len(counts))]
    weights[favourite] = -sum(weights)
    return [float(w) for w in weights]


def borda_points(ranks, n):
    """Beaten, plus half of those tied with; centred if the ballot is partial."""
    seen = [j for j in range(n) if ranks[j] > 0]
    points = [0.0] * n
    for j in seen:
        beaten = sum(ranks[j] < ranks[k] for k in seen)
        beaten_by = sum(ranks[j] > ranks[k] for k in seen)
        tied = len(seen) - 1 - beaten - beaten_by
        points[j] = beaten + tied / 2 if len(seen) == n else (beaten - beaten_by) / 2
    return points


def centred_points(ranks, n):
    seen = [j for j in range(n) if ranks[j] > 0]
    signs = [[beats(ranks, j, k) for k in seen] for j in range(n)]
    return [sum(signs[j]) / 2 if j in seen else 0.0 for j in range(n)]


def experience(name, counts):
    seen = [c for c in counts if c > 0]
    average = {"arithmetic": mean, "harmonic": harmonic_mean}[name.split("-")[0]](seen)
    shape = name.split("-")[1] if "-" in name else ""
    return {"": average, "sqrt": math.sqrt(average), "log": math.log(max(average, 1))}[shape]


def positional_points(ranks, vector):
    """Each order of a ballot's ties equally likely: tied alternatives share what their positions are worth."""
    n = len(ranks)
    points = [0.0] * n
    for j in range(n):
        above = sum(r < ranks[j] for r in ranks)
        tied = sum(r == ranks[j] for r in ranks)
        points[j] = sum(vector[above : above + tied]) / tied
    return points
