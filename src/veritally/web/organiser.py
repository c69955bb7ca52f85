"""Pages of the organiser: set up a decision or send a vote file, follow the voting, change it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from veritally.errors import InputError
from veritally.web.decisions import (
    FEWEST_HIDDEN,
    LONGEST_NAME,
    MOST_ALTERNATIVES,
    MOST_VOTERS,
    WORDS,
    FieldError,
    Setup,
    clean_text,
    read_field,
    read_names,
    read_setup,
    repeated_names,
)
from veritally.web.desk import OPEN_LONG, Asked, Desk, csv
from veritally.web.kept import Decision
from veritally.web.numbers import whole, written
from veritally.web.reading import read_reading

_MOST_PICTURES = 100  # QR codes, which take long to make


def start(desk: Desk, asked: Asked) -> Response:
    """Show the first page."""
    return desk.show(asked, "start.html", demo=desk.demo)


def new(desk: Desk, asked: Asked) -> Response:
    """Show the form of a new decision, and set it up."""
    form = asked.form or {}
    problem = field = ""
    if asked.form is not None:
        try:
            if asked.old:
                raise InputError(OPEN_LONG)
            setup = read_setup(form)
            names = read_field(form, "alternatives", lambda text: read_names(text, "alternatives", MOST_ALTERNATIVES))
            people = read_field(form, "voters", lambda text: read_names(text, "voters", MOST_VOTERS))
            _require_enough(setup, names, people)
            organiser, links = desk.store.create(setup, names, people)
        except InputError as mistake:
            problem, field = str(mistake), getattr(mistake, "field", "")
        else:
            told = [
                *_merged(form, "voters", "one link was made"),
                *_merged(form, "alternatives", "voters see it once"),
                *_too_few(setup, people),
            ]
            return _links(desk, asked, setup, links, organiser, told)
    words = "\n".join(f"{word} = {written(count)}" for word, count in WORDS.items())
    status = 400 if problem else 200
    return desk.show(asked, "new.html", status, form=form, words=words, problem=problem, field=field)


def file(desk: Desk, asked: Asked) -> Response:
    """Take a vote file in place of voters."""
    if asked.form is None or asked.file is None:
        raise InputError("no file was sent; choose one")
    name = clean_text(Path(asked.file[0]).name, "the name of the file", LONGEST_NAME) or "votes"
    setup = _read_so(Setup(Path(name).stem), asked.form)
    organiser = desk.store.upload(setup, name, asked.file[1])
    return RedirectResponse(f"/o/{organiser}/answer", 303)


def _read_so(setup: Setup, form: Mapping[str, str]) -> Setup:
    """Return the setup of a vote file, to be read and decided as a form says."""
    choose = whole(form.get("choose", "") or "1", "how many are chosen", 1, MOST_ALTERNATIVES)
    return replace(setup, choose=choose, reading=read_reading(form))


def organise(desk: Desk, asked: Asked) -> Response:
    """Show how the voting goes, and what can be changed."""
    return _overview(desk, asked, desk.decision(asked, desk.store.by_organiser))


def act(desk: Desk, asked: Asked) -> Response:
    """Do what the organiser asks for, or say why not."""
    try:
        return _act(desk, asked)
    except InputError as mistake:
        return desk.refusal(asked, mistake)


def _act(desk: Desk, asked: Asked) -> Response:
    store, form, what = desk.store, asked.form or {}, (asked.form or {}).get("act", "")
    decision = desk.decision(asked, store.by_organiser)
    if what == "voters":
        people = read_names(form.get("voters", ""), "voters", MOST_VOTERS)
        links = store.add_voters(decision, people)
        known = [f"{name} had a link before, which still holds." for name in people if name not in links]
        told = [*_merged(form, "voters", "one link was made"), *known]
        return _links(desk, asked, decision.setup, links, told=told)
    if what == "renew":
        name, link = store.renew(decision, whole(form.get("voter", ""), "the voter", 0, (1 << 31) - 1))
        return _links(desk, asked, decision.setup, {name: link})
    if what == "copy":
        organiser, links = store.copy(decision)
        return _links(desk, asked, decision.setup, links, organiser)
    if what == "share":
        shared = f"{asked.base}a/{store.share(decision)}"
        return _overview(desk, asked, decision._replace(shared=True), shared=shared)
    if what == "save":
        if decision.unsaved:
            store.save_votes(decision)
        return RedirectResponse(f"{asked.link}/votes.csv", 303)
    if what == "read":
        store.read_anew(decision, _read_so(decision.setup, form))
        return RedirectResponse(f"{asked.link}/answer", 303)
    if what == "delete":
        if form.get("sure") != "yes":
            raise InputError("nothing was deleted; tick the box to say that you are sure")
        store.delete(decision)
        deleted = "The decision and all its ballots" if decision.upload is None else "The file and its answer"
        return desk.show(asked, "said.html", title="Deleted", said=f"{deleted} are deleted.")
    if what == "alternatives":
        store.add_alternatives(decision, read_names(form.get("alternatives", ""), "alternatives", MOST_ALTERNATIVES))
    elif what == "limit":
        store.raise_limit(decision, whole(form.get("limit", ""), "how many may vote by the open link", 0, MOST_VOTERS))
    elif what == "unshare":
        store.unshare(decision)
    elif what == "close":
        store.close_voting(decision)
    elif what == "reopen":
        store.reopen(decision)
    else:
        raise HTTPException(400, "This form asks for nothing that can be done here.")
    return RedirectResponse(asked.link, 303)


def _overview(desk: Desk, asked: Asked, decision: Decision, **given: Any) -> Response:
    return desk.show(
        asked,
        "organise.html",
        decision=decision,
        people=desk.store.people(decision),
        number=desk.store.number_of_ballots(decision),
        came=desk.store.came(decision),
        ballots=desk.store.given(decision) if decision.setup.readable else [],
        link=asked.link,
        most=MOST_VOTERS,
        **given,
    )


def _merged(form: Mapping[str, str], field: str, instead: str) -> list[str]:
    """Return a sentence for each name that was given more than once."""
    return [f"{name} stood there more than once; {instead}." for name in repeated_names(form.get(field, ""), field)]


def _too_few(setup: Setup, people: Sequence[str]) -> list[str]:
    """Return a sentence where too few can vote for an answer that gives no ballot away."""
    if setup.readable or len(people) + setup.limit >= FEWEST_HIDDEN:
        return []
    return [
        f"Fewer than {FEWEST_HIDDEN} can vote so far, so there will be no answer: it would tell who gave which ballot."
    ]


def _links(
    desk: Desk,
    asked: Asked,
    setup: Setup,
    links: Mapping[str, str],
    organiser: str = "",
    told: Sequence[str] = (),
) -> Response:
    """Show links, once, and what else there is to tell."""
    people = [(name, f"{asked.base}v/{secret}") for name, secret in links.items() if name]
    joined = f"{asked.base}j/{links['']}" if "" in links else ""
    every = [*people, *([("everybody", joined)] if joined else [])]
    table = csv([{"voter": name, "link": link} for name, link in every], ("voter", "link"))
    own = f"{asked.base}o/{organiser}" if organiser else ""
    back = asked.link if asked.secret and not organiser else ""
    shown: dict[str, Any] = {
        "people": people,
        "join": joined,
        "organiser": own,
        "table": table,
        "back": back,
        "told": told,
        "most_pictures": _MOST_PICTURES,
    }
    return desk.show(asked, "links.html", setup=setup, **shown)


def _require_enough(setup: Setup, names: Sequence[str], people: Sequence[str]) -> None:
    if len(names) < 2:
        raise FieldError("give at least two alternatives, one per line", "alternatives")
    if not people and not setup.limit:
        raise FieldError("nobody could vote; name voters, one per line, or say how many may use an open link", "voters")
    if setup.choose >= len(names):
        raise FieldError(f"{setup.choose} of {len(names)} alternatives are no choice; choose fewer", "choose")
