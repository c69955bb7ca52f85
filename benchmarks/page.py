"""Pages of several sections, each written by its own program and kept by the others."""

from pathlib import Path


def put_section(page: Path, name: str, text: str) -> None:
    """Write a section of a page between its marks, in place of the old one or at the end; keep all else."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    old = page.read_text() if page.exists() else ""
    before, found, rest = old.partition(begin)
    after = rest.partition(end)[2]
    if not found and old:
        before += "\n"
    page.write_text(f"{before}{begin}{text.strip()}\n{end}{after}")
