"""The answer as a document: what comes out, how sure that is, why, and how to repeat it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from veritally.document import Block, Bullets, Chart, Heading, Paragraph, Row, Section, Table
from veritally.explain import Explanation
from veritally.inference.belief import percent
from veritally.outcome import Outcome
from veritally.records import chosen_text, place_chance, plain_means, seen_by, titled
from veritally.report import sentences
from veritally.versions import versions
from veritally.votes.labels import counted, visible

_MOST_DECISIONS = 100  # that are shown in full
_MOST_VOTERS, _FEW_VOTERS = 200, 30  # rows of a table of voters, and how many are shown unasked
_MOST_TIERS = 12  # that are listed

_ORDER = "In order of the estimate. The chance also depends on how much is known, so it may be in another order."
_MODEL = (
    "Probabilities follow from a model: counts mean what they say, and voters err independently unless a panel says "
    "otherwise. The documentation (limits) says how well such probabilities agree with known truths."
)


def shown(text: str) -> str:
    """Return a text that may have names in it: control characters shown, and no backticks, which would be markup."""
    return visible(text).replace("`", "'")


@dataclass(frozen=True)
class Origin:
    """Where an outcome comes from, so that it can be repeated.

    Attributes
    ----------
    title
        What is written above the report; by default the source.
    source
        The name of the vote file.
    checksum
        Its SHA-256.
    command
        The command that decides it so.
    notes
        What was remarked on while the votes were read.
    date
        When, as text.
    """

    title: str = ""
    source: str = ""
    checksum: str = ""
    command: str = ""
    notes: Sequence[str] = field(default_factory=tuple)
    date: str = ""


def document(outcome: Outcome, origin: Origin) -> list[Block]:
    """Return the whole report."""
    title = Heading(shown(origin.title or origin.source or "What is best"), level=1)
    singles = outcome.singles()
    body = _many(outcome) if len(singles) > 1 else _single(singles[0][1])
    return [title, *body, *_warnings(outcome, origin), *_settings(outcome, origin)]


def _single(outcome: Outcome) -> list[Block]:
    """Report one decision."""
    explanation = outcome.explain()
    first, *others = sentences.answer(outcome, explanation)
    lines = [*others, *([] if outcome.p_best is None else sentences.certainty(outcome))]
    return [
        Paragraph(shown(first), large=True),
        *(Paragraph(shown(line)) for line in lines),
        _chart(outcome),
        Heading("Alternatives"),
        *([Paragraph(_ORDER)] if outcome.belief is not None else []),
        alternatives(outcome),
        *(_tiers(outcome) if outcome.choose == 1 else []),
        *_reasons(outcome, explanation),
        *_voters(outcome, explanation),
    ]


def _many(outcome: Outcome) -> list[Block]:
    """Report many decisions: all in a table, the first of them in full."""
    singles = outcome.singles()
    rows = []
    for name, one in singles:
        explanation = one.explain()
        sure = [] if one.p_chosen is None else [percent(one.sureness)]
        second, lead = explanation.runner_up, sentences.lead_text(one, explanation, digits=3)
        names = map(shown, (str(name), chosen_text(one), "" if second is None else str(second)))
        rows.append([*names, *sure, "" if second is None else lead, str(one.voters)])
    best = "Best" if outcome.choose == 1 else f"Best {outcome.choose}"
    header = ["Decision", best, "Next", *([] if outcome.p_chosen is None else ["Sureness"]), "Lead", "Voters"]
    first = singles[:_MOST_DECISIONS]
    more = f"The first {_MOST_DECISIONS} of {len(singles)} decisions in full:" if len(first) < len(singles) else ""
    return [
        Paragraph(f"{len(singles):,} decisions by {sentences.method(outcome)}.", large=True),
        *map(Paragraph, [*sentences.pooled(outcome), *sentences.shared(outcome)]),
        Table.of(header, rows, texts=3),
        *([Paragraph(more)] if more else []),
        *(Section(shown(f"Decision {name}"), _single(one)) for name, one in first),
    ]


def _chart(outcome: Outcome) -> Chart:
    """Draw estimates or distances from the winner with chances, or scores where no more is known."""
    belief, k = outcome.belief, outcome.choose
    best = "chance of being best" if k == 1 else f"chance of being among the best {k}"
    note = "" if outcome.p_chosen is None else f"right: {best}"
    origin: float | None = 0.0
    if belief is None:
        middle, scale = outcome.scores, f"Score by {outcome.rule}"
    elif k > 1 and bool(outcome.profile.ballots.anchored):
        middle, low, high, origin = outcome.scores, belief.low, belief.high, None
        scale = "Estimate with its 95% interval"
    else:
        middle, low, high = belief.distance, belief.distance_low, belief.distance_high
        unit = " in σ, the noise of one observation," if belief.in_sigma else ""
        scale = f"How far behind the first,{unit} with 95% interval (better to the right)"
    rows = []
    for place, j in enumerate(outcome.ordered_positions()):
        chance = None if outcome.p_chosen is None else float(outcome.p_chosen[j])
        start, end = (None, None) if belief is None else (float(low[j]), float(high[j]))
        text = f"{outcome.scores[j]:.4g}" if chance is None else place_chance(chance, k)
        name = shown(titled(outcome, outcome.alternatives[j]))
        rows.append(Row(name, float(middle[j]), start, end, chance, text, strong=place < k))
    described = f"{scale}; {note}. The table below has the numbers."
    cut = k if 1 < k < len(rows) else None
    return Chart(rows, scale, note, described, cut, origin, reverse=belief is not None and origin is not None)


def alternatives(outcome: Outcome) -> Table:
    """Return the table of alternatives, best first, what matters most on the left."""
    belief, k, titles = outcome.belief, outcome.choose, outcome.profile.titles
    voters, counts = (x[outcome.kept] for x in seen_by(outcome.profile))
    order = outcome.ordered_positions()
    names = [outcome.alternatives[j] for j in order]
    columns: dict[str, list[str]] = {}
    if outcome.p_chosen is not None:
        columns["P(best)" if k == 1 else f"P(best {k})"] = [place_chance(outcome.p_chosen[j], k) for j in order]
    if belief is None:
        columns["Score"] = [f"{outcome.scores[j]:.4g}" for j in order]
    else:
        digits = sentences.decimals(belief)
        if k > 1:
            standing = dict.fromkeys(outcome.cut.inside, "in") | dict.fromkeys(outcome.cut.outside, "out")
            columns["Standing"] = [standing.get(name, "borderline") for name in names]
        anchored, unit = bool(outcome.profile.ballots.anchored), " (σ)" if belief.in_sigma else ""
        if anchored:
            columns["Estimate"] = [f"{float(outcome.scores[j]):.{digits}f}" for j in order]
        if anchored and k > 1:  # where distances from the first say little
            columns["95% interval"] = [f"{belief.low[j]:.{digits}f} to {belief.high[j]:.{digits}f}" for j in order]
        else:
            columns[f"Behind{unit}"] = [f"{belief.distance[j]:z.{digits}f}" for j in order]
            columns["95% interval"] = [sentences.interval(belief, j) for j in order]
        if k == 1:
            tier_of = {j: tier for tier, own in enumerate(outcome.clear_tiers, 1) for j in own}
            columns["Tier"] = [str(tier_of[j]) for j in order]
    if (means := plain_means(outcome)) is not None:
        columns["Plain mean"] = ["" if math.isnan(means[j]) else f"{means[j]:.3g}" for j in order]
    columns["Voters"] = [f"{voters[j]:g}" for j in order]
    columns["Count"] = [f"{counts[j]:g}" for j in order]
    tied = outcome.tier_positions
    rank = {j: str(1 + sum(map(len, tied[:place]))) for place, own in enumerate(tied) for j in own}
    texts = [[rank[j], shown(str(name))] for j, name in zip(order, names, strict=True)]
    if titles is not None:
        texts = [[*text, shown(titles.get(str(name), ""))] for text, name in zip(texts, names, strict=True)]
    rows = [[*text, *cells] for text, *cells in zip(texts, *columns.values(), strict=True)]
    header = ["Rank", "Alternative", *([] if titles is None else ["Title"])]
    return Table.of([*header, *columns], rows, texts=len(header))


def _tiers(outcome: Outcome) -> list[Block]:
    """List tiers, and say how much of the ranking is expected to be wrong."""
    if outcome.belief is None or len(outcome.alternatives) <= 2:
        return []
    tiers, n = outcome.tiers, len(outcome.alternatives)
    listed = [f"Tier {t}: {', '.join(map(str, tier))}" for t, tier in enumerate(tiers[:_MOST_TIERS], 1)]
    if len(tiers) > _MOST_TIERS:
        listed.append(f"{len(tiers) - _MOST_TIERS} more tiers: see the table")
    pairs, wrong_pairs = n * (n - 1) // 2, outcome.expected_kendall
    number = f"{wrong_pairs:.1f}" if wrong_pairs < 10 else f"{wrong_pairs:.0f}"
    wrong = f"Of all {pairs:,} pairs, about {number} are expected to be in the wrong order here"
    order, more = ", ".join(map(str, outcome.kendall_ranking[:_MOST_TIERS])), " and so on" if n > _MOST_TIERS else ""
    better = "" if outcome.kendall_ranking == outcome.ordered else f". The order with the fewest is {order}{more}"
    return [
        Heading("Tiers"),
        Paragraph(
            "The first of a tier is not clearly better than the rest of its tier. It is clearly better (with more than "
            "97.5%) than everything in later tiers."
        ),
        Bullets([shown(line) for line in listed]),
        Paragraph(shown(f"{wrong}{better}.")),
    ]


def _reasons(outcome: Outcome, explanation: Explanation) -> list[Block]:
    """Say who decided it, what would change it, and what was estimated."""
    decided = [Paragraph(shown(line)) for line in sentences.decided_by(outcome, explanation)]
    changes = [shown(line) for line in sentences.what_if(explanation)]
    title = "Who decided it" if outcome.choose == 1 else "Who decided the last place"
    blocks: list[Block] = [Heading(title), *decided] if decided else []
    if changes:
        blocks += [Heading("What would change it"), Bullets(changes)]
    found = [] if outcome.p_best is None else sentences.findings(outcome)
    panel = [*sentences.worth(explanation), *sentences.leniency(explanation)]
    if found or panel:
        blocks += [Heading("What was estimated or allowed for"), Bullets([shown(line) for line in [*found, *panel]])]
    return blocks


def _voters(outcome: Outcome, explanation: Explanation) -> list[Block]:
    """List voters: how much each saw, and what each does to the lead."""
    profile = outcome.profile
    counts = np.asarray(profile.counts, dtype=float)
    parts = explanation.contributions if explanation.runner_up is not None and explanation.lead > 0 else {}
    group_of = {} if outcome.panel is None else {str(name): group for name, group in outcome.panel.group_of.items()}
    without, lenient = explanation.effective_voters_without, explanation.leniency
    header = ["Voter", *(["Group"] if group_of else []), "Alternatives seen", "Count"]
    effect = "Part of the lead" if explanation.adds_up else "Lead lost without"
    header += [
        title for title, own in ((effect, parts), ("Panel's worth without", without), ("Leniency", lenient)) if own
    ]
    rows = []
    voting = [i for i in range(len(profile.voters)) if counts[i].any()]
    order = sorted(voting, key=lambda i: -abs(parts.get(profile.voters[i], 0.0)))
    for i in order[:_MOST_VOTERS]:
        name = profile.voters[i]
        row = [shown(str(name)), *([shown(str(group_of.get(str(name), "")))] if group_of else [])]
        row += [f"{np.count_nonzero(counts[i])}", f"{counts[i].sum():g}"]
        row += [sentences.part_text(explanation, parts[name])] if parts else []
        row += [f"{own[name]:{form}}" for own, form in ((without, ".1f"), (lenient, "+.2g")) if own]
        rows.append(row)
    more = f"The {_MOST_VOTERS} of {len(order)} voters who matter most." if len(order) > _MOST_VOTERS else ""
    table: list[Block] = [*([Paragraph(more)] if more else []), Table.of(header, rows, texts=2 if group_of else 1)]
    return [Section(f"Voters: {len(order)}", table)] if len(order) > _FEW_VOTERS else [Heading("Voters"), *table]


def _warnings(outcome: Outcome, origin: Origin) -> list[Block]:
    """List what deserves a look."""
    lines = list(dict.fromkeys([*origin.notes, *outcome.warnings]))
    return [Heading("Notes and warnings"), Bullets([shown(line) for line in lines])] if lines else []


def _settings(outcome: Outcome, origin: Origin) -> list[Block]:
    """Say what is needed to repeat it."""
    profile = outcome.profile
    size = f"{counted(profile.shape[-2], 'voter')}, {counted(profile.shape[-1], 'alternative')}"
    decisions = f"{profile.batch[0]:,} decisions, up to " if profile.batch and profile.batch[0] > 1 else ""
    facts = {
        "Votes": origin.source,
        "SHA-256 of the file": origin.checksum,
        "Size": f"{decisions}{size}, {profile.kind}",
        "Rule": sentences.method(outcome),
        "Chosen": f"the best {outcome.choose}" if outcome.choose > 1 else "",
        "Tie-break": outcome.tie_break if outcome.tie_break != "error" else "",
        "Seed": str(outcome.seed[0]),
        "Command": f"`{origin.command}`" if origin.command else "",
        "Software": ", ".join(f"{name} {version}" for name, version in versions("veritally", "numpy", "scipy").items()),
        "Made on": origin.date,
    }
    listed = [visible(f"{name}: {value}") for name, value in facts.items() if value]
    return [Heading("Data and settings"), Bullets(listed), *([] if outcome.p_best is None else [Paragraph(_MODEL)])]
