"""What stands for all that answers depend on, so that what other votes, options or code found is not used."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import Any

import numpy as np
import polars as pl

from veritally.origins import code_of, origins
from veritally.panel.base import AnyPanel
from veritally.rules.info import RuleInfo
from veritally.versions import fingerprint, versions


def key_of(work: Any, rule: RuleInfo, parameters: Mapping[str, Any]) -> str:
    """Return it for some work by a rule: the code and its libraries are part of it."""
    code = fingerprint("**/*.py", "**/*.safetensors")
    libraries = versions("veritally", "numpy", "scipy", "polars")
    return json.dumps([_plain([work, rule, parameters, origins(rule, parameters)]), code, libraries])


def _plain(given: Any) -> Any:
    """Return something as plain objects, with all that is in it."""
    if given is None or isinstance(given, str | int | float):
        return given
    if isinstance(given, AnyPanel):
        return _plain(given.to_dict())
    if isinstance(given, pl.DataFrame):
        return _plain([given.columns, given.rows()])
    if isinstance(given, np.ndarray | np.generic):
        return [str(given.dtype), _plain(given.tolist())]
    if isinstance(given, Mapping):
        return [[_plain(name), _plain(value)] for name, value in given.items()]
    if isinstance(given, list | tuple):
        return [_plain(one) for one in given]
    if isinstance(given, type) or (isinstance(given, FunctionType) and given.__closure__ is None):
        return [given.__module__, given.__qualname__, code_of(given)]
    if is_dataclass(given):
        return [_plain(type(given)), [[own.name, _plain(getattr(given, own.name))] for own in fields(given)]]
    return [_plain(type(given)), repr(given)]  # with its address, where it has no other: then it is like no other
