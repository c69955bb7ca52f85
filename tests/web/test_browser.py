"""The page in a real browser, which is Debian's chromium: by mouse, by keyboard, on a phone, without JavaScript."""

import csv
import datetime
import io
import re
import shutil
import time
from urllib.parse import urlsplit

import pytest

from browser.look import TOO_WIDE
from veritally.web.decisions import Setup

sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright here: pip install playwright")
axe_api = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="no axe-core here: pip install axe-playwright-python"
)
expect = sync_api.expect

POSTERS = ("Bats", "Ice", "Moss")
TEN = (*POSTERS, "Roofs", "Salt", "Seeds", "Soil", "Stars", "Tides", "A title that is too long for its own poster")
VOTES = b"voter,alternative,rank,count\na,x,1,3\na,y,2,3\nb,x,1,2\nb,y,2,2\n"
PHONE = {"viewport": {"width": 375, "height": 720}, "has_touch": True, "is_mobile": True}
QUIET = ("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync")
PATIENCE = 30_000  # milliseconds, for an answer on a machine that is busy
SMALL_TARGETS = """() => [...document.querySelectorAll("button, select, input:not([type=hidden]), .handle, summary")]
    .filter(element => element.checkVisibility())
    .filter(element => {
        const box = (element.closest("label.choice") ?? element).getBoundingClientRect();
        return box.height < 40 || box.width < 40;
    }).map(element => element.outerHTML.slice(0, 100))"""
FOCUSED = """() => {
    const element = document.activeElement;
    if (element === document.body) return "";
    return element.getAttribute("aria-label") ?? `${element.id} ${element.value ?? ""} ${element.textContent}`;
}"""


@pytest.fixture(scope="module")
def browser():
    place = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if place is None:
        pytest.skip("no chromium here; on Debian: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=place, args=[*QUIET, "--no-first-run"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, server):
    """Return what lets somebody in with a browser of their own. Whatever goes wrong unseen fails the test."""
    contexts, faults = [], []

    def watch(context):
        def requested(request):
            if request.url.startswith("http") and not request.url.startswith(server.base):
                faults.append(f"a request to {request.url}")

        def responded(response):
            if response.status >= 400 and response.request.resource_type != "document":
                faults.append(f"{response.status} for {response.url}")

        def said(message):  # a page that says no is no fault, but the console calls it one
            if message.type in ("error", "warning") and "responded with a status of 4" not in message.text:
                faults.append(f"console: {message.text}")

        context.on("request", requested)
        context.on("response", responded)
        context.on("console", said)
        context.on("weberror", lambda error: faults.append(f"script: {error.error}"))

    def visit(link, **options):
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        watch(context)
        page = context.new_page()
        page.goto(server.base + link)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert not faults


@pytest.fixture
def make(server):
    """Return what sets up a decision; it returns the links: the organiser's, and those of voters by name."""

    def make(names=POSTERS, people=("Ada", "Ben"), **setup):
        setup = Setup(**({"title": "Best poster", "readable": True, "shown": True} | setup))
        organiser, links = server.store.create(setup, names, people)
        return f"/o/{organiser}", {name: f"/v/{link}" if name else f"/j/{link}" for name, link in links.items()}

    return make


@pytest.fixture
def keep(server):
    """Return what votes in somebody's place: the alternatives in their order."""

    def keep(link):
        voter = server.store.by_voter(link.removeprefix("/v/"))
        numbers = [str(number) for number, _ in voter.decision.alternatives]
        server.store.vote(voter, {number: {"seen": "some", "rank": k + 1} for k, number in enumerate(numbers)})

    return keep


def card(page, name):
    return page.get_by_role("group", name=name, exact=True)


def see(page, **seen):
    for name, word in seen.items():
        card(page, name).get_by_label("Seen").select_option(word.replace("_", " "))


def ranks(page):
    """Return the ranks on a ballot, from top to bottom."""
    page.wait_for_load_state()
    return page.eval_on_selector_all(
        ".alternative",
        "all => all.map(x => [x.querySelector('legend').textContent, x.querySelector('[data-rank]').value])",
    )


def submit(page):
    page.get_by_role("button", name="Next: check your ballot").click()
    expect(page.get_by_role("heading", name="Not submitted yet")).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#main")).to_contain_text("Your ballot is in")


def vote(page, *best_first):
    """Rank with the select of each, as everybody can."""
    for k, name in enumerate(best_first):
        card(page, name).get_by_label("Seen").select_option("a lot")
        card(page, name).get_by_role("combobox", name="Rank").select_option(str(k + 1))
    submit(page)


def votes(page, server, organiser, column="rank"):
    rows = csv.DictReader(io.StringIO(page.request.get(f"{server.base}{organiser}/votes.csv").text()))
    return {(row["voter"], row["alternative"]): row[column] for row in rows}


def drag(page, name, over):
    """Drag an alternative by its handle to the place of another."""
    handle, target = card(page, name).locator(".handle").bounding_box(), card(page, over).bounding_box()
    x, y = handle["x"] + 20, handle["y"] + 20
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 5)
    page.mouse.move(x, target["y"] + 5, steps=4)
    page.mouse.up()


