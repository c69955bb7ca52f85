"""What to cite: the paper, veritally, and what rules rest on."""

import re
from importlib.resources import files

from veritally.registry import rule_info

_ALWAYS = ("pitis2020", "veritally")
_REFERENCE = re.compile(r"(\w+)(?: & \w+| et al\.)? \((\d{4})\)")  # as in "Zaheer et al. (2017)", cited as zaheer2017


def cite(*rules: str) -> str:
    """Return BibTeX for the paper, for veritally, and for the sources of the named rules.

    The sources of a rule are those that its ``reference`` in :func:`veritally.rules` names.

    Examples
    --------
    >>> [line for line in cite("borda").splitlines() if line.startswith("@")]
    ['@inproceedings{pitis2020,', '@misc{veritally,', '@article{borda1781,']
    """
    named = [key for rule in rules for key in references(rule_info(rule).reference)]
    entries = bibliography()
    return "\n\n".join(entries[key] for key in dict.fromkeys((*_ALWAYS, *named)))


def references(text: str) -> list[str]:
    """Return the keys of the works that a text names by author and year.

    >>> references("Pitis & Zhang (2020), Case 4; Thurstone (1927)")
    ['pitis2020', 'thurstone1927']
    """
    return [author.lower() + year for author, year in _REFERENCE.findall(text)]


def bibliography() -> dict[str, str]:
    """Return every BibTeX entry by its key."""
    text = (files("veritally") / "bibliography.bib").read_text(encoding="utf-8")
    return {entry.split("{")[1].split(",")[0]: entry for entry in text.strip().split("\n\n")}
