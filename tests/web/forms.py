"""Forms of the page, filled in by requests alone, as a browser without JavaScript sends them."""

import html
import re
import time

NEW = {
    "title": "Best <b>poster</b>",
    "alternatives": "Bats\nWater tests\n=HYPERLINK(1)",
    "kind": "ranking",
    "seen": "words",
    "voters": "Ada\nBen",
    "ballots": "readable",
    "shown": "yes",
    "limit": "0",
}


def stamp(text):
    return re.search(r'name="stamp" value="([^"]+)"', text)[1]


def links(text, role):
    return list(dict.fromkeys(re.findall(rf"/{role}/([\w-]+)", text)))


def send(client, page, fields, to=None):
    """Fill in a form of a page as a browser does."""
    return client.post(to or page, data={"stamp": stamp(client.get(page).text)} | fields)


def set_up(client, **changes):
    response = send(client, "/new", NEW | changes)
    assert response.status_code == 200, response.text
    return links(response.text, "o")[0], links(response.text, "v"), links(response.text, "j")


def numbers(client, link):
    """Return the numbers of alternatives by name, as the ballot has them."""
    page = client.get(link).text
    found = re.findall(r"<legend>(.*?)</legend>.*?name=\"seen-(\d+)\"", page, re.DOTALL)
    return {html.unescape(name): number for name, number in found}


def ballot(client, link, ranks, seen="a lot"):
    by_name = numbers(client, link)
    return filled([by_name[name] for name in ranks], ranks.values(), seen)


def filled(numbers, ranks, seen="a lot"):
    """Return the fields of a ballot on which alternatives have these ranks."""
    fields = {f"rank-{number}": str(rank) for number, rank in zip(numbers, ranks, strict=True)}
    return fields | {f"seen-{number}": seen for number in numbers}


def submit(client, link, fields):
    return send(client, link, fields | {"act": "submit"})


def vote(client, link, ranks, seen="a lot"):
    fields = ballot(client, link, ranks, seen)
    review = send(client, link, fields | {"act": "review"})
    assert "Not submitted yet" in review.text
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', review.text))
    return client.post(link, data={name: html.unescape(x) for name, x in hidden.items()} | {"act": "submit"})


def answer(client, link, seconds=60):
    """Return the page of the answer once it is worked out, however busy this machine is."""
    end, pause = time.monotonic() + seconds, 0.1
    while time.monotonic() < end:
        page = client.get(f"{link}/answer")
        if 'data-busy="no"' in page.text:
            return page.text
        time.sleep(pause)
        pause = min(1.5 * pause, 0.6)  # a link may ask twice a second
    raise AssertionError("no answer")
