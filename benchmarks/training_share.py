"""What drawing training data takes beside learning from it: ``python benchmarks/training_share.py``.

Both are parts of one compiled program, so each is compiled alone here, and timed beside the whole step. It rewrites the
section on training in docs/machines.md.
"""

import time
from pathlib import Path

import jax
from page import put_section

from veritally.learned.tasks import DeepSetsTask


def seconds(function, *arguments, turns=20):
    """Return the median time of a call, after the first, which compiles."""
    jax.block_until_ready(function(*arguments))
    times = []
    for _ in range(turns):
        start = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - start)
    return sorted(times)[turns // 2]


def main():
    task, shares, sizes = DeepSetsTask(), [], []
    for size in task.sizes:
        parameters, key, numbers = task.initial_parameters(0), jax.random.key(0), jax.numpy.asarray(size[1:])

        def loss(parameters, key, size=size, numbers=numbers):
            return task.loss(size, parameters, key, numbers)[0]

        def draw(key, size=size, numbers=numbers):
            truth, ballots = task.draw(size, key, numbers)
            return truth, ballots.votes, ballots.counts

        drawing, step = seconds(jax.jit(draw), key), seconds(jax.jit(jax.value_and_grad(loss)), parameters, key)
        data = sum(x.nbytes for x in draw(key))
        shares.append(drawing / step)
        sizes.append(data / 1e6)
        print(f"{size}: drawing {drawing * 1e3:.1f} ms of a step of {step * 1e3:.1f} ms, {data / 1e6:.1f} MB of data")
    put_section(
        Path(__file__).parents[1] / "docs" / "machines.md",
        "training",
        "**Training** (`veritally train`) stays in one process. "
        "The votes that it learns from are drawn within each step:\n"
        f"that takes {min(shares):.0%} to {max(shares):.0%} of a step on a CPU, and sending them would mean "
        f"{min(sizes):.1f} to {max(sizes):.1f} MB a step.\n"
        "`python benchmarks/training_share.py` measures this and writes this section.",
    )


if __name__ == "__main__":
    main()
