"""Random votes, and what every test needs to know about the rules."""

import jax
import jax.experimental
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veritally as vt
from veritally.model.parameters import checked_parameters
from veritally.registry import rule_for

RULES = [info.name for info in vt.rules()]
SURE = [info.name for info in vt.rules() if not info.stochastic]
ONE_PASS = [info.name for info in vt.rules() if not info.iterative and not info.stochastic]
SUMS = [info.name for info in vt.rules() if issubclass(info.implementation, vt.Encoder) and not info.stochastic]
ANY_VOTES = [info.name for info in vt.rules() if info.votes is None]

# Which JAX has moved.
jax_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64

COUNTS = (0, 0.5, 1, 2, 7, 49, 1000)


FEW = 5  # examples for rules that go over the votes many times


def parameters(name, n):
    """What a rule needs to be told on n alternatives; of the posterior all, since finding it out takes long."""
    own = {"positional": {"points": [float(2 ** (n - j)) for j in range(n)]}, "posterior": {"sigma": 1.0, "tau": 1.0}}
    return own.get(name, {})


def examples(name, most):
    """How many random profiles to try a rule on."""
    iterative = next(info for info in vt.rules() if info.name == name).iterative
    return min(FEW if iterative else settings().max_examples, most)


def over_profiles(names, most=1000):
    """Make a test of a check of (name, data): for each of the rules, as many examples as it has time for."""

    def decorate(check):
        @pytest.mark.hypothesis  # as Hypothesis marks its own tests
        @pytest.mark.parametrize("name", names)
        def test(name):
            @settings(max_examples=examples(name, most))
            @given(data=st.data())
            def each(data):
                check(name, data)

            each()

        test.__doc__ = check.__doc__
        return test

    return decorate


def rule_and_ballots(profile, name, **given):
    """The rule, and the votes it takes."""
    info = rule_for(profile, name)
    votes = profile.coarsened(info.votes)
    given = parameters(name, profile.shape[-1]) | given
    return info.make(**checked_parameters(given, votes)), votes.ballots


def scores(profile, name, **given):
    rule, ballots = rule_and_ballots(profile, name, **given)
    return np.asarray(rule.scores(ballots))


def sizes_for(name):
    """The numbers of alternatives a rule is tried on."""
    return (2, 2) if rule_only_for_two(name) else (2, 5)


def rule_only_for_two(name):
    return next(info for info in vt.rules() if info.name == name).alternatives == 2


@st.composite
def values_profiles(draw, alternatives=(2, 5), voters=(1, 6), zeros=True, blanks=True, counts=COUNTS):
    """Profiles of values, the finest votes, with ties, blanks and unseen alternatives."""
    n = draw(st.integers(*alternatives))
    m = draw(st.integers(*voters))
    cell = st.tuples(
        st.sampled_from([c for c in counts if zeros or c > 0]),
        st.one_of(st.integers(-3, 3), st.floats(-10, 10)),
        st.booleans() if blanks else st.just(False),
    )
    cells = draw(st.lists(st.lists(cell, min_size=n, max_size=n), min_size=m, max_size=m))
    count = np.array([[c for c, _, _ in row] for row in cells], dtype=float)
    value = np.array([[x for _, x, _ in row] for row in cells], dtype=float)
    blank = np.array([[b for _, _, b in row] for row in cells])
    # The first voter saw everything and every voter has a usable vote, so that no warning is due.
    count[:, 0], blank[:, 0] = np.maximum(count[:, 0], 1), False
    count[0] = np.maximum(count[0], 1)
    blank |= count == 0
    return vt.Profile(values=np.where(blank, np.nan, value), counts=count)


def random_profile(seed, voters=20, alternatives=5, kind="rankings", batch=(), zeros=False):
    """A profile as the paper draws them."""
    rng = np.random.default_rng(seed)
    shape = (*batch, voters, alternatives)
    counts = rng.integers(1, 50, shape).astype(float)
    if zeros:
        counts *= rng.random(shape) < 0.7
        counts[..., 0] = np.maximum(counts[..., 0], 1)
    values = rng.normal(size=shape) * 3 / np.sqrt(np.maximum(counts, 1)) + rng.normal(size=(*batch, 1, alternatives))
    profile = vt.Profile(values=np.where(counts > 0, values, np.nan), counts=counts)
    return profile if kind == "values" else profile.coarsened(kind)


def assert_same(one, other):
    """Whether two single decisions hold the same votes, in whatever order they name things."""
    order = other.select(voters=list(map(str, one.voters)), alternatives=list(map(str, one.alternatives)))
    for x, y in zip(one.ballots.arrays, order.ballots.arrays, strict=True):
        np.testing.assert_array_equal(x, y)


def read_or_complain(path, **options):
    """The votes, or what is wrong with them, in words."""
    try:
        return repr(vt.read(path, **options))
    except vt.InputError as error:
        return str(error)
