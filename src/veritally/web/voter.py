"""Pages of voters: a ballot to fill in, to look over, and to change."""

import contextlib
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from veritally.errors import InputError
from veritally.web.decisions import counted, read_ballot
from veritally.web.desk import NOWHERE, OPEN_LONG, Asked, Desk
from veritally.web.kept import ClosedError, Decision, full
from veritally.web.links import new_secret
from veritally.web.numbers import written


def vote(desk: Desk, asked: Asked) -> Response:
    """Take the ballot of a voter with a link."""
    voter = desk.store.by_voter(asked.secret)
    if voter is None:
        raise HTTPException(404, NOWHERE)

    def keep(given: Mapping[str, Any]) -> Response:
        desk.store.vote(voter, given)
        return RedirectResponse(asked.link, 303)

    person = voter.name or ""
    decision = desk.ended(voter.decision)
    return _ballot(desk, asked, decision, voter.given, keep, person=person, secret=asked.secret, voted=voter.voted)


def join(desk: Desk, asked: Asked) -> Response:
    """Take a ballot by the open link."""
    decision = desk.decision(asked, desk.store.by_open_link)
    receipt = (asked.form or {}).get("receipt", "")
    if not re.fullmatch(
        r"[A-Za-z0-9_-]{32}", receipt
    ):  # it comes with the form, so that a ballot sent twice counts once
        receipt = new_secret()

    if asked.form is None and not decision.closed and desk.store.came(decision) >= decision.setup.limit:
        return desk.show(asked, "said.html", title=decision.setup.title, said=f"{full(decision.setup.limit)}.")

    def keep(given: Mapping[str, Any]) -> Response:
        desk.store.vote_by_open_link(decision, given, receipt)
        return desk.show(asked, "receipt.html", decision=decision, receipt=f"{asked.base}v/{receipt}")

    return _ballot(desk, asked, decision, None, keep, person="", secret=receipt, voted=False, joined=True)


def _ballot(
    desk: Desk,
    asked: Asked,
    decision: Decision,
    given: Mapping[str, Any] | None,
    keep: Callable[[Mapping[str, Any]], Response],
    **shown: Any,
) -> Response:
    """Show a ballot to fill in, then to look over, and keep it."""
    form, shuffled = asked.form, list(decision.alternatives)
    random.Random(shown["secret"]).shuffle(shuffled)  # an order of each voter's own, which nothing kept may have
    shown |= {"decision": decision, "alternatives": shuffled}
    if decision.closed:
        return desk.show(asked, "closed.html", late=form is not None, **shown)
    # Whoever makes new links must not see a ballot that nobody else is to see.
    hidden = given is not None and bool(shown["person"]) and not decision.setup.readable
    if form is None and hidden:
        return desk.show(asked, "thanks.html", **shown)
    if form is None or form.get("act") == "again":
        filled = {} if hidden else _filled(given)
        return desk.show(asked, "ballot.html", filled=filled, problem="", field="", **shown)
    try:
        if asked.old:
            raise InputError(OPEN_LONG)
        read = read_ballot(form, decision.setup, decision.alternatives)
    except InputError as mistake:
        return desk.show(
            asked, "ballot.html", 400, filled=form, problem=str(mistake), field=getattr(mistake, "field", ""), **shown
        )
    if form.get("act") == "change":
        return desk.show(asked, "ballot.html", filled=form, problem="", field="", **shown)
    if form.get("act") != "submit":
        lines = _lines(read, decision, shuffled)
        return desk.show(asked, "review.html", filled=_filled(read), lines=lines, **shown)
    try:
        response = keep(read)
    except ClosedError as late:
        return desk.show(asked, "said.html", 409, title="Not taken", said=str(late))
    with contextlib.suppress(OSError, sa.exc.SQLAlchemyError):  # the ballot is kept, whatever comes after
        if (now := desk.store.by_number(decision.id)) is not None:
            desk.answers.ask(now, asked.address)
    return response


def _filled(given: Mapping[str, Any] | None) -> dict[str, str]:
    """Return a kept ballot as the fields of its form."""
    made: dict[str, str] = {}
    for number, own in (given or {}).items():
        for what in ("seen", "rank", "score"):
            if what in own:
                made[f"{what}-{number}"] = own[what] if isinstance(own[what], str) else written(own[what])
        if own.get("favourite"):
            made["favourite"] = str(number)
    return made


def _lines(
    given: Mapping[str, Any], decision: Decision, alternatives: Sequence[tuple[int, str]]
) -> list[tuple[str, str, str]]:
    """Return a ballot in words, the best first: vote, name, how much was seen."""
    setup, rows = decision.setup, []
    ranks = Counter(own.get("rank") for own in given.values())
    for number, name in alternatives:
        own = given[str(number)]
        seen = own["seen"] if isinstance(own["seen"], str) else f"{written(own['seen'])} {setup.unit}".strip()
        if "rank" in own:
            vote, key = f"{own['rank']}{' (tied)' if ranks[own['rank']] > 1 else ''}", (0, own["rank"])
        elif "score" in own:
            vote, key = written(own["score"]), (0, -own["score"])
        elif own.get("favourite"):
            vote, key = "favourite", (0, 0)
        elif not counted(own["seen"], setup):
            vote, key = "not seen", (2, 0)
        else:
            vote, key = "no score" if setup.kind == "scores" else "below the others", (1, 0)
        rows.append((key, (vote, name, seen)))
    return [line for _, line in sorted(rows, key=lambda row: row[0])]
