"""Probabilities of ballots by other ways than the library's: known distribution functions under a fine quadrature."""

import itertools
import math
from inspect import signature

import mpmath
import numpy as np
from scipy import special, stats

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
HALF_LOG_TWO_PI = math.log(2 * math.pi) / 2


class Pivot:
    """Ballots with one alternative alone between two tiers: P = ∫ φ_own(x) Π_above [1 − Φ_k(x)] Π_below Φ_k(x) dx.

    Truths and standard deviations are by alternative; the integrand is log-concave, so that panels around its mode and
    around each truth see all of it. ``sign`` is 1 for those above, −1 for those below.
    """

    def __init__(self, truth, deviation, above, own, below):
        self.truth, self.deviation, self.own = np.asarray(truth, float), np.asarray(deviation, float), own
        self.sign = dict.fromkeys(above, 1) | dict.fromkeys(below, -1)

    def log_integral(self, *contacts):
        """Log P; those in ``contacts`` with their density in place of their distribution function."""
        low, high = self.truth.min() - 40 * self.deviation.max(), self.truth.max() + 40 * self.deviation.max()
        for _ in range(200):
            third = (high - low) / 3
            ahead = self._log_integrand(low + third, contacts) < self._log_integrand(high - third, contacts)
            low, high = (low + third, high) if ahead else (low, high - third)
        graded = 2.0 ** np.arange(-12, 30) * self.deviation.min()
        steps = np.arange(-9, 9.1, 0.5)
        ends = np.unique(
            np.concatenate(
                [low - graded, [low], low + graded, *(self.truth[:, None] + self.deviation[:, None] * steps)]
            )
        )
        height = self._log_integrand(ends, contacts)
        inside = np.flatnonzero(height > height.max() - 60)
        ends = ends[max(inside[0] - 1, 0) : inside[-1] + 2]
        half = np.diff(ends)[:, None] / 2
        return special.logsumexp(
            self._log_integrand(ends[:-1, None] + half * (1 + NODES), contacts) + np.log(WEIGHTS * half)
        )

    def _log_integrand(self, x, contacts):
        total = 0.0
        for k in (self.own, *self.sign):
            z = (x - self.truth[k]) / self.deviation[k]
            if k == self.own or k in contacts:
                total = total - z**2 / 2 - HALF_LOG_TWO_PI - math.log(self.deviation[k])
            else:
                total = total + special.log_ndtr(-self.sign[k] * z)
        return total

    def log_prob(self):
        return self.log_integral()

    def gradient(self):
        """∂P/∂μ_k is ± the same integral with φ_k; they sum to 0."""
        whole = self.log_integral()
        result = np.zeros(len(self.truth))
        for k, sign in self.sign.items():
            result[k] = sign * math.exp(self.log_integral(k) - whole)
        result[self.own] = -result.sum()
        return result

    def by_mpmath(self, digits=25):
        """Log P by mpmath's quadrature, to many digits."""
        with mpmath.workdps(digits):
            truth, deviation = ([mpmath.mpf(float(x)) for x in xs] for xs in (self.truth, self.deviation))

            def log_integrand(x):
                total = mpmath.log(mpmath.npdf(x, truth[self.own], deviation[self.own]))
                for k, sign in self.sign.items():
                    total += mpmath.log(mpmath.erfc(sign * (x - truth[k]) / deviation[k] / mpmath.sqrt(2)) / 2)
                return total

            low, high = min(truth) - 3 * max(deviation), max(truth) + 3 * max(deviation)
            for _ in range(100):
                third = (high - low) / 3
                ahead = log_integrand(low + third) < log_integrand(high - third)
                low, high = (low + third, high) if ahead else (low, high - third)
            peak = log_integrand(low)
            ends = [low]
            for side in (-1, 1):
                width = mpmath.mpf(10) ** -9
                while log_integrand(low + side * width) > peak - 1:
                    width *= 2
                ends += [low + side * width * step for step in (0.5, 1, 2, 4, 8, 16, 32)]
            reach = min(ends), max(ends)
            ends += [
                m + s * step
                for m, s in zip(truth, deviation, strict=True)
                for step in (-6, -3, 0, 3, 6)
                if reach[0] < m + s * step < reach[1]
            ]
            return peak + mpmath.log(mpmath.quad(lambda x: mpmath.exp(log_integrand(x) - peak), sorted(ends)))


