"""Where decisions and ballots are kept: one file, or a PostgreSQL database. One call is one transaction."""

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import sqlalchemy as sa

from veritally.errors import InputError
from veritally.versions import versions
from veritally.web import kept
from veritally.web.database import Database
from veritally.web.decisions import MOST_ALTERNATIVES, MOST_VOTERS, Setup
from veritally.web.kept import ClosedError, Decision, Voter, full
from veritally.web.links import hashed, new_secret
from veritally.web.schema import alternatives, answers, ballots, decisions, facts, note_deletion, voters


class Store:
    """What is kept, and how it changes; ``gigabytes`` is how much of it there may be before only ballots are taken."""

    def __init__(self, address: str, gigabytes: float = 10.0) -> None:
        self._database = Database(address, gigabytes)
        self.key = self._database.key

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def forget(self, at_once: bool = False) -> None:
        """Remove what was deleted from the files, if anything was; ``at_once``, if that takes but a moment."""
        if not at_once or self._database.is_small:
            self._database.forget()

    # Setting up

    def create(self, setup: Setup, names: Sequence[str], people: Sequence[str]) -> tuple[str, dict[str, str]]:
        """Set up a decision; return the organiser's secret and those of voters by name ("" for the open link)."""
        organiser, links = new_secret(), {name: new_secret() for name in people}
        if setup.limit:
            links[""] = new_secret()
        with self._database.write() as connection:
            self._database.require_room(connection)
            number = kept.inserted(
                connection,
                sa.insert(decisions).values(
                    setup=setup.to_dict(),
                    organiser=hashed(organiser),
                    open_link=hashed(links[""]) if setup.limit else None,
                ),
            )
            connection.execute(sa.insert(alternatives), [{"decision": number, "name": name} for name in names])
            kept.add_voters(connection, number, {name: links[name] for name in people})
        return organiser, links

    def upload(self, setup: Setup, name: str, content: bytes) -> str:
        """Keep a vote file as a decision that is over; return the organiser's secret."""
        organiser = new_secret()
        with self._database.write() as connection:
            self._database.require_room(connection)
            values = {"setup": setup.to_dict(), "organiser": hashed(organiser), "closed": True, "revision": 1}
            connection.execute(sa.insert(decisions).values(**values, upload=content, upload_name=name))
        return organiser

    def read_anew(self, decision: Decision, setup: Setup) -> None:
        """Read and decide a vote file as this setup says."""
        if decision.upload is None:
            raise InputError("this decision is not of a file")
        with self._database.write() as connection:
            found = kept.require_kept(connection, decision.id).setup
            changed = replace(found, choose=setup.choose, reading=setup.reading).to_dict()
            connection.execute(sa.update(decisions).where(decisions.c.id == decision.id).values(setup=changed))
            kept.changed(connection, decision.id)

    @property
    def has_room(self) -> bool:
        """Whether there is room for more decisions."""
        with self._database.read() as connection:
            return self._database.has_room(connection)

    def add_voters(self, decision: Decision, people: Sequence[str]) -> dict[str, str]:
        """Add voters; return their secrets by name."""
        links = {name: new_secret() for name in people}
        with self._database.write() as connection:
            self._database.require_room(connection)
            kept.require_kept(connection, decision.id).require_voting()
            known = set(connection.scalars(sa.select(voters.c.name).where(voters.c.decision == decision.id)))
            if len(known | set(people)) > MOST_VOTERS:
                raise InputError(f"a decision can have {MOST_VOTERS} voters")
            links = {name: secret for name, secret in links.items() if name not in known}
            kept.add_voters(connection, decision.id, links)
        return links

    def renew(self, decision: Decision, voter: int) -> tuple[str, str]:
        """Give a voter a new link, so that the old one is void; return the name and the secret."""
        secret = new_secret()
        with self._database.write() as connection:
            own = (voters.c.decision == decision.id) & (voters.c.id == voter) & voters.c.name.is_not(None)
            name = connection.scalar(sa.select(voters.c.name).where(own))
            if name is None:
                raise InputError("there is no such voter in this decision")
            connection.execute(sa.update(voters).where(own).values(link=hashed(secret)))
        return str(name), secret

    def add_alternatives(self, decision: Decision, names: Sequence[str]) -> None:
        """Add alternatives, which those who have voted have not seen."""
        with self._database.write() as connection:
            found = kept.require_open(connection, decision.id, "no alternatives were added")
            known = {name for _, name in found.alternatives}
            rows = [{"decision": decision.id, "name": name} for name in names if name not in known]
            if len(known) + len(rows) > MOST_ALTERNATIVES:
                raise InputError(f"a decision can have {MOST_ALTERNATIVES} alternatives")
            if rows:
                connection.execute(sa.insert(alternatives), rows)
                kept.changed(connection, decision.id)

    def share(self, decision: Decision, secret: str = "") -> str:
        """Make a link to the answer in place of the former one, with a new secret or this one; return it."""
        secret = secret or new_secret()
        self._set(decision, answer_link=hashed(secret))
        return secret

    def unshare(self, decision: Decision) -> None:
        """Take the link to the answer back."""
        self._set(decision, answer_link=None)

    def raise_limit(self, decision: Decision, limit: int) -> None:
        """Let more people vote by the open link."""
        with self._database.write() as connection:
            found = kept.require_kept(connection, decision.id)
            found.require_voting()
            setup = found.setup
            if not setup.limit:
                raise InputError("this decision has no open link")
            if not setup.limit < limit <= MOST_VOTERS:
                raise InputError(f"give a number between {setup.limit + 1} and {MOST_VOTERS}, not {limit}")
            changed = replace(setup, limit=limit).to_dict()
            connection.execute(sa.update(decisions).where(decisions.c.id == decision.id).values(setup=changed))

    def _set(self, decision: Decision, **values: Any) -> None:
        with self._database.write() as connection:
            kept.require_kept(connection, decision.id)
            connection.execute(sa.update(decisions).where(decisions.c.id == decision.id).values(**values))

    def close_voting(self, decision: Decision) -> None:
        """Take no more ballots. Anonymous ones lose every trace of who gave them, and come in an order of their own."""
        self._close(decision, lambda found: True)

    def close_overdue(self, decision: Decision) -> Decision:
        """Close voting if its deadline has passed, as it stands by now; return the decision."""
        return self._close(decision, lambda found: found.over)

    def _close(self, decision: Decision, due: Callable[[Decision], bool]) -> Decision:
        with self._database.write() as connection:
            found = kept.require_kept(connection, decision.id)
            if found.closed or not due(found):
                return found
            kept.close(connection, found)
        return found._replace(closed=True)

    def overdue(self) -> list[Decision]:
        """Return decisions that are still open after their deadline."""
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat(timespec="minutes")
        deadline = decisions.c.setup["deadline"].as_string()
        with self._database.read() as connection:
            passed = ~decisions.c.closed & (deadline != "") & (deadline <= now)
            found = [
                kept.one(connection, decisions.c.id == number)
                for number in connection.scalars(sa.select(decisions.c.id).where(passed)).all()
            ]
        return [decision for decision in found if decision is not None]

    def reopen(self, decision: Decision) -> None:
        """Take ballots again, if they carry names."""
        if decision.upload is not None:
            raise InputError("this decision is of a file, and has no voters")
        with self._database.write() as connection:
            found = kept.require_kept(connection, decision.id)
            if found.final:
                raise InputError(found.final)
            now = datetime.datetime.now(datetime.UTC)
            setup = replace(found.setup, deadline="") if found.setup.over(now) else found.setup
            own = decisions.c.id == decision.id
            connection.execute(sa.update(decisions).where(own).values(closed=False, setup=setup.to_dict()))

    def save_votes(self, decision: Decision) -> None:
        """Let hidden votes be saved, and voting stay closed: what two files differ in would tell who gave it."""
        with self._database.write() as connection:
            found = kept.require_kept(connection, decision.id)
            if not found.closed:
                raise InputError(decision.unsaved)
            if found.too_few(kept.number_of_ballots(connection, decision.id)):
                raise InputError(kept.TOO_FEW)
            connection.execute(sa.update(decisions).where(decisions.c.id == decision.id).values(saved=True))

    def copy(self, decision: Decision) -> tuple[str, dict[str, str]]:
        """Set up the same decision again, with the same voters and no ballots."""
        if decision.upload is not None:
            raise InputError("this decision is of a file, and has no voters")
        people = [name for _, name, _ in self.people(decision)]
        return self.create(replace(decision.setup, deadline=""), [name for _, name in decision.alternatives], people)

    def delete(self, decision: Decision) -> None:
        """Delete a decision and all that belongs to it."""
        with self._database.write() as connection:
            connection.execute(sa.delete(decisions).where(decisions.c.id == decision.id))
            note_deletion(connection)

    # Links

    def by_organiser(self, secret: str) -> Decision | None:
        """Return the decision that an organiser's link is of."""
        return self._found(decisions.c.organiser == hashed(secret))

    def by_number(self, number: int) -> Decision | None:
        """Return a decision by its number, for the server's own use."""
        return self._found(decisions.c.id == number)

    def by_answer(self, secret: str) -> Decision | None:
        """Return the decision that a link to an answer is of."""
        return self._found(decisions.c.answer_link == hashed(secret))

    def by_open_link(self, secret: str) -> Decision | None:
        """Return the decision that an open link is of."""
        return self._found(decisions.c.open_link == hashed(secret))

    def by_voter(self, secret: str) -> Voter | None:
        """Return whose link it is, with the decision and the ballot."""
        with self._database.read() as connection:
            joined = voters.outerjoin(ballots, ballots.c.voter == voters.c.id)
            asked = sa.select(voters, ballots.c.given).select_from(joined)
            row = connection.execute(asked.where(voters.c.link == hashed(secret))).first()
            if row is None:
                return None
            decision = kept.one(connection, decisions.c.id == row.decision)
            return None if decision is None else Voter(row.id, decision, row.name, row.voted, row.given)

    def _found(self, which: sa.ColumnElement[bool]) -> Decision | None:
        with self._database.read() as connection:
            return kept.one(connection, which)

    # Voting

    def vote(self, voter: Voter, given: Mapping[str, Any]) -> None:
        """Keep a ballot in place of the former one."""
        with self._database.write() as connection:
            kept.require_open(connection, voter.decision.id)
            kept.put_ballot(connection, voter.decision.id, voter.id, given)
            connection.execute(sa.update(voters).where(voters.c.id == voter.id).values(voted=True))

    def vote_by_open_link(self, decision: Decision, given: Mapping[str, Any], secret: str) -> None:
        """Keep a ballot that came by the open link; one with the same ``secret`` takes the place of the former one."""
        with self._database.write() as connection:
            limit = kept.require_open(connection, decision.id).setup.limit
            asked = sa.select(voters.c.id, voters.c.decision, voters.c.name).where(voters.c.link == hashed(secret))
            known = connection.execute(asked).first()
            if known is not None and (known.decision, known.name) != (decision.id, None):
                raise ClosedError("this form is not of this link; open the link again")
            voter = None if known is None else known.id
            if voter is None:
                if kept.came(connection, decision.id) >= limit:
                    raise ClosedError(full(limit))
                row = {"decision": decision.id, "link": hashed(secret), "voted": True}
                voter = kept.inserted(connection, sa.insert(voters).values(**row))
            kept.put_ballot(connection, decision.id, voter, given)

    # Reading

    def people(self, decision: Decision) -> list[tuple[int, str, bool]]:
        """Return voters with a link of their own: number, name, and whether they voted."""
        with self._database.read() as connection:
            own = (voters.c.decision == decision.id) & voters.c.name.is_not(None)
            asked = sa.select(voters.c.id, voters.c.name, voters.c.voted).where(own).order_by(voters.c.id)
            return [(row.id, row.name, row.voted) for row in connection.execute(asked)]

    def came(self, decision: Decision) -> int:
        """Return how many have voted by the open link."""
        with self._database.read() as connection:
            return kept.came(connection, decision.id)

    def number_of_ballots(self, decision: Decision) -> int:
        """Return how many ballots were given."""
        with self._database.read() as connection:
            return kept.number_of_ballots(connection, decision.id)

    def given(self, decision: Decision) -> list[tuple[str, Mapping[str, Any]]]:
        """Return all ballots with the names that they go by in the answer."""
        with self._database.read() as connection:
            joined = ballots.outerjoin(voters, ballots.c.voter == voters.c.id)
            asked = sa.select(voters.c.name, ballots.c.given).select_from(joined)
            rows = connection.execute(asked.where(ballots.c.decision == decision.id).order_by(ballots.c.id)).all()
        named = decision.setup.readable
        if not named:
            rows = sorted(rows, key=lambda row: json.dumps(row.given, sort_keys=True))  # not in the order of voting
        taken = {row.name for row in rows} if named else set()
        made_up = (name for k in count(1) if (name := f"voter {k}") not in taken)
        return [(row.name if named and row.name else next(made_up), row.given) for row in rows]

    def uploaded(self, decision: Decision) -> bytes:
        """Return the vote file of a decision that has one."""
        with self._database.read() as connection:
            return bytes(connection.scalar(sa.select(decisions.c.upload).where(decisions.c.id == decision.id)) or b"")

    # Answers

    def answer(self, decision: Decision) -> tuple[int, dict[str, Any]] | None:
        """Return the last answer and the revision it is of."""
        with self._database.read() as connection:
            row = connection.execute(sa.select(answers).where(answers.c.decision == decision.id)).first()
            return None if row is None else (row.revision, row.found)

    def answered(self, decision: Decision) -> int:
        """Return the revision that the last answer is of, −1 if there is none; answers themselves are large."""
        with self._database.read() as connection:
            own = sa.select(answers.c.revision).where(answers.c.decision == decision.id)
            found = connection.scalar(own)
            return -1 if found is None else int(found)

    def keep_answer(self, decision: Decision, revision: int, found: Mapping[str, Any]) -> None:
        """Keep an answer in place of the former one, unless the decision is gone."""
        with self._database.write() as connection:
            if kept.locked(connection, decision.id):
                connection.execute(sa.delete(answers).where(answers.c.decision == decision.id))
                values = {"decision": decision.id, "revision": revision, "found": dict(found)}
                connection.execute(sa.insert(answers).values(**values))

    def decide_again(self) -> None:
        """Let answers be worked out anew that another version found, and those that were not found."""
        with self._database.write() as connection:
            connection.execute(sa.select(facts).where(facts.c.name == "version").with_for_update())  # one at a time
            own, this = facts.c.name == "answers of", versions("veritally")["veritally"]
            if connection.scalar(sa.select(facts.c.value).where(own)) == this:
                connection.execute(sa.delete(answers).where(answers.c.found["problem"].as_string().is_not(None)))
            else:
                connection.execute(sa.delete(answers))
                connection.execute(sa.delete(facts).where(own))
                connection.execute(sa.insert(facts).values(name="answers of", value=this))

    # The example

    def demo(self) -> Decision | None:
        """Return the decision that newcomers see, where there is one."""
        with self._database.read() as connection:
            number = connection.scalar(sa.select(facts.c.value).where(facts.c.name == "demo"))
            return None if number is None else kept.one(connection, decisions.c.id == int(number))

    def keep_demo(self, decision: Decision) -> None:
        """Let newcomers see this decision, or the one that another server has made meanwhile, and delete this one."""
        with self._database.write() as connection:
            connection.execute(sa.select(facts).where(facts.c.name == "version").with_for_update())  # one at a time
            known = connection.scalar(sa.select(facts.c.value).where(facts.c.name == "demo"))
            if known is not None and kept.one(connection, decisions.c.id == int(known)) is not None:
                connection.execute(sa.delete(decisions).where(decisions.c.id == decision.id))
            else:
                connection.execute(sa.delete(facts).where(facts.c.name == "demo"))
                connection.execute(sa.insert(facts).values(name="demo", value=str(decision.id)))
