"""An example that newcomers see: a made-up committee that ranked posters, some of which each of them had seen."""

import hashlib
import hmac

from veritally.web.decisions import Setup
from veritally.web.store import Store

_POSTERS = ("Bats in cities", "Cheap water tests", "Ice that remembers", "Lichens as clocks", "Quiet propellers")
_SEEN = ("not at all", "a little", "some", "a lot")
# For each voter, rank and how much was seen of each poster; rank 0 for one that was not ranked.
_BALLOTS = {
    "Committee 1": ((3, 2), (1, 3), (2, 2), (4, 1), (0, 0)),
    "Committee 2": ((0, 0), (2, 2), (1, 3), (0, 0), (3, 1)),
    "Committee 3": ((2, 1), (1, 3), (3, 3), (4, 2), (5, 2)),
    "Committee 4": ((1, 1), (0, 0), (3, 1), (2, 1), (0, 0)),
    "Committee 5": ((3, 2), (2, 3), (1, 3), (0, 0), (4, 2)),
    "Committee 6": ((0, 0), (1, 2), (0, 0), (3, 1), (2, 2)),
    "Committee 7": ((4, 3), (1, 3), (2, 3), (5, 3), (3, 3)),
}


def make_demo(store: Store) -> str:
    """Return the secret of a link to the answer of the example, which is made at the first start if there is room.

    Everybody may know it. It is the same for all servers of a database, so that none takes it from the others.
    """
    decision = store.demo()
    if decision is None:
        if not store.has_room:
            return ""
        setup = Setup("Best poster (an example)", text="A made-up committee.", readable=True, shown=True)
        organiser, links = store.create(setup, _POSTERS, list(_BALLOTS))
        decision = store.by_organiser(organiser)
        assert decision is not None
        for name, ballot in _BALLOTS.items():
            voter = store.by_voter(links[name])
            assert voter is not None
            given = {
                str(number): {"seen": _SEEN[seen]} | ({"rank": rank} if rank else {})
                for (number, _), (rank, seen) in zip(decision.alternatives, ballot, strict=True)
            }
            store.vote(voter, given)
        store.close_voting(decision)
        store.keep_demo(decision)
        decision = store.demo()
        assert decision is not None
    return store.share(decision, hmac.new(store.key, b"the example", hashlib.sha256).hexdigest()[:32])
