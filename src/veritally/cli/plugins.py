"""``--plugin``: rules of one's own in the command."""

import importlib
import sys
from pathlib import Path

import click

from veritally.errors import InputError, quoted


def _load(context: click.Context, option: click.Parameter, modules: tuple[str, ...]) -> None:
    """Import modules from where the command runs or from what is installed; they register their rules."""
    here = str(Path.cwd())
    if modules and here not in sys.path:
        sys.path.insert(0, here)  # and stays there, since other processes look for modules where this one does
    for name in modules:
        try:
            importlib.import_module(name)
        except InputError:
            raise
        except (Exception, SystemExit) as error:  # whatever a user's module does
            problem = f"{type(error).__name__}: {error}"
            raise InputError(
                f"--plugin {quoted(name)}: cannot be imported ({problem}); give the name of a Python module, without "
                ".py, that runs without an error"
            ) from error


plugin_option = click.option(
    "--plugin",
    multiple=True,
    metavar="MODULE",
    is_eager=True,
    expose_value=False,
    callback=_load,
    help="A Python module that registers rules of your own with vt.register.",
)