def follow(page, name):
    """Open a link of the page of links; return the new tab."""
    with page.context.expect_page() as opened:
        page.get_by_role("link", name=name).first.click()
    return opened.value


def until(page, holds):
    """Wait until something holds; a page lets no code of ours wait there."""
    end = time.monotonic() + PATIENCE / 1000
    while not holds():
        assert time.monotonic() < end
        page.wait_for_timeout(100)


def announced(page):
    return expect(page.locator("#announced"))


def test_a_whole_decision_by_mouse(visit):
    organiser = visit("/")
    organiser.get_by_role("link", name="Set up a decision").click()
    organiser.get_by_label("What is to be decided?").fill("Best poster")
    organiser.get_by_label("Alternatives, one per line").fill("\n".join(POSTERS))
    organiser.get_by_label("Voters, one per line").fill("Ada\nBen")
    organiser.get_by_label("I can read each ballot").check()
    organiser.get_by_label("Voters can read the answer").check()
    organiser.get_by_role("button", name="Make the links").click()
    own, *people = [urlsplit(link.get_attribute("href")).path for link in organiser.locator("a.link").all()]
    assert [own[:3], *(link[:3] for link in people)] == ["/o/", "/v/", "/v/"]
    organiser = follow(organiser, own)
    expect(organiser.get_by_text("0 of 2 have voted")).to_be_visible()
    organiser.get_by_role("link", name="Read the answer").click()
    expect(organiser.get_by_text("Nobody has voted yet")).to_be_visible(timeout=PATIENCE)

    ada = visit(people[0])
    higher = card(ada, "Moss").get_by_role("button", name="Moss: rank higher")
    higher.click()
    announced(ada).to_have_text("Moss: say first how much of it you have seen")
    see(ada, Moss="a_lot", Bats="some", Ice="a_little")
    higher.click()
    announced(ada).to_have_text("Moss: rank 1 of 1")
    for name in ("Bats", "Ice"):
        card(ada, name).get_by_role("button", name="rank lower").click()
    assert ranks(ada) == [["Moss", "1"], ["Bats", "2"], ["Ice", "3"]]
    card(ada, "Ice").get_by_role("button", name="rank higher").click()
    drag(ada, "Bats", over="Moss")
    announced(ada).to_have_text("Bats: rank 1 of 3")
    assert ranks(ada) == [["Bats", "1"], ["Moss", "2"], ["Ice", "3"]]
    ada.get_by_role("button", name="Next: check your ballot").click()
    expect(ada.locator("tbody tr")).to_have_text([re.compile("1 *Bats *some"), re.compile("Moss"), re.compile("Ice")])
    ada.get_by_role("button", name="Go back and change").click()
    assert ranks(ada)[0] == ["Bats", "1"]
    submit(ada)

    expect(organiser.locator("#state")).to_contain_text("1 ballot", timeout=PATIENCE)  # by itself
    expect(organiser.locator("#answer")).to_contain_text("Bats")
    ada.get_by_role("link", name="Read the answer").click()
    expect(ada.locator("#answer")).to_contain_text("Bats")


