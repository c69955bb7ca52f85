"""Take the pictures of the page for its documentation: ``python docs/screenshots.py``, or ``make screenshots``.

A made-up committee sets up a decision and votes, in Debian's chromium. The pictures are in docs/assets/serve/.
"""

import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

PICTURES = Path(__file__).parent / "assets" / "serve"
WIDE, PHONE = {"width": 900, "height": 950}, {"width": 390, "height": 760}
TITLE = "Best poster of the workshop"
POSTERS = ("Bats in cities", "Cheap water tests", "Ice that remembers", "Lichens as clocks", "Quiet propellers")
# For each voter, the posters from best to worst, by their initials, and how much of each was seen.
VOTES = {
    "Ada": ("CIBL", ("a lot", "a lot", "some", "a little")),
    "Ben": ("ICQ", ("a lot", "some", "a little")),
    "Cleo": ("CBIQL", ("a lot", "a little", "a lot", "some", "some")),
    "Dora": ("BLI", ("a little", "a little", "a little")),
    "Emil": ("CQL", ("some", "some", "a little")),
    "Fay": ("CIQBL", ("a lot", "a lot", "some", "a little", "a little")),
}
# Links are secrets of a server that is gone; the pictures have the address of one that might be.
SHOWN = """() => { document.querySelector(".here")?.remove(); for (const link of document.querySelectorAll("a.link"))
    link.textContent = link.textContent.replace(/http:..[^/]*/, "https://vote.example.org") }"""


def main() -> None:
    """Take every picture."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("No chromium here. On Debian: apt-get install chromium")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with served() as base, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        look = {"color_scheme": "light", "locale": "en-GB", "timezone_id": "Europe/Berlin"}
        organiser = browser.new_context(viewport=WIDE, **look).new_page()
        organiser.goto(base)
        take(organiser, "start")
        links = set_up(organiser, base)
        for name in list(VOTES)[:-1]:
            voter = browser.new_context(viewport=WIDE, **look).new_page()
            fill(voter, links[name], *VOTES[name])
            submit(voter)
        phone = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True, **look).new_page()
        fill(phone, links["Fay"], *VOTES["Fay"])
        phone.evaluate("() => { scrollTo(0, 0); document.getElementById('announced').textContent = '' }")
        take(phone, "ballot")
        phone.get_by_role("button", name="Next: check your ballot").click()
        take(phone, "review")
        submit(phone)
        organiser.goto(links[""])
        organiser.locator("summary", has_text="not voted").click()
        take(organiser, "organise")
        organiser.get_by_role("link", name="Read the answer").click()
        organiser.get_by_text("6 ballots. Voting is open").wait_for()
        take(organiser, "answer", 860)
        take_hidden(organiser, phone, base)
        take_file(organiser, base)
        browser.close()


def take_hidden(organiser: Any, phone: Any, base: str) -> None:
    """Take the pages of a hidden ballot, of one by the open link, and of a decision that is closed."""
    organiser.goto(f"{base}/new")
    organiser.get_by_label("What is to be decided?").fill(TITLE)
    organiser.get_by_label("Alternatives, one per line").fill("\n".join(POSTERS))
    organiser.get_by_label("Voters, one per line").fill("Ada")
    organiser.get_by_label("up to this many people").fill("20")
    organiser.get_by_role("button", name="Make the links").click()
    own, joined, ada = (link.get_attribute("href") for link in organiser.locator("a.link").all())
    fill(phone, ada, *VOTES["Ada"])
    submit(phone)
    take(phone, "thanks")
    for name in ("Ben", "Cleo"):  # before three have voted there is no answer, and nothing to save
        fill(phone, joined, *VOTES[name])
        phone.get_by_role("button", name="Next: check your ballot").click()
        phone.get_by_role("button", name="Submit").click()
        phone.locator("a.link").wait_for()
    take(phone, "receipt")
    organiser.goto(own)
    organiser.locator("summary", has_text="Close voting").click()
    organiser.get_by_role("button", name="Close voting").click()
    organiser.locator("summary", has_text="Save the votes").click()
    take(organiser, "over")
    phone.goto(ada)
    take(phone, "closed")


def take_file(page: Any, base: str) -> None:
    """Take the answer to a file of votes."""
    page.goto(base)
    names = {poster[0]: poster for poster in POSTERS}
    rows = [
        f"{name},{names[initial]},{k + 1},1" for name, (order, _) in VOTES.items() for k, initial in enumerate(order)
    ]
    content = "\n".join(["voter,alternative,rank,count", *rows]).encode()
    page.get_by_label("A file of votes").set_input_files(
        {"name": "posters.csv", "mimeType": "text/csv", "buffer": content}
    )
    page.get_by_role("button", name="Read the answer").click()
    page.locator("#answer").wait_for()
    take(page, "file", 1100)


@contextmanager
def served() -> Iterator[str]:
    """Start the page with an empty database; return its address."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "veritally", "serve", "--port", "0", "--database", f"{folder}/page.db"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        found = re.search(r":(\d+)/", process.stdout.readline())
        assert found is not None
        try:
            yield f"http://127.0.0.1:{found[1]}"
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()
            process.stdout.close()


def set_up(page: Any, base: str) -> dict[str, str]:
    """Set up the decision by its form; return the links of voters by name, and the organiser's own."""
    page.goto(f"{base}/new")
    page.get_by_label("What is to be decided?").fill(TITLE)
    page.get_by_label("Alternatives, one per line").fill("\n".join(POSTERS))
    page.get_by_label("Voters, one per line").fill("\n".join([*VOTES, "Gus"]))
    page.get_by_label("I can read each ballot").check()
    page.get_by_label("Voters can read the answer").check()
    page.get_by_label("Voting ends at").fill("2030-05-31T17:00")
    take(page, "new")
    page.get_by_role("button", name="Make the links").click()
    own, *people = (link.get_attribute("href") for link in page.locator("a.link").all())
    take(page, "links", 625)
    return dict(zip([*VOTES, "Gus"], people, strict=True)) | {"": own}


def fill(page: Any, link: str, order: str, seen: tuple[str, ...]) -> None:
    """Fill in a ballot."""
    page.goto(link)
    for initial, word in zip(order, seen, strict=True):
        name = next(name for name in POSTERS if name.startswith(initial))
        card = page.get_by_role("group", name=name, exact=True)
        card.get_by_label("Seen").select_option(word)
        card.get_by_role("button", name="rank lower").click()


def submit(page: Any) -> None:
    """Submit a ballot, looked over or not."""
    if page.get_by_role("button", name="Submit").count() == 0:
        page.get_by_role("button", name="Next: check your ballot").click()
    page.get_by_role("button", name="Submit").click()
    page.locator("#voted").wait_for()


def take(page: Any, name: str, most: int = 2400) -> None:
    """Take the picture of a whole page, or of so much of it."""
    page.wait_for_load_state()
    page.evaluate(SHOWN)
    page.evaluate("() => document.activeElement.blur()")
    page.mouse.move(0, 0)
    width = page.viewport_size["width"]
    end = page.evaluate(
        "() => Math.ceil(document.getElementById('main').getBoundingClientRect().bottom + scrollY) + 16"
    )
    clip = {"x": 0, "y": 0, "width": width, "height": min(end, most)}
    path = PICTURES / f"{name}.png"
    page.screenshot(path=path, full_page=True, clip=clip)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(64)  # colours enough, for a third of the bytes
    small.save(path, optimize=True)


if __name__ == "__main__":
    main()
