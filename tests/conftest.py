"""Fixtures and settings for all tests."""

import os
from importlib.metadata import version
from inspect import signature

# Programs that run once need not be fast; this must be said before JAX is imported. Without its fusion emitters XLA
# compiles in half the time; it ends at a flag that it does not know, so only versions that were tried are told.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    + (" --xla_cpu_use_fusion_emitters=false" if version("jaxlib").startswith("0.10.") else ""),
)

import click.testing
import hypothesis
import pytest

from support import jax_x64

# The same examples in every run: a test that passed here passes there.
for name, number in (("few", 6), ("many", 25)):
    hypothesis.settings.register_profile(
        name, derandomize=True, deadline=None, max_examples=number, suppress_health_check=list(hypothesis.HealthCheck)
    )
hypothesis.settings.load_profile("few")


@pytest.fixture
def x64():
    """JAX in double precision, for this test alone."""
    with jax_x64(True):
        yield


@pytest.fixture(autouse=True, scope="session")
def patient():
    """No sign of life on a slow machine, so that what the command prints does not depend on how long it took."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("veritally.cli.progress._FELT", 3600.0)
        yield


if "mix_stderr" in signature(click.testing.CliRunner).parameters:  # click before 8.2 has both streams apart or mixed

    class _Runner(click.testing.CliRunner):
        def __init__(self):
            super().__init__(mix_stderr=False)

    click.testing.CliRunner = _Runner
    click.testing.Result.output = property(lambda result: result.stdout + result.stderr)