def tab_to(page, label):
    """Press Tab until this has the focus; return what the focus went over."""
    names = []
    for _ in range(60):
        page.keyboard.press("Tab")
        names.append(page.evaluate(FOCUSED))
        if label in names[-1]:
            return names
    raise AssertionError(f"{label} is out of reach: {names}")


def test_a_whole_decision_by_keyboard_alone(visit):
    page = visit("/")
    keys = page.keyboard
    tab_to(page, "To the content")
    tab_to(page, "Set up a decision")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="Set up a decision")).to_be_visible()
    for field, text in (("title", "Best poster"), ("alternatives", "\n".join(POSTERS))):
        tab_to(page, field)
        keys.insert_text(text)
    tab_to(page, "ranking")
    keys.press("ArrowDown")
    keys.press("ArrowUp")
    tab_to(page, "voters")
    keys.insert_text("Ada")
    tab_to(page, "named")
    keys.press("ArrowDown")  # readable
    tab_to(page, "Make the links")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="A link for each voter")).to_be_visible()
    made, page = page, open_by_key(page, "/v/")
    keys = page.keyboard

    expect(page.get_by_text("Ballot of Ada")).to_be_visible()
    order = [name for name, _ in ranks(page)]
    first, second, third = order
    passed = tab_to(page, f"seen-{_number(page, first)}")
    assert not any("⠿" in name for name in passed)  # the handle is for pointers
    keys.type("a lot")
    keys.press("Alt+ArrowUp")
    announced(page).to_have_text(f"{first}: rank 1 of 1")
    tab_to(page, f"seen-{_number(page, second)}")
    keys.press("ArrowDown")
    keys.press("Alt+ArrowDown")
    announced(page).to_have_text(f"{second}: rank 2 of 2")
    keys.press("Alt+ArrowUp")
    announced(page).to_have_text(f"{second}: rank 1 of 2")
    assert page.evaluate("document.activeElement.name") == f"seen-{_number(page, second)}"
    tab_to(page, f"{third}: rank higher")
    keys.press("Enter")
    announced(page).to_have_text(f"{third}: say first how much of it you have seen")
    keys.type("some")  # it has the focus
    tab_to(page, f"rank-{_number(page, third)}")
    keys.press("ArrowDown")
    announced(page).to_have_text(f"{third}: rank 1")  # a tie
    tab_to(page, "Next: check your ballot")
    keys.press("Enter")
    expect(page.locator("tbody tr td:first-child")).to_have_text(["1 (tied)", "1 (tied)", "2"])
    tab_to(page, "Submit")
    keys.press("Enter")
    expect(page.locator("#voted")).to_be_focused()

    page = open_by_key(made, "/o/")
    keys = page.keyboard
    expect(page.get_by_text("1 of 1 have voted")).to_be_visible()
    tab_to(page, "Read the answer")
    keys.press("Enter")
    expect(page.locator("#answer")).to_contain_text(second, timeout=PATIENCE)
    tab_to(page, "Back to the decision")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="Change")).to_be_visible()
    tab_to(page, "Close voting")  # what opens, then the button in it
    keys.press("Enter")
    tab_to(page, "close Close voting")
    keys.press("Enter")
    expect(page.get_by_text("Voting is over")).to_be_visible()


def open_by_key(page, link):
    """Open a link of the page of links by keyboard; return the new tab."""
    page.bring_to_front()
    tab_to(page, link)
    with page.context.expect_page() as opened:
        page.keyboard.press("Enter")
    return opened.value


