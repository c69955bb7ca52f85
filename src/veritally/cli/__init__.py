"""The command: each subcommand parses, calls the library and prints."""

import importlib
import sys
import warnings
from typing import Any

import click

from veritally.errors import InputError, InputNote, InputWarning
from veritally.votes.labels import visible


class _Failure(click.ClickException):
    exit_code = 2


_NAMES = (
    "decide",
    "panel",
    "next",
    "check",
    "rules",
    "simulate",
    "compare",
    "compose",
    "reproduce",
    "train",
    "serve",
    "cite",
)


class _Commands(click.Group):
    """A group in which bad input is one sentence and exit code 2, and warnings go to standard error.

    Each command is a function in a module of its name, imported when it is called.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _NAMES:
            return None
        command: click.Command = getattr(importlib.import_module(f"veritally.cli.{cmd_name}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("always", InputWarning)
            warnings.showwarning = _show  # type: ignore[assignment]
            try:
                return super().invoke(ctx)
            except InputError as error:
                raise _Failure(visible(str(error))) from error
            except click.UsageError as error:
                raise click.UsageError(visible(error.format_message()), error.ctx) from error
            except MemoryError as error:
                raise _Failure(
                    "there is not enough memory for this; work on fewer decisions or voters at a time"
                ) from error
            except BrokenPipeError:
                raise
            except OSError as error:
                raise _Failure(f"cannot write the output ({error.strerror or error})") from error


def _show(message: Warning | str, *_: Any) -> None:
    label = "Note:" if isinstance(message, InputNote) else click.style("Warning:", fg="yellow")
    click.echo(f"{label} {visible(str(message))}", err=True)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="veritally")
def cli() -> None:
    """Combine the votes of people or sources who saw different amounts of evidence."""


def main() -> None:
    """Run the command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a bar gets a question mark
    cli()
