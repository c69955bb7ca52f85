"""How sure combined verdicts of graders are, and how often right: without a panel, and with one learned from answers.

    python benchmarks/graders.py

Six graders say C or I of samples of which 60% are correct. Either each errs by itself on a fixed share of samples, or
graders see signs of quality with errors of which they share a part. Prints a Markdown table for docs/pipelines.md.
"""

import warnings

import numpy as np

import veritally as vt

GRADERS = [f"grader {k}" for k in range(1, 7)]
LEARNED, NEW = 200, 2000


def fixed(random, samples, errors):
    """Whether samples are correct, and graders say so who err independently."""
    truth = random.random(samples) < 0.6
    return truth, truth[:, None] ^ (random.random((samples, len(errors))) < errors)


def shared(random, samples, part):
    """Whether samples are correct, and graders say so whose errors, as large as the quality, are shared in part."""
    quality = random.normal(size=samples) + 0.25
    own, common = random.normal(size=(samples, 6)), random.normal(size=(samples, 1))
    return quality > 0, quality[:, None] + np.sqrt(1 - part) * own + np.sqrt(part) * common > 0


CONDITIONS = {
    "each errs on 10%": lambda random, samples: fixed(random, samples, np.full(6, 0.1)),
    "each errs on 30%": lambda random, samples: fixed(random, samples, np.full(6, 0.3)),
    "they err on 5% to 45%": lambda random, samples: fixed(random, samples, np.linspace(0.05, 0.45, 6)),
    "half of the error is shared": lambda random, samples: shared(random, samples, 0.5),
    "90% of the error is shared": lambda random, samples: shared(random, samples, 0.9),
}


def profile(says):
    """Votes as those of a log are read."""
    return vt.Profile(
        top=np.where(says, 0, 1), counts=np.ones((*says.shape, 2)), alternatives=["C", "I"], voters=GRADERS
    )


def said_and_right(outcome, truth):
    """Return how probable verdicts are said to be, and what share is right, with its error; a tie is half right."""
    chance, scores = np.asarray(outcome.p_best)[:, 0], np.asarray(outcome.fit.scores)
    tie = np.abs(scores[:, 0] - scores[:, 1]) <= np.sum(np.asarray(outcome.fit.rounding), axis=-1)
    said = np.where(tie, 0.5, np.maximum(chance, 1 - chance))
    right = np.where(tie, 0.5, (chance > 0.5) == truth)
    return f"{said.mean():.3f}", f"{right.mean():.3f} ± {right.std() / np.sqrt(len(right)):.3f}"


def row(name, draw):
    """Return a row of the table."""
    random = np.random.default_rng(24)
    truth, says = draw(random, LEARNED)
    answers = np.where(truth[:, None], [1.0, 0.0], [0.0, 1.0])
    panel = vt.learn_panel(profile(says), answers, roles="alternatives")
    truth, says = draw(random, NEW)
    votes = profile(says)
    alone, right = said_and_right(vt.decide(votes), truth)
    pooled, again = said_and_right(vt.decide(votes, scale="pooled"), truth)
    assert right == again  # the same verdicts, only surer
    by_panel = vt.decide(votes, panel=panel)
    return [
        name,
        right,
        alone,
        pooled,
        *reversed(said_and_right(by_panel, truth)),
        f"{by_panel.effective_voters[0]:.1f}",
    ]


def main():
    warnings.simplefilter("ignore", vt.InputWarning)
    print("| six graders | right | said, alone | said, pooled | right, with a panel | said, with a panel | worth |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, draw in CONDITIONS.items():
        print("|", " | ".join(row(name, draw)), "|", flush=True)


if __name__ == "__main__":
    main()
