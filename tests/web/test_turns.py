"""Turns that go round among names."""

import asyncio

from veritally.web.turns import Turns


def taken(names, called_off=()):
    """Let names ask in this order while somebody has the turn, and call some off; return the order of their turns."""
    turns, order = Turns(), []

    async def take(k):
        async with turns.turn(names[k]):
            order.append(names[k])
            await asyncio.sleep(0)

    async def run():
        async with turns.turn("first"):
            tasks = [asyncio.create_task(take(k)) for k in range(len(names))]
            await asyncio.sleep(0)
            for k in called_off:
                tasks[k].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(1), turns.turn("last"):  # it is free again
            order.append("last")

    asyncio.run(run())
    return "".join(order)


def test_names_take_turns():
    assert taken("AAAB") == "ABAAlast"
    assert taken("AAABCAB") == "ABCABAAlast"


def test_a_turn_that_is_called_off_is_anothers():
    assert taken("AAB", called_off=[1]) == "ABlast"
    assert taken("AB", called_off=[0, 1]) == "last"


def test_a_turn_that_is_called_off_as_it_comes_is_anothers():
    turns, order = Turns(), []

    async def take(name):
        async with turns.turn(name):
            order.append(name)

    async def run():
        async with turns.turn("first"):
            one, other = (asyncio.create_task(take(name)) for name in "AB")
            await asyncio.sleep(0)
        one.cancel()  # its turn has come, but it has not noticed
        await asyncio.wait([one, other], timeout=1)

    asyncio.run(run())
    assert order == ["B"]