def _number(page, name):
    return card(page, name).get_by_label("Seen").get_attribute("name").removeprefix("seen-")


def require_fit(page):
    """Refuse what is too wide for a phone, or too small for a finger."""
    page.wait_for_load_state()
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate(SMALL_TARGETS) == []


def test_a_whole_decision_about_ten_alternatives_on_a_phone(visit, server):
    page = visit("/", **PHONE)
    require_fit(page)
    page.get_by_role("link", name="Set up a decision").tap()
    page.get_by_label("What is to be decided?").fill("Best poster")
    page.get_by_label("Anything to tell voters").fill("Please look at them on Tuesday.")
    page.get_by_label("Alternatives, one per line").fill("\n".join(TEN))
    page.get_by_label("Voters, one per line").fill("Ada\nBen")
    page.get_by_label("up to this many people").fill("5")
    page.get_by_label("I can read each ballot").tap()
    page.get_by_label("Voters can read the answer").tap()
    page.get_by_label("Voting ends at").fill("2040-05-31T17:00")
    require_fit(page)
    page.get_by_role("button", name="Make the links").tap()
    expect(page.get_by_role("heading", name="A link for each voter")).to_be_visible()
    require_fit(page)
    organiser = urlsplit(page.locator("a.link").first.get_attribute("href")).path
    page = follow(page, "/v/")
    expect(page.get_by_text("Ballot of Ada")).to_be_visible()
    require_fit(page)
    assert page.evaluate("document.documentElement.scrollHeight") < 3 * 720
    chosen = [name for name, _ in ranks(page)]
    for name in chosen:
        card(page, name).get_by_label("Seen").select_option("some")
        card(page, name).get_by_role("button", name="rank higher").tap()
    assert [rank for _, rank in ranks(page)] == [str(k) for k in range(1, 11)]
    _drag_by_touch(page, chosen[-1], 30)  # near the upper edge, where the page scrolls
    assert ranks(page)[0] == [chosen[-1], "1"]
    page.get_by_role("button", name="Next: check your ballot").tap()
    expect(page.get_by_role("heading", name="Not submitted yet")).to_be_visible()
    assert page.evaluate(TOO_WIDE) == []
    page.get_by_role("button", name="Submit").tap()
    expect(page.locator("#voted")).to_be_visible()
    assert votes(page, server, organiser)[("Ada", chosen[-1])] == "1"
    page.get_by_role("link", name="Read the answer").tap()
    expect(page.locator("#answer")).to_contain_text(chosen[-1], timeout=PATIENCE)
    expect(page.locator("#state")).to_have_attribute("data-busy", "no")  # else it is loaded again
    require_fit(page)


def _drag_by_touch(page, name, y):
    """Drag to a height of the screen, and wait there until the page has scrolled to its top."""
    handle = card(page, name).locator(".handle")
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    session = page.context.new_cdp_session(page)

    def touch(kind, *at):
        points = [{"x": box["x"] + 20, "y": height} for height in at]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", box["y"] + 20)
    touch("touchMove", box["y"])
    touch("touchMove", y)
    until(page, lambda: page.evaluate("scrollY") == 0)
    touch("touchMove", y)
    touch("touchEnd")
    session.detach()


