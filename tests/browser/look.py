"""Look at HTML pages in a real browser: ``python tests/browser/look.py site report.html``.

Debian's chromium opens each page from disk, on a wide screen and on a phone, light and dark. Screenshots go to a
folder. It prints every fault: what axe-core finds, a page that scrolls sideways, a formula that KaTeX does not
understand, an error in a script, a request that leaves the machine. ``make look`` does this for the site.
"""

import argparse
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

SIZES = {"wide": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
SCHEMES = ("light", "dark")
# A page is too wide if its document scrolls sideways, or if something is cut off at its right edge.
TOO_WIDE = """() => {
    const width = document.documentElement.clientWidth;
    const boxed = element => {
        for (let box = element.parentElement; box !== document.body; box = box.parentElement)
            if (box === null || getComputedStyle(box).overflowX !== "visible") return true;
        return false;
    };
    const cut = [...document.body.querySelectorAll("*")].filter(
        element => element.getBoundingClientRect().right > width + 1 && element.checkVisibility() && !boxed(element));
    return document.documentElement.scrollWidth > width + 1 || cut.length
        ? [cut.slice(0, 3).map(element => element.outerHTML.slice(0, 100))] : [];
}"""
NO_FORMULA = """() => [...document.querySelectorAll(".katex-error, .arithmatex:not(:has(.katex))")]
    .map(element => element.title || element.textContent)"""


def main() -> int:
    """Look at the pages that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path, help="HTML files, or folders of them")
    parser.add_argument("--pictures", type=Path, default=Path("look"), help="the folder for screenshots [look]")
    parser.add_argument("--whole", action="store_true", help="screenshots of whole pages, not of their first screen")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("No chromium here. On Debian: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("No playwright here: pip install -r tests/browser/requirements.txt")
    faults = 0
    pages = list(_pages(options.paths))
    options.pictures.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for size, viewport in SIZES.items():
            for scheme in SCHEMES:
                context = browser.new_context(viewport=viewport, color_scheme=scheme, offline=True)
                for page, name in pages:
                    picture = options.pictures / f"{name}-{size}-{scheme}.png"
                    for fault in _look(context, page, picture, options.whole):
                        print(f"{page} ({size}, {scheme}): {fault}", flush=True)
                        faults += 1
                context.close()
        browser.close()
    print(f"{len(pages)} pages, {faults} faults; pictures in {options.pictures}/")
    return 1 if faults or not pages else 0


def _pages(paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Return each page with a name for its pictures."""
    for path in paths:
        for page in sorted(path.rglob("*.html")) if path.is_dir() else [path]:
            inside = page.relative_to(path) if path.is_dir() else Path(page.name)
            yield page, "-".join(inside.with_suffix("").parts)


def _look(context: Any, path: Path, picture: Path, whole: bool) -> list[str]:
    """Open a page, take its picture and return its faults."""
    from axe_playwright_python.sync_playwright import Axe

    faults: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: _note_request(request.url, faults))
    page.on("pageerror", lambda error: faults.append(f"script: {error}"))
    page.goto(path.resolve().as_uri(), wait_until="load")
    page.wait_for_timeout(200)  # scripts of the theme that run after the page has loaded
    page.screenshot(path=picture, full_page=whole)
    faults += [f"too wide: {cut}" for cut in page.evaluate(TOO_WIDE)]
    faults += [f"formula: {formula}" for formula in page.evaluate(NO_FORMULA)]
    for violation in Axe().run(page).response["violations"]:
        nodes = violation["nodes"]
        first = f"{nodes[0]['target']} {nodes[0]['html'][:120]}"
        faults.append(f"axe {violation['id']} ({violation['impact']}), {len(nodes)} times: {first}")
    page.close()
    return faults


def _note_request(url: str, faults: list[str]) -> None:
    if url.startswith(("http:", "https:", "ws:", "wss:")):
        faults.append(f"request: {url}")


if __name__ == "__main__":
    sys.exit(main())
