"""Learning a panel from votes and answers as people have them."""

import hashlib
from concurrent.futures import Executor
from io import BytesIO
from os import PathLike
from typing import Any
from zipfile import BadZipFile

import numpy as np

from veritally.arrays import Array
from veritally.checks import usable_path, whole
from veritally.decide import decide
from veritally.errors import InputError, InputWarning
from veritally.files import write_whole
from veritally.io.answers import read_answers
from veritally.panel.learned import LearnedPanel
from veritally.panel.learning import WEIGHT, Factors, held_out, learn, with_check
from veritally.panel.preparation import RoleSource
from veritally.progress import stretch
from veritally.votes.profile import Profile
from veritally.work import executing


def learn_panel(
    profile: Profile,
    answers: Any = None,
    *,
    factors: Factors = "auto",
    roles: RoleSource | None = None,
    weight: float = WEIGHT,
    check: int = 0,
    seed: int = 0,
    state: str | PathLike[str] | None = None,
    workers: int | None = 1,
    executor: Executor | None = None,
) -> LearnedPanel:
    """Learn how good voters are, how they lean and who errs with whom, from many decisions.

    Parameters
    ----------
    profile
        The votes of many decisions; each may have other voters and alternatives. Rankings, favourites, comparisons or
        values.
    answers
        What is known of the answers, of some decisions or all: a file or data frame as :func:`read_answers` takes it, a
        dictionary with the best alternative by decision, or an array ``(decision, alternative)`` of truths, NaN for not
        known. Without answers the truth is what the voters have in common, and no errors are shared.
    factors
        How many errors voters share; ``"auto"`` for as many as make the votes most probable, three at most.
    roles
        ``"alternatives"`` where the same alternatives recur, such as yes and no, so that voters may lean to one.
        Default: a column ``role``, or which stood first in comparisons, where votes have these.
    weight
        What a decision without an answer counts beside one with.
    check
        In how many parts to split the answers to see how well a panel predicts those it was not given; 0 for not at
        all.
    seed
        Of the start of the search.
    state
        A file to keep the search in, so that it goes on from there after an interruption.
    workers
        The number of processes; None for one per core. It does not change the results, and is of use where votes are
        rankings of three or more. With more than one, the main part of a script must be under
        ``if __name__ == "__main__"``.
    executor
        Who works instead, such as the executor of a Dask cluster, as in :func:`veritally.compare`.

    Examples
    --------
    Three voters answer 200 questions. The first two follow the truth, and the third mostly says the opposite.

    >>> random = np.random.default_rng(0)
    >>> truth = random.normal(size=(200, 2))
    >>> seen = np.stack([truth + random.normal(size=truth.shape) * noise for noise in (0.5, 1, 1)], axis=1)
    >>> seen[:, 2] *= -1
    >>> profile = Profile(ranks=np.where(seen == seen.max(axis=-1, keepdims=True), 1, 2), voters=["Ann", "Bob", "Eve"])
    >>> panel = learn_panel(profile, truth, factors=0)
    >>> panel
    LearnedPanel(3 voters, 200 decisions, 200 answered)
    >>> panel.slope > 0
    array([ True,  True, False])
    """
    check = whole(check, "check")
    known = None if answers is None else _answers(answers, profile)
    if check == 1 or (check and known is None):
        raise InputError("check needs answers, and two parts or more; leave it out, or give both")
    settings: dict[str, Any] = {"factors": factors, "roles": roles, "weight": weight, "seed": seed}
    saved = None if state is None else _State(state, _key(profile, known, settings))
    with executing(workers, executor) as others:
        with stretch(0, 1 / (1 + check)):
            panel = learn(
                profile,
                known,
                **settings,
                resumed=None if saved is None else saved.read(),
                heard=None if saved is None else saved.keep,
                executor=others,
            )
        if check:
            assert known is not None
            with stretch(1 / (1 + check), 1):
                checked = held_out(profile, known, check, _p_best, **settings, executor=others)
                panel = with_check(panel, checked)
    if saved is not None:
        saved.path.unlink(missing_ok=True)
    return panel


def _p_best(panel: LearnedPanel | None, profile: Profile) -> Array:
    """Return P(best) by a panel, or without one."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        return np.asarray(decide(profile, panel=panel, tie_break="first").p_best)


def _answers(given: Any, profile: Profile) -> Array:
    """Return answers as an array, whatever form they were given in."""
    if isinstance(given, np.ndarray):
        return np.asarray(given, dtype=float)
    if isinstance(given, list | tuple):
        raise InputError("answers are an array, a file, a frame or a dictionary, not a list; use numpy.array")
    return read_answers(given, profile)


def _key(profile: Profile, answers: Array | None, settings: dict[str, Any]) -> str:
    """Return a name for votes, answers and settings that no others have."""
    made = hashlib.sha256(repr((settings, profile.voters, profile.alternatives)).encode())
    for x in (*profile.ballots.arrays, *(() if answers is None else (answers,))):
        made.update(np.ascontiguousarray(x).tobytes())
    return made.hexdigest()


class _State:
    """Where a search keeps how far it has come."""

    def __init__(self, path: str | PathLike[str], key: str) -> None:
        self.path, self.key = usable_path(path), key
        self.points: dict[int, Array] = {}

    def read(self) -> dict[int, Array]:
        """Return where searches of the same votes had come, by number of shared errors; nothing if they are others."""
        try:
            with np.load(BytesIO(self.path.read_bytes()), allow_pickle=False) as found:
                if str(found["key"]) == self.key:
                    self.points = {int(name): found[name] for name in found.files if name != "key"}
        except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile):
            self.points = {}
        return dict(self.points)

    def keep(self, factors: int) -> Any:
        """Return what is called at each step of the search with so many shared errors."""

        def heard(x: Array, turn: int) -> None:
            self.points[factors] = x
            file = BytesIO()
            np.savez(file, key=np.array(self.key), **{str(number): own for number, own in self.points.items()})
            write_whole(self.path, file.getvalue())

        return heard
