"""Parameters of rules and likelihoods, checked against the votes."""

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from veritally.arrays import is_jax
from veritally.checks import positive, real, whole
from veritally.errors import InputError, quoted
from veritally.model.observation import LaplaceNoise, NormalNoise, StudentNoise
from veritally.model.scenario import PARTS, part
from veritally.votes.labels import require_known
from veritally.votes.profile import Profile
from veritally.votes.values import Values

_LEAST_FREEDOM, _MOST_FREEDOM = 2.01, 100_000  # between which a mixture of normals resolves Student's t


def checked_parameters(parameters: Mapping[str, Any], profile: Profile) -> dict[str, Any]:
    """Validate the parameters of a rule for these votes."""
    checked = dict(parameters)
    if checked.get("sigma") is not None:
        checked["sigma"] = checked_sigma(checked["sigma"], profile)
    for name in ("tau", "cap"):
        if checked.get(name) is not None:
            checked[name] = positive(checked[name], name)
    if checked.get("omega") is not None and checked["omega"] != "estimated":
        checked["omega"] = positive(checked["omega"], "omega")
        if checked.get("sigma") is None:
            raise InputError("a number for omega needs sigma; give sigma too, or set omega to estimated")
    if checked.get("leniency") is not None:
        checked["leniency"] = _checked_leniency(checked, profile)
    if checked.get("doubt") is not None:
        checked["doubt"] = real(checked["doubt"], "doubt", 0, 0.5)
    if checked.get("scale") not in (None, "each", "pooled"):
        if isinstance(checked["scale"], str):
            raise InputError(f"scale must be a number, each or pooled, not {quoted(checked['scale'])}")
        checked["scale"] = positive(checked["scale"], "scale")
        if checked.get("sigma") is not None:
            raise InputError("scale is sigma over tau; give scale, or sigma and tau, not both")
    if "count_error" in checked:
        checked["count_error"] = checked_count_error(checked["count_error"])
    if checked.get("noise") is not None:
        checked["noise"] = checked_noise(checked["noise"])
    if "estimate" in checked:
        require_known(checked["estimate"], ("mean", "mode"), "estimate")
    if "points" in checked:
        checked["points"] = _numbers(checked["points"], profile.shape[-1], "points")
    if "samples" in checked:
        checked["samples"] = whole(checked["samples"], "samples", least=1)
    return checked


def checked_count_error(given: Any) -> Any:
    """Return an error of counts, or the type of one whose size is to be estimated."""
    if isinstance(given, str) and ":" not in given:
        require_known(given, PARTS["count_error"], "count_error")
        return PARTS["count_error"][given]
    made = part("count_error", given)
    if made is not None and type(made) not in PARTS["count_error"].values():
        raise InputError("count_error can be percentage or replacement here; give one of these")
    return made


def checked_noise(given: Any) -> Any:
    """Return the noise of observations, if the likelihood knows it."""
    known = ("normal", "laplace", "student")
    if isinstance(given, str) and given.partition(":")[0] not in PARTS["noise"]:
        require_known(given.partition(":")[0], known, "noise")
    made = part("noise", given)
    if not isinstance(made, NormalNoise | LaplaceNoise | StudentNoise):
        raise InputError(
            f"noise can be normal, laplace or student:FREEDOM here, not {quoted(given)}; leave it out, since means of "
            "several observations are nearly normal anyway"
        )
    if isinstance(made, StudentNoise) and not _LEAST_FREEDOM <= made.freedom <= _MOST_FREEDOM:
        raise InputError(
            f"student noise needs {_LEAST_FREEDOM} to {_MOST_FREEDOM:,} degrees of freedom here, not "
            f"{made.freedom:g}; with more it is normal"
        )
    return made


def _checked_leniency(parameters: Mapping[str, Any], profile: Profile) -> Any:
    """Require ``estimated``, or a number beside σ; and values that it can be taken out of."""
    given = parameters["leniency"]
    if given != "estimated":
        given = real(given, "leniency", 0, 1e100)
        if given and parameters.get("sigma") is None:
            raise InputError("a number for leniency needs sigma; give sigma too, or set leniency to estimated")
    if not given:
        return given
    values = profile.ballots.part(Values)
    if values is None:
        raise InputError(f"leniency is for values, and these votes are {profile.kind}; leave it out")
    if parameters.get("noise") is not None or parameters.get("count_error") is not None:
        raise InputError("leniency cannot be combined with noise or count_error; leave these out")
    if is_jax(values.counts):
        raise InputError("leniency needs NumPy arrays; make the profile from these, or leave it out")
    if np.any(values.blank):
        raise InputError("leniency needs a value for everything a voter saw, and some are blank; set their counts to 0")
    return given


def checked_sigma(sigma: Any, profile: Profile) -> float | tuple[float, ...]:
    """Return the standard deviation of one observation, one for all alternatives or one for each."""
    single = np.ndim(sigma) == 0 and not isinstance(sigma, str | Mapping)
    if not single and profile.alternative_labels.each and len(set(profile.alternatives)) > 1:
        raise InputError("one sigma for each alternative needs decisions with the same alternatives; give one number")
    if isinstance(sigma, Mapping):
        sigma = by_name(sigma, profile, "sigma")
    numbers = _numbers([sigma] if single else sigma, 1 if single else profile.shape[-1], "sigma")
    checked = tuple(positive(number, "sigma") for number in numbers)
    return checked[0] if single else checked


def by_name(given: Mapping[Hashable, Any], profile: Profile, what: str) -> list[Any]:
    """Return what a dictionary has for each alternative, in their order."""
    names = profile.alternatives
    if profile.alternative_labels.each:
        names = names[0]
    missing = [name for name in names if name not in given]
    unknown = [name for name in given if name not in names]
    if missing or unknown:
        problem = f"has none for {quoted(missing[0])}" if missing else f"names {quoted(unknown[0])}, not an alternative"
        raise InputError(f"{what} by name must name each alternative of the decision; it {problem}")
    return [given[name] for name in names]


def _numbers(given: Any, n: int, what: str) -> tuple[float, ...]:
    try:
        numbers = tuple(float(number) for number in given)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers, one for each alternative") from error
    if not all(map(math.isfinite, numbers)) and what == "points":
        raise InputError("points must be finite numbers")
    if len(numbers) != n:
        raise InputError(f"{what} has {len(numbers)} numbers for {n} alternatives")
    return numbers
