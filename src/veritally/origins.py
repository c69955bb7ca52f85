"""What results depend on beside this package: weights of a user, other packages, and rules of one's own."""

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

from veritally.learned.models import SHIPPED
from veritally.rules.info import RuleInfo
from veritally.rules.pref_voting import PACKAGE, PrefVoting
from veritally.rules.sums import SumRule
from veritally.versions import versions


def origins(info: RuleInfo, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return digests of weights and of files with a user's code, and versions of packages that have rules here."""
    model, rule = parameters.get("model"), info.instance
    weights = {} if model is None or str(model) in SHIPPED else {str(model): _digest(Path(model))}
    if isinstance(rule, PrefVoting):
        module = rule.method.rpartition(".")[0]
        own = {} if module == PACKAGE else _code_in(module, rule)
        return weights | versions(PACKAGE) | own
    encoder = code_of(type(rule.encoder)) if isinstance(rule, SumRule) else {}
    return weights | code_of(info.implementation) | encoder


def code_of(given: type | FunctionType) -> dict[str, str]:
    """Return digests of the files with the code of a class and of what it inherits, or of a function, by module."""
    found = dict[str, str]()
    known = {"veritally", *sys.stdlib_module_names}  # ours by its fingerprint
    for part in given.__mro__ if isinstance(given, type) else (given,):
        if part.__module__.split(".")[0] not in known:
            found |= _code_in(part.__module__, part)
    return found


def _code_in(module: str, part: Any) -> dict[str, str]:
    """Return digests of a module and of those that it may use: of its package, or of files beside it.

    Where it has no file, as in a notebook, code is the same only while it lives.
    """
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return {module: f"{os.getpid()} {id(part)}"}
    package, folder, found = module.split(".")[0], Path(file).parent, {module: _digest(Path(file))}
    installed = folder.name.endswith("-packages")  # beside files of others
    for name, other in list(sys.modules.items()):
        beside = getattr(other, "__file__", None)
        if beside and (name.split(".")[0] == package or (Path(beside).parent == folder and not installed)):
            found[name] = _digest(Path(beside))
    return found


def _digest(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:  # which is for those to say who need it
        return ""