def test_without_javascript(visit, server):
    page = visit("/new", java_script_enabled=False)
    page.get_by_label("What is to be decided?").fill("Best poster")
    page.get_by_label("Alternatives, one per line").fill("\n".join(POSTERS))
    page.get_by_label("Voters, one per line").fill("Ada")
    page.get_by_label("I can read each ballot").check()
    page.get_by_label("Voters can read the answer").check()
    page.get_by_label("Voting ends at (UTC").fill("2040-05-31T17:00")
    page.get_by_role("button", name="Make the links").click()
    expect(page.get_by_role("button", name="Copy")).to_have_count(0)
    page = follow(page, "/v/")
    expect(page.get_by_text("Voting ends at 2040-05-31 17:00 UTC.")).to_be_visible()
    expect(page.locator(".tools, .handle")).to_have_count(0)
    page.get_by_role("button", name="Next: check your ballot").click()
    expect(page.locator("#problem")).to_contain_text("Rank at least one alternative")
    vote(page, "Moss", "Ice")
    page.get_by_role("link", name="Read the answer").click()
    expect(page.locator("meta[http-equiv]")).to_have_count(0)  # nothing moves under who reads slowly

    def has_come():
        page.get_by_role("link", name="Look for a newer answer").click()
        return page.locator("#answer").count()

    until(page, has_come)
    expect(page.locator("#answer")).to_contain_text("Moss")


def test_two_voters_at_once(visit, make, server):
    organiser, links = make()
    ada, ben = visit(links["Ada"]), visit(links["Ben"])
    for page, own in ((ada, "Bats"), (ben, "Ice")):
        see(page, **{own: "a_lot"})
        card(page, own).get_by_role("button", name="rank higher").click()
    for page in (ada, ben):
        page.get_by_role("button", name="Next: check your ballot").click()
    for page in (ben, ada):
        page.get_by_role("button", name="Submit").click()
    for page in (ada, ben):
        expect(page.locator("#voted")).to_be_visible()
    assert votes(ada, server, organiser) == {("Ada", "Bats"): "1", ("Ben", "Ice"): "1"}


def test_a_ballot_of_many_is_ranked_by_numbers_and_stays_in_order(visit, make, server):
    """Menus of as many ranks as there are alternatives would take seconds to change."""
    names = [f"Paper {k}" for k in range(60)]
    _, links = make(names)
    page = visit(links["Ada"])
    for k, name in ((2, "Paper 7"), (1, "Paper 30"), (3, "Paper 2")):
        card(page, name).get_by_label("Seen").select_option("a lot")
        card(page, name).get_by_role("textbox", name="Rank").fill(str(k))
    card(page, "Paper 4").get_by_role("textbox", name="Rank").fill("l")
    card(page, "Paper 2").get_by_role("button", name="rank higher").click()
    announced(page).to_have_text("Paper 4: the rank must be a whole number, from 1 on")
    card(page, "Paper 4").get_by_role("textbox", name="Rank").fill("")
    card(page, "Paper 2").get_by_role("button", name="rank higher").click()
    announced(page).to_have_text("Paper 2: rank 2 of 3")
    best = [["Paper 30", "1"], ["Paper 2", "2"], ["Paper 7", "3"]]
    assert ranks(page)[:4] == [*best, [ranks(page)[3][0], ""]]
    page.get_by_role("button", name="Next: check your ballot").click()
    expect(page.get_by_role("heading", name="Not submitted yet")).to_be_visible()
    page.go_back()
    until(page, lambda: ranks(page)[:3] == best)
    page.goto(server.base + "/")  # to another page in place of the next one
    page.go_back()
    until(page, lambda: ranks(page)[:3] == best)


def test_a_ballot_is_changed(visit, make, server):
    organiser, links = make()
    page = visit(links["Ada"])
    vote(page, "Moss", "Ice", "Bats")
    page = visit(links["Ada"])
    assert ranks(page) == [["Moss", "1"], ["Ice", "2"], ["Bats", "3"]]
    drag(page, "Bats", over="Moss")
    submit(page)
    assert votes(page, server, organiser) == {("Ada", "Bats"): "1", ("Ada", "Moss"): "2", ("Ada", "Ice"): "3"}


