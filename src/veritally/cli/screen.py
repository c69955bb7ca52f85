"""What a terminal is sent: text that it shows and does not obey, and tables that fit."""

import errno
import os
from typing import Any, NoReturn

import click
import rich.text
from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table

from veritally.votes.labels import visible

NAME = 20  # characters of a name, beyond which it is rather folded than other columns left out
_ENOUGH = 10_000  # characters, more than any table needs


class Text(rich.text.Text):
    """Text that may have names in it, control characters shown."""

    def __init__(self, text: str = "", *arguments: Any, **options: Any) -> None:
        super().__init__(visible(text), *arguments, **options)


class Screen(Console):
    """Standard output; where somebody has closed it, that is an error like any other."""

    def on_broken_pipe(self) -> None:
        """Raise what rich would end the program for."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def say(text: str, err: bool = False) -> None:
    """Print a line that may have names in it; nothing if the stream is closed."""
    click.echo(visible(text), err=err)


def stop(text: str) -> NoReturn:
    """Say what is kept where somebody has pressed Ctrl-C, and end with its code, without the word that click has."""
    say(text, err=True)
    raise click.exceptions.Exit(1)


def fitted(console: Console, table: Table, names: list[Column], spare: list[Column]) -> Table:
    """Leave out what a narrow terminal has no room for, the first of ``spare`` first, and fold long names."""
    for column in names:
        column.overflow, column.max_width = "fold", NAME
    for column in spare:
        if Measurement.get(console, console.options.update(width=_ENOUGH), table).maximum > console.width:
            table.columns.remove(column)
    for column in names:
        column.max_width = None
    return table
