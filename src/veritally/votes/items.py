"""Items: who looked at what, where voters may have seen the same evidence."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from veritally.arrays import Array
from veritally.checks import real
from veritally.errors import InputError


@dataclass(frozen=True, eq=False)
class Items:
    """Looks at items (prompts, patients, segments): one row for each voter, alternative and item.

    Attributes
    ----------
    voters, alternatives
        The name in each row.
    decisions
        The name in each row; None for a single decision.
    items
        The number of the item in each row; the same item has the same number.
    times
        How often the voter looked at it, in each row.
    names
        The name of the item of each number; None if the items have no names.
    share
        ρ, the part of the variance of one look that comes from the item, estimated from the values of the looks; None
        if looks have no values.
    """

    voters: tuple[Hashable, ...]
    alternatives: tuple[Hashable, ...]
    items: Array
    times: Array
    decisions: tuple[Hashable, ...] | None = None
    share: float | None = None
    names: tuple[str, ...] | None = None

    def overlap(self, decision: Hashable, voters: tuple[Hashable, ...], alternatives: tuple[Hashable, ...]) -> Array:
        """Return Σ_s n_ijs n_i'js/(c_ij c_i'j), ``(alternative, voter, voter)``, for one decision.

        It is the covariance of the means of two voters, in units of the variance of one look, if all of that belongs to
        items; 0 where one of them did not look.
        """
        voter, alternative = ({str(name): k for k, name in enumerate(names)} for names in (voters, alternatives))
        rows = self._rows.get("" if self.decisions is None else str(decision), ())
        found = np.zeros((len(alternatives), len(voters), len(voters)))
        cells = [(alternative.get(str(self.alternatives[r])), voter.get(str(self.voters[r])), r) for r in rows]
        kept = np.array([cell for cell in cells if None not in cell], dtype=int).reshape(-1, 3)
        for j in np.unique(kept[:, 0]):
            own = kept[kept[:, 0] == j]
            _, item = np.unique(self.items[own[:, 2]], return_inverse=True)
            looks = np.zeros((len(voters), int(item.max()) + 1))
            np.add.at(looks, (own[:, 1], item), self.times[own[:, 2]])
            whole = looks.sum(axis=1, keepdims=True)
            looks /= np.where(whole > 0, whole, 1)
            found[j] = looks @ looks.T
        return found

    def of_decision(self, decision: Hashable) -> "Items | None":
        """Return the looks in one decision of several; None if there are none."""
        if self.decisions is None:
            return self
        rows = self._rows.get(str(decision))
        return None if rows is None else replace(self._taken(rows), decisions=None)

    def _taken(self, rows: list[int]) -> "Items":
        """Return some of the looks."""
        voters, alternatives = (tuple(names[row] for row in rows) for names in (self.voters, self.alternatives))
        return replace(self, voters=voters, alternatives=alternatives, items=self.items[rows], times=self.times[rows])

    @classmethod
    def stacked(cls, several: "Sequence[Items | None]", decisions: tuple[Hashable, ...]) -> "Items | None":
        """Combine the looks of single decisions; None if there are none."""
        given = [(items, name) for items, name in zip(several, decisions, strict=True) if items is not None]
        return cls.together([replace(items, decisions=(name,) * len(items.voters)) for items, name in given])

    @classmethod
    def together(cls, several: "Sequence[Items]") -> "Items | None":
        """Combine looks, matching items by name; items without names are all different."""
        if not several:
            return None
        number: dict[Hashable, int] = {}
        items = []
        for s, own in enumerate(several):
            keys = [(s, item) if not (name := own.name_of(item)) else name for item in own.items.tolist()]
            items += [number.setdefault(key, len(number)) for key in keys]
        looks = np.array([float(own.times.sum()) for own in several])
        shares = [own.share for own in several]
        return cls(
            tuple(name for own in several for name in own.voters),
            tuple(name for own in several for name in own.alternatives),
            np.array(items, dtype=int),
            np.concat([own.times for own in several]),
            None if several[0].decisions is None else tuple(name for own in several for name in own.decisions or ()),
            None if None in shares else float(np.average(np.array(shares, dtype=float), weights=looks)),
            tuple("" if isinstance(key, tuple) else str(key) for key in number),
        )

    def name_of(self, item: int) -> str:
        """Return the name of an item; nothing if it has none."""
        return "" if self.names is None else self.names[item]

    def to_dict(self) -> dict[str, Any]:
        """Return plain objects, ready for JSON."""
        rows = zip(self.decisions or self.voters, self.voters, self.alternatives, self.items, self.times, strict=True)
        looks = [[str(d)] * (self.decisions is not None) + [str(v), str(a), int(s), float(n)] for d, v, a, s, n in rows]
        columns = ["decision"] * (self.decisions is not None) + ["voter", "alternative", "item", "times"]
        return {"share": self.share, "columns": columns, "looks": looks}

    @classmethod
    def from_dict(cls, given: Any) -> "Items":
        """Return what :meth:`to_dict` wrote."""
        try:
            columns = dict(zip(given["columns"], zip(*given["looks"], strict=True), strict=True))
            numbers, times = np.asarray(columns["item"]), np.asarray(columns["times"], dtype=float)
            share = None if given["share"] is None else real(given["share"], "share", 0, 1)
            if numbers.dtype.kind != "i" or not (np.isfinite(times) & (times > 0)).all():
                raise ValueError
            names = columns["voter"], columns["alternative"]
            return cls(*names, numbers.astype(int), times, columns.get("decision"), share)
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            raise InputError("the items are damaged: they need columns, looks and a share") from error

    def __repr__(self) -> str:
        share = "" if self.share is None else f", {self.share:.0%} of the noise of a look comes from the item"
        return f"Items({len(np.unique(self.items))} items, {self.times.sum():g} looks{share})"

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        """The rows of each decision, by its name as files have it."""
        found: dict[str, list[int]] = {}
        for row, name in enumerate(self.decisions or ("",) * len(self.voters)):
            found.setdefault(str(name), []).append(row)
        return found