def test_the_deadline_passes_while_a_ballot_is_open(visit, make, server):
    organiser, links = make(deadline="2040-05-31T17:00")
    ada, ben = visit(links["Ada"]), visit(links["Ben"], timezone_id="Asia/Tokyo", locale="en-GB")
    expect(ben.locator("main")).to_contain_text("ends at 2040-05-31 17:00 UTC (your time: 1 Jun 2040, 02:00)")
    vote(ben, "Moss")
    expect(ben.locator("#voted")).to_contain_text("until 2040-05-31 17:00 UTC (your time: 1 Jun 2040, 02:00)")
    see(ada, Bats="some")
    card(ada, "Bats").get_by_role("button", name="rank higher").click()
    card(ben, "Moss").get_by_label("Seen").select_option("some")
    decision = server.store.by_organiser(organiser.removeprefix("/o/"))
    past = (datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M")
    server.store._set(decision, setup=decision.setup.to_dict() | {"deadline": past})
    for page, said in ((ada, "was not taken"), (ben, "The one that you gave before counts")):
        page.get_by_role("button", name="Next: check your ballot").click()
        expect(page.locator("main")).to_contain_text("Voting is over")
        expect(page.locator("main")).to_contain_text(said)
    assert votes(ada, server, organiser) == {("Ben", "Moss"): "1"}


def test_the_deadline_is_written_in_the_organisers_own_time(visit, server):
    page = visit("/new", timezone_id="Asia/Tokyo")
    page.get_by_label("What is to be decided?").fill("Best poster")
    page.get_by_label("Alternatives, one per line").fill("Bats\nIce")
    page.get_by_label("Voting ends at (your time").fill("2040-06-01T02:00")
    expect(page.get_by_text("That is 2040-05-31 17:00 UTC.")).to_be_visible()
    page.get_by_role("button", name="Make the links").click()
    expect(page.locator("#mistake")).to_contain_text("Nobody could vote")  # next to the field
    expect(page.get_by_label("Voters, one per line")).to_have_attribute("aria-describedby", "mistake")
    expect(page.locator("#problem")).to_be_focused()
    expect(page.get_by_label("Voting ends at")).to_have_value("2040-06-01T02:00")
    page.get_by_label("Voters, one per line").fill("Ada")
    page.get_by_role("button", name="Make the links").click()
    page = follow(page, "/o/")
    expect(page.locator("main")).to_contain_text("Voting ends at 2040-05-31 17:00 UTC")


def test_the_open_link_gives_a_receipt(visit, make, server):
    organiser, links = make(people=(), limit=3)
    page = visit(links[""])
    vote(page, "Ice", "Moss")
    receipt = page.locator("a.link")
    expect(receipt).to_be_visible()
    receipt.click()
    expect(page.locator("#voted")).to_be_visible()
    assert ranks(page)[0] == ["Ice", "1"]
    drag(page, "Moss", over="Ice")
    submit(page)
    assert votes(page, server, organiser) == {("voter 1", "Moss"): "1", ("voter 1", "Ice"): "2"}


def test_scores_and_a_favourite(visit, make, server):
    organiser, links = make(kind="scores", words={}, unit="hours")
    page = visit(links["Ada"], **PHONE)
    card(page, "Ice").get_by_label("Score").fill("7.5")
    page.get_by_role("button", name="Next: check your ballot").tap()
    expect(page.get_by_role("alert")).to_contain_text("but have not seen it")
    expect(card(page, "Ice").locator(".mistake")).to_be_visible()
    card(page, "Ice").get_by_label("Seen (hours)").fill("3")
    submit(page)
    assert votes(page, server, organiser, "value") == {("Ada", "Ice"): "7.5"}

    organiser, links = make(kind="favourite")
    page = visit(links["Ada"])
    see(page, Bats="some", Ice="a_lot")
    card(page, "Ice").get_by_label("Favourite").check()
    submit(page)
    assert votes(page, server, organiser) == {("Ada", "Bats"): "", ("Ada", "Ice"): "1"}


def test_what_an_organiser_does(visit, make):
    organiser, links = make(limit=5)
    vote(visit(links["Ada"]), "Moss", "Ice")
    page = visit(organiser, permissions=["clipboard-read", "clipboard-write"])

    def act(summary, button):
        page.locator("summary", has_text=summary).click()
        page.get_by_role("button", name=button, exact=True).click()

    def copied(name):
        page.get_by_role("button", name=name).click()
        announced(page).to_have_text("Copied.")
        return page.evaluate("navigator.clipboard.readText()")

    expect(page.get_by_text("1 of 2 have voted")).to_be_visible()
    page.locator("summary", has_text="1 has not voted yet").click()
    assert copied("Copy the names") == "Ben"
    page.locator("summary", has_text="Add voters").click()
    page.locator("#voters").fill("Cleo\nDora")
    page.get_by_role("button", name="Make their links").click()
    both = [line.split("\t") for line in copied("Copy all links of voters").splitlines()]
    assert [name for name, _ in both] == ["Cleo", "Dora"]
    assert copied("Copy the link of Dora") == both[1][1]
    page.get_by_role("link", name="Back to the decision").click()
    page.locator("summary[aria-label='New link for Ben']").click()
    page.get_by_role("button", name="Make a new link for Ben").click()
    expect(page.locator(".links li")).to_have_count(1)
    page.get_by_role("link", name="Back to the decision").click()

    act("Share the answer", "Make a link to the answer")
    reader = visit(urlsplit(copied("Copy the link to the answer")).path)
    expect(reader.locator("#answer")).to_contain_text("Moss")
    act("Close voting", "Close voting")
    expect(page.get_by_text("Voting is over")).to_be_visible()
    act("Open voting again", "Open it")
    expect(page.get_by_text("Voting is open")).to_be_visible()
    act("Set up again", "Set it up")
    page = follow(page, "/o/")
    expect(page.get_by_text("0 of 4 have voted")).to_be_visible()
    act("Delete", "Delete")
    expect(page.get_by_label("Delete the decision")).to_be_focused()  # the browser asks for it
    page.get_by_label("Delete the decision").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("The decision and all its ballots are deleted.")).to_be_visible()


