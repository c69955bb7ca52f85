"""Fixtures and settings for all tests."""

import os

# Programs that run once need not be fast; this must be said before JAX is imported.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

import hypothesis
import jax
import pytest

# The same examples in every run: a test that passed here passes there.
hypothesis.settings.register_profile(
    "fixed", derandomize=True, deadline=None, max_examples=25, suppress_health_check=list(hypothesis.HealthCheck)
)
hypothesis.settings.load_profile("fixed")


@pytest.fixture
def x64():
    """JAX in double precision, for this test alone."""
    with jax.enable_x64(True):
        yield