def middle_out(truth, deviation):
    """P(x_1 > … > x_5) = ∫ φ_3(x) P(x_1 > x_2 > x) P(x > x_4 > x_5) dx, with SciPy's bivariate normal distribution.

    With four alternatives the last factor is Φ_4(x).
    """
    truth, variance = np.asarray(truth, float), np.asarray(deviation, float) ** 2
    ends = np.unique(np.add.outer(truth, np.zeros(1)) + np.sqrt(variance)[:, None] * np.arange(-8, 8.1))
    near = np.abs(ends - truth[2]) <= 8 * math.sqrt(variance[2])
    ends = ends[near]
    half = np.diff(ends)[:, None] / 2
    x = (ends[:-1, None] + half * (1 + NODES)).ravel()

    def both_below(j, k, x, sign):
        """P(x_k < x_j < x), or with sign −1 P(x_k > x_j > x)."""
        mean = sign * np.array([truth[j], truth[k] - truth[j]])
        covariance = [[variance[j], -variance[j]], [-variance[j], variance[j] + variance[k]]]
        return stats.multivariate_normal.cdf(np.stack([sign * x, 0 * x], axis=-1), mean, covariance)

    last = stats.norm.cdf(x, truth[3], math.sqrt(variance[3])) if len(truth) == 4 else both_below(3, 4, x, 1)
    integrand = stats.norm.pdf(x, truth[2], math.sqrt(variance[2])) * both_below(1, 0, x, -1) * last
    return float(integrand @ (WEIGHTS * half).ravel())


def orthant(truth, deviation):
    """P(x_1 > … > x_n) as the distribution function of the differences x_{k+1} − x_k, by SciPy."""
    n = len(truth)
    differences = np.eye(n)[1:] - np.eye(n)[:-1]
    covariance = differences @ np.diag(np.square(deviation)) @ differences.T
    cdf = stats.multivariate_normal.cdf
    chance = {"rng": np.random.default_rng(0)} if "rng" in signature(cdf).parameters else {}  # from SciPy 1.16 on
    return cdf(np.zeros(n - 1), differences @ truth, covariance, abseps=1e-8, releps=1e-8, **chance)


def orders(ranks):
    """All strict rankings that agree with one that has ties: ``(order, alternative)``."""
    groups = [np.flatnonzero(np.asarray(ranks) == rank) for rank in sorted(set(ranks))]
    found = []
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        places = np.empty(len(ranks))
        places[np.concatenate(parts)] = np.arange(1, len(ranks) + 1)
        found.append(places)
    return np.array(found)


def mixed(log_prob, gradient, curvature):
    """log P of a union of disjoint events, first axis, with its derivatives."""
    total = special.logsumexp(log_prob, axis=0)
    share = np.exp(log_prob - total)
    slope = np.einsum("k...,k...j->...j", share, gradient)
    second = np.einsum("k...,k...ij->...ij", share, curvature + outer(gradient))
    return total, slope, second - outer(slope)


def outer(x):
    return x[..., :, None] * x[..., None, :]


def long_chain(truth, deviation, width):
    """Log P of the ballot 1 ≻ 2 ≻ … by the recursion in extended precision, on even panels of this width.

    Panels must be narrow beside the steepest exponential of the ballot, since nothing is taken out of it.
    """
    truth, deviation = (np.asarray(x, dtype=np.longdouble) for x in (truth, deviation))
    values = np.polynomial.legendre.legvander(NODES, 24)
    degrees = np.arange(24)
    coefficients = (degrees + 0.5)[:, None] * (values[:, :24].T * WEIGHTS)
    to_node = np.column_stack([NODES + 1, (values[:, 2:] - values[:, :-2]) / (2 * degrees[1:] + 1)]) @ coefficients
    from_node = (WEIGHTS - to_node).T.astype(np.longdouble)
    low, high = (truth - 9 * deviation).min(), (truth + 9 * deviation).max()
    panels = int((high - low) / width) + 1
    half = (high - low) / panels / 2
    x = low + half * (2 * np.arange(panels)[:, None] + 1 + NODES)
    above, log = np.ones_like(x), np.longdouble(0)
    for mean, s in zip(truth, deviation, strict=True):
        edge = np.exp(-(((x - mean) / s) ** 2) / 2) / (s * np.sqrt(2 * np.longdouble(np.pi))) * half * above
        whole = edge @ WEIGHTS
        above = edge @ from_node + (np.cumsum(whole[::-1])[::-1] - whole)[:, None]
        size = whole.sum()
        above, log = above / size, log + np.log(size)
    return float(log)