def test_who_reads_the_small_print_is_not_interrupted(visit, make, keep):
    people = [f"Voter {k}" for k in range(32)]  # so many that they are listed in a part to open
    organiser, links = make(people=people)
    for name in people[1:]:
        keep(links[name])
    page = visit(f"{organiser}/answer")
    page.locator("#answer summary").first.click()
    vote(visit(links[people[0]]), "Bats", "Ice", "Moss")
    page.get_by_role("button", name="Show it").click()
    expect(page.locator("#state")).to_contain_text("32 ballots")


def test_a_vote_file_leads_to_the_answer(visit):
    page = visit("/")
    file = {"name": "posters.csv", "mimeType": "text/csv", "buffer": VOTES}
    page.get_by_label("A file of votes").set_input_files(file)
    page.get_by_role("button", name="Read the answer").click()
    expect(page.get_by_role("heading", name="posters")).to_be_visible()
    expect(page.locator("#answer")).to_contain_text("x")
    with page.expect_download() as saved:
        page.get_by_role("link", name="Votes (the file)").click()
    assert saved.value.suggested_filename == "posters.csv"


# Every page, as a state that a browser is brought to.


def _open(link):
    return lambda page, base: page.goto(base + link)


def _click(link, button, **fields):
    def reach(page, base):
        page.goto(base + link)
        for label, text in fields.items():
            page.locator(f"#{label}").fill(text)
        page.get_by_role("button", name=button).click()

    return reach


