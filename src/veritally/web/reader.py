"""Pages of the answer, for whoever may read it, and what can be saved."""

import json

from starlette.exceptions import HTTPException
from starlette.responses import Response

from veritally.errors import InputError
from veritally.web.answers import tidy_columns, tidy_rows, unclear
from veritally.web.desk import NOWHERE, Asked, Desk, attachment, csv
from veritally.web.kept import TOO_FEW, Decision
from veritally.web.pages import HEADERS

_KINDS = ("answer", "state", "answer.json", "report.html")


def read_answer(desk: Desk, asked: Asked) -> Response:
    """Show the answer to whoever may see it, or hand it out as a file."""
    what, decision = asked.what or "answer", _readable(desk, asked)
    if what == "votes.csv" and asked.role == "o":
        return _votes(desk, asked, decision)
    if what not in _KINDS:
        raise HTTPException(404, NOWHERE)
    revision = desk.store.answered(decision)
    busy = revision != decision.revision
    if busy:
        desk.answers.ask(decision, asked.address)
    if what == "state":
        state = json.dumps({"revision": revision, "busy": busy})
        return Response(state, media_type="application/json", headers=HEADERS)
    revision, found = desk.store.answer(decision) or (-1, {})
    if what == "answer.json":
        outcomes = found.get("json") or [{"problem": found.get("problem", "there is no answer yet")}]
        outcomes = [one | ({"unseen": found["unseen"]} if found.get("unseen") else {}) for one in outcomes]
        return attachment(json.dumps(outcomes[0] if len(outcomes) == 1 else outcomes, indent=1), "answer.json")
    if what == "report.html":
        return attachment(desk.pages.report(decision.setup.title, found), "report.html")
    number = desk.store.number_of_ballots(decision)
    return desk.show(
        asked,
        "answer.html",
        decision=decision,
        found=found,
        busy=busy,
        revision=revision,
        number=number,
        unclear=unclear(found.get("json", [])),
        link=asked.link,
    )


def _readable(desk: Desk, asked: Asked) -> Decision:
    """Return the decision whose answer this link lets read."""
    if asked.role == "o":
        return desk.decision(asked, desk.store.by_organiser)
    if asked.role == "a":
        return desk.decision(asked, desk.store.by_answer)
    voter = desk.store.by_voter(asked.secret)
    if voter is None or not voter.decision.setup.shown:
        raise HTTPException(404, NOWHERE)
    return desk.ended(voter.decision)


def _votes(desk: Desk, asked: Asked, decision: Decision) -> Response:
    if decision.unsaved:
        return desk.refusal(asked, InputError(decision.unsaved))
    if decision.upload is not None:
        return attachment(desk.store.uploaded(decision), decision.upload)
    if decision.too_few(desk.store.number_of_ballots(decision)):
        return desk.refusal(asked, InputError(TOO_FEW))
    rows = tidy_rows(decision.setup, decision.alternatives, desk.store.given(decision))
    return attachment(csv(rows, tidy_columns(decision.setup)), "votes.csv")
