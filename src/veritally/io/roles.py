"""Roles: what an alternative was on a ballot, such as the second answer or the one shown on the left."""

import numpy as np
import polars as pl

from veritally.arrays import Array
from veritally.io.frames import Place
from veritally.io.groups import optional_names
from veritally.votes.profile import Profile


def with_roles(profile: Profile, column: pl.Series, cells: tuple[Array, ...], place: Place) -> Profile:
    """Return a profile that knows the role in each row of a table, where some row has one."""
    given = optional_names(column, place)
    names = given.drop_nulls().unique(maintain_order=True).to_list()
    number = {name: float(r) for r, name in enumerate(names)}
    roles = np.full(profile.shape, -1.0)
    roles[cells] = [-1.0 if name is None else number[name] for name in given]
    return profile.with_roles(roles, names) if names else profile


def column_for(profile: Profile, listed: Array) -> list[str | None] | None:
    """Return what a table says of the roles in its rows; None where there are none."""
    roles = profile.ballots.roles
    if roles is None:
        return None
    names = [*map(str, profile.role_names or ()), None]  # to which −1 leads
    return [names[int(r)] for r in np.asarray(roles)[listed]]
