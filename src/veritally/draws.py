"""Draws of the posterior for the package ArviZ; needs the extra ``arviz``."""

from typing import TYPE_CHECKING, Any

import numpy as np

from veritally.arrays import Array
from veritally.checks import whole
from veritally.errors import InputError
from veritally.inference.sampling import independent_draws
from veritally.versions import versions

if TYPE_CHECKING:
    from veritally.outcome import Outcome

_AT_ONCE = 1000  # draws, all of which Gibbs sampling can make different


def arviz_data(outcome: "Outcome", chains: int, draws: int, seed: int) -> Any:
    """Return draws as the installed ArviZ takes them; see :meth:`Outcome.to_arviz`."""
    chains, draws = whole(chains, "chains", least=1), whole(draws, "draws", least=1)
    seed, posterior = whole(seed, "seed"), outcome.fit.posterior
    if posterior is None:
        raise InputError(f"the rule {outcome.rule} has no posterior to draw from; use posterior")
    try:
        import arviz
        import xarray
    except ModuleNotFoundError:
        raise InputError("draws for ArviZ need arviz; install it with: pip install 'veritally[arviz]'") from None
    singles = outcome.singles()
    names = list(dict.fromkeys(name for _, one in singles for name in one.alternatives))
    place = {name: j for j, name in enumerate(names)}
    truth = np.full((chains, draws, len(singles), len(names)), np.nan)
    scale = np.empty((chains, draws, len(singles)))
    for d, (_, one) in enumerate(singles):
        own = np.flatnonzero(np.asarray(one.fit.scores) > -np.inf)
        columns = [place[name] for name in one.alternatives]
        for chain in range(chains):
            found, scale[chain, :, d] = _chain(one, draws, (seed, *one.seed, chain))
            truth[chain, :, d, columns] = found[:, own].T
    axes = ["chain", "draw", "decision", "alternative"]
    data: dict[str, Any] = {"truth": (axes, truth)}
    low, high = (np.asarray(posterior.scale)[..., end] for end in (1, 2))
    if np.any(low < high):
        data["sigma_over_tau"] = (axes[:3], scale)
    coordinates = {
        "chain": np.arange(chains),
        "draw": np.arange(draws),
        "decision": [str(name) for name, _ in singles],
        "alternative": names if len({type(name) for name in names}) == 1 else list(map(str, names)),
    }
    attributes = {
        "inference_library": "veritally",
        "inference_library_version": versions("veritally")["veritally"],
        "sampling": "independent draws, shared out over chains",
    }
    dataset = xarray.Dataset(data, coordinates, attributes)
    if not outcome.profile.batch:
        dataset = dataset.isel(decision=0, drop=True)
    if int(arviz.__version__.split(".")[0]) < 1:
        return arviz.InferenceData(posterior=dataset)
    return xarray.DataTree.from_dict({"posterior": dataset})


def _chain(one: "Outcome", draws: int, seed: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the draws of one chain for a single decision."""
    assert one.fit.posterior is not None
    parts = []
    for start in range(0, draws, _AT_ONCE):
        state = int(np.random.SeedSequence((*seed, start)).generate_state(1)[0])
        size = min(_AT_ONCE, draws - start)
        parts.append(independent_draws(one.profile.ballots, one.fit.posterior, size, state))
    truths, scales = zip(*parts, strict=True)
    return np.concat(truths), np.concat(scales)
