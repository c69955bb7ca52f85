"""Decisions and voters as the tables have them, and what is done to their rows within a transaction."""

import datetime
import random
from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from veritally.errors import InputError
from veritally.web.decisions import FEWEST_HIDDEN, Setup
from veritally.web.links import hashed
from veritally.web.schema import alternatives, ballots, decisions, in_order, note_deletion, voters


class ClosedError(InputError):
    """Raised where a decision takes no more ballots."""


TOO_FEW = f"fewer than {FEWEST_HIDDEN} have voted: an answer, or a list of the votes, would tell who gave which ballot"


def full(limit: int) -> str:
    """Return what is said where an open link takes no more people."""
    return f"{limit} people have voted by this link, and no more can; ask the organiser"


class Decision(NamedTuple):
    """A decision as it stands.

    Attributes
    ----------
    id
        Its number, which no link tells.
    setup
        As its organiser wants it.
    alternatives
        Numbers and names.
    closed
        Whether the organiser closed it.
    saved
        Whether its single votes were saved though the organiser is not to see who gave which.
    revision
        One more with each change of what is decided.
    open, shared
        Whether there is an open link, and a link to the answer.
    upload
        The name of the vote file it is of, where there are no voters.
    """

    id: int
    setup: Setup
    alternatives: tuple[tuple[int, str], ...]
    closed: bool
    saved: bool
    revision: int
    open: bool
    shared: bool
    upload: str | None

    @property
    def over(self) -> bool:
        """Whether it takes no more ballots."""
        return self.closed or self.setup.over(datetime.datetime.now(datetime.UTC))

    @property
    def final(self) -> str:
        """Why voting cannot be opened again; empty if it can."""
        if not self.setup.named:
            return "anonymous ballots cannot be changed once they are closed, so it stays closed"
        return "its votes were saved, and new ones would tell who gave them, so it stays closed" if self.saved else ""

    def require_voting(self) -> None:
        """Refuse more voters where nobody can vote again."""
        if self.over and self.final:
            raise ClosedError("voting is over for good, so nobody can be added")

    def too_few(self, ballots: int) -> bool:
        """Whether so few ballots tell who gave which, though the organiser is not to see it."""
        return self.upload is None and not self.setup.readable and ballots < FEWEST_HIDDEN

    @property
    def unsaved(self) -> str:
        """Why the votes cannot be saved; empty if they can."""
        if self.setup.readable or self.saved or self.upload is not None:
            return ""
        if self.closed:
            return "" if not self.setup.named else "save the votes on the page of the decision, which then stays closed"
        return "the votes can be saved when voting is closed: until then they would tell who gave which"


class Voter(NamedTuple):
    """Who came by a link, whether with a ballot, and that ballot as long as it is known whose it is."""

    id: int
    decision: Decision
    name: str | None
    voted: bool
    given: Mapping[str, Any] | None


def one(connection: sa.Connection, which: sa.ColumnElement[bool]) -> Decision | None:
    """Return a decision without its vote file."""
    columns = [column for column in decisions.c if column is not decisions.c.upload]
    row = connection.execute(sa.select(*columns).where(which)).first()
    if row is None:
        return None
    asked = sa.select(alternatives.c.id, alternatives.c.name).where(alternatives.c.decision == row.id)
    names = tuple((own.id, own.name) for own in connection.execute(asked.order_by(alternatives.c.id)))
    flags = (row.open_link is not None, row.answer_link is not None)
    return Decision(row.id, Setup(**row.setup), names, row.closed, row.saved, row.revision, *flags, row.upload_name)


def inserted(connection: sa.Connection, row: sa.Insert) -> int:
    """Insert a row; return its number."""
    key = connection.execute(row).inserted_primary_key
    assert key is not None
    return int(key[0])


def came(connection: sa.Connection, decision: int) -> int:
    """Return how many have voted by the open link."""
    own = (voters.c.decision == decision) & voters.c.name.is_(None)
    return connection.scalar(sa.select(sa.func.count()).select_from(voters).where(own)) or 0


def number_of_ballots(connection: sa.Connection, decision: int) -> int:
    """Return how many ballots were given."""
    asked = sa.select(sa.func.count()).select_from(ballots).where(ballots.c.decision == decision)
    return connection.scalar(asked) or 0


def add_voters(connection: sa.Connection, decision: int, links: Mapping[str, str]) -> None:
    """Add voters by name, with their secrets."""
    if links:
        rows = [{"decision": decision, "name": name, "link": hashed(secret)} for name, secret in links.items()]
        connection.execute(sa.insert(voters), rows)


def put_ballot(connection: sa.Connection, decision: int, voter: int, given: Mapping[str, Any]) -> None:
    """Keep the ballot of a voter in place of the former one."""
    connection.execute(sa.delete(ballots).where(ballots.c.voter == voter))
    connection.execute(sa.insert(ballots).values(decision=decision, voter=voter, given=in_order(given)))
    changed(connection, decision)


def locked(connection: sa.Connection, decision: int) -> bool:
    """Let no other transaction change the decision meanwhile; say whether it is still there."""
    own = sa.select(decisions.c.id).where(decisions.c.id == decision).with_for_update()
    return connection.scalar(own) is not None


def require_kept(connection: sa.Connection, decision: int) -> Decision:
    """Return a decision as it stands, which no other transaction changes meanwhile; refuse one that was deleted."""
    found = one(connection, decisions.c.id == decision) if locked(connection, decision) else None
    if found is None:
        raise ClosedError("this decision was deleted")
    return found


def require_open(connection: sa.Connection, decision: int, otherwise: str = "your ballot was not taken") -> Decision:
    """Refuse what comes when a decision is over, also if it was open when the page was made."""
    found = require_kept(connection, decision)
    if found.over:
        raise ClosedError(f"voting is over; {otherwise}")
    return found


def changed(connection: sa.Connection, decision: int) -> None:
    """Say that there may be another answer now."""
    own = sa.update(decisions).where(decisions.c.id == decision)
    connection.execute(own.values(revision=decisions.c.revision + 1))


def close(connection: sa.Connection, decision: Decision) -> None:
    """Let a decision take no more ballots. Anonymous ones lose their voters, and come in an order of their own."""
    connection.execute(sa.update(decisions).where(decisions.c.id == decision.id).values(closed=True))
    if decision.setup.named:
        return
    note_deletion(connection)
    own = ballots.c.decision == decision.id
    given = list(connection.scalars(sa.select(ballots.c.given).where(own)))
    random.SystemRandom().shuffle(given)
    connection.execute(sa.delete(ballots).where(own))
    if given:
        connection.execute(sa.insert(ballots), [{"decision": decision.id, "given": each} for each in given])
    # by the open link there is a voter for each ballot, in the order of voting
    came = (voters.c.decision == decision.id) & voters.c.name.is_(None)
    links = list(connection.scalars(sa.select(voters.c.link).where(came)))
    random.SystemRandom().shuffle(links)
    connection.execute(sa.delete(voters).where(came))
    if links:
        rows = [{"decision": decision.id, "link": link, "voted": True} for link in links]
        connection.execute(sa.insert(voters), rows)