@pytest.fixture
def states(make, keep, server):
    """Return every page by name: a function that brings a browser there."""
    organiser, links = make(TEN, limit=5, deadline="2040-05-31T17:00", text="Please look at them.")
    _, scores = make(kind="scores", words={}, unit="hours")
    _, favourite = make(kind="favourite", readable=False)
    waiting, _ = make()
    over, late = make()
    server.store.close_voting(server.store.by_organiser(over.removeprefix("/o/")))
    voted, own = make(TEN)
    keep(own["Ada"])
    _, hidden = make(readable=False)
    keep(hidden["Ada"])

    def review(page, base):
        page.goto(base + own["Ada"])
        page.get_by_role("button", name="Next: check your ballot").click()

    def receipt(page, base):
        page.goto(base + links[""])
        vote(page, "Moss", "Ice")

    unsaved, once = make(readable=False)
    keep(once["Ada"])
    server.store.close_voting(server.store.by_organiser(unsaved.removeprefix("/o/")))
    shared = server.store.share(server.store.by_organiser(voted.removeprefix("/o/")))
    file = server.store.upload(Setup("posters"), "posters.csv", VOTES)
    bad = server.store.upload(Setup("posters"), "posters.csv", b"who,what\na,x\n")

    def answer(link):
        def reach(page, base):
            page.goto(f"{base}{link}/answer")
            expect(page.locator("#answer")).to_be_visible(timeout=PATIENCE)

        return reach

    def unread(page, base):
        page.goto(f"{base}/o/{bad}/answer")
        expect(page.get_by_text("posters.csv: ")).to_be_visible(timeout=PATIENCE)

    def nothing(page, base):
        page.goto(f"{base}{over}/answer")
        expect(page.get_by_text("Nobody has voted yet")).to_be_visible()

    def busy(page, base):
        page.route("**/state", lambda route: route.fulfill(json={"revision": -1, "busy": True}))
        page.goto(f"{base}{waiting}/answer")
        expect(page.locator("#state")).to_contain_text("being worked out")

    whole = {"title": "Best poster", "alternatives": "Bats\nIce", "voters": "Ada", "limit": "3"}
    return {
        "start": _open("/"),
        "new": _open("/new"),
        "new with a problem": _click("/new", "Make the links", title="Best poster", alternatives="Bats"),
        "links": _click("/new", "Make the links", **whole),
        "organise": _open(organiser),
        "organise, voted": _open(voted),
        "organise, closed": _open(over),
        "ballot": _open(links["Ada"]),
        "ballot with a problem": _click(links["Ada"], "Next: check your ballot"),
        "ballot, moved": _click(links["Ada"], "Moss: rank higher"),
        "ballot of scores": _open(scores["Ada"]),
        "ballot of a favourite": _open(favourite["Ada"]),
        "ballot to change": _open(own["Ada"]),
        "thanks": _open(hidden["Ada"]),
        "review": review,
        "receipt": receipt,
        "closed": _open(late["Ada"]),
        "organise, hidden and closed": _open(unsaved),
        "answer": answer(voted),
        "answer, shared": answer(f"/a/{shared}"),
        "answer of a file": answer(f"/o/{file}"),
        "answer of a file, unread": unread,
        "file": _open(f"/o/{file}"),
        "answer, none": nothing,
        "said": _open("/v/nobody"),
        "answer, busy": busy,  # for ever, from then on
    }


@pytest.mark.parametrize("width", [375, 1280])
def test_every_page_is_accessible_and_fits(visit, states, server, width):
    page, faults, axe = visit("/", viewport={"width": width, "height": 800}), [], axe_api.Axe()
    for name, reach in states.items():
        reach(page, server.base)
        page.wait_for_load_state()
        page.evaluate("document.querySelectorAll('details').forEach(x => { x.open = true })")
        faults += [f"{name} is too wide: {cut}" for cut in page.evaluate(TOO_WIDE)]
        for scheme, rules in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):  # all else is the same
            page.emulate_media(color_scheme=scheme)
            for found in axe.run(page, options=rules).response["violations"]:
                node = found["nodes"][0]
                faults.append(f"{name}, {scheme}: {found['id']} {node['target']} {node['html'][:120]}")
    assert not faults
