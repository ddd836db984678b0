"""Tables and targets of the part `cards` of `scorecards.py`."""

import math
from collections.abc import Iterable, Mapping
from functools import partial
from statistics import mean, median

from _harness import Record
from _list_tables import corrected_interval, differences, significantly_below
from _report import Cell, PartResult, Table, Verdict, judged
from _scorecards_data import DATA_TITLES, NORMAL
from _scorecards_others import OTHERS

SMALL, SMALL_PAIRS, FULL, FULL_PAIRS = "small", "small_pairs", "full", "full_pairs"
OURS = {
    SMALL: "small card without pairs",
    SMALL_PAIRS: "small card with pairs",
    FULL: "full card",
    FULL_PAIRS: "full card with pairs",
}
MEASURES = {"auc": "AUC", "pauc": "pAUC5"}
LIKE_SIZE = ("fasterrisk", "optbinning_small")
FEW_ROW_SETS = ("ionosphere", "housing", "cancer")
"""Tables of less than 1,000 rows."""

OF_XGBOOST = {"auc": "xgboost", "pauc": "xgboost for pAUC5"}
LABELS = {
    **OURS,
    **{name: library.label for name, library in OTHERS.items()},
    "xgboost": "XGBoost, depth 1, chosen for AUC",
    OF_XGBOOST["pauc"]: "XGBoost, depth 1, chosen for pAUC5",
}

Runs = dict[str, dict[int, Record]]
"""For each system of a table, the figures of each split."""

Found = Mapping[str, Runs]
"""These by table."""

BEST = "the better of FasterRisk and optbinning of ten steps"

COMPARED = (
    (SMALL, BEST, "auc"),
    (SMALL, BEST, "pauc"),
    (SMALL_PAIRS, BEST, "auc"),
    (SMALL_PAIRS, BEST, "pauc"),
    (SMALL_PAIRS, SMALL, "auc"),
    (SMALL_PAIRS, SMALL, "pauc"),
    (FULL, "ebm", "auc"),
    (FULL, "ebm", "pauc"),
    (FULL_PAIRS, "ebm_pairs", "auc"),
    (FULL_PAIRS, "ebm_pairs", "pauc"),
    (FULL_PAIRS, FULL, "auc"),
    (FULL_PAIRS, FULL, "pauc"),
)
"""What is compared: ours, theirs, the measure."""


def paired(runs: Runs, name: str, other: str, measure: str) -> list[float]:
    """Return a system's lead over another on the splits that both have; KeyError without any.

    `BEST` is the system of like size that is better on the mean of these splits.
    """
    if other == BEST:
        leads = [paired(runs, name, one, measure) for one in LIKE_SIZE if one in runs]
        if not leads:
            raise KeyError(other)
        return min(leads, key=mean)
    splits = sorted(runs[name].keys() & runs[other].keys())
    if not splits:
        raise KeyError(other)
    ours, theirs = ([runs[one][split] for split in splits] for one in (name, other))
    return differences(ours, theirs, measure)


def leads(found: Found, name: str, other: str, measure: str) -> dict[str, list[float]]:
    """Return the paired differences by table; KeyError without any."""
    by_table = {}
    for data, runs in found.items():
        try:
            by_table[data] = paired(runs, name, other, measure)
        except KeyError:
            continue
    if not by_table:
        raise KeyError(other)
    return by_table


def mean_lead(found: Found, name: str, other: str, measure: str) -> float:
    """Return the mean over the tables of the mean difference over the splits."""
    return mean(map(mean, leads(found, name, other, measure).values()))


def quality_table(data: str, runs: Runs) -> Table:
    """Return a line for each system."""
    lines: list[list[Cell]] = []
    for name, label in LABELS.items():
        values = list(runs.get(name, {}).values())
        if not values:
            continue
        line: list[Cell] = [label]
        line += [f"{mean(one[measure] for one in values):.4f}" for measure in MEASURES]
        line += [round(mean(one["n"] for one in values)), median(one["s"] for one in values)]
        lines.append([*line, len(values), powers_in_words(values)])
    heads = ["card", *MEASURES.values(), "steps", "seconds", "splits", "p (splits)"]
    return Table(DATA_TITLES[data], heads, lines)


def powers_in_words(records: list[Record]) -> str:
    """Return the values of p, each with the number of splits."""
    powers = [one["p"] for one in records if one.get("p") is not None]
    return " ".join(f"{p:g} ({powers.count(p)})" for p in sorted(set(powers)))


def means_table(found: Found, measure: str) -> Table:
    """Return the mean of each system on each table."""
    names = [name for name in LABELS if any(name in runs for runs in found.values())]
    lines: list[list[Cell]] = []
    for data, runs in found.items():
        cells = [[one[measure] for one in runs.get(name, {}).values()] for name in names]
        lines.append([DATA_TITLES[data], *(f"{mean(c):.4f}" if c else "–" for c in cells)])
    heads = ["table", *(LABELS[name] for name in names)]
    return Table(f"{MEASURES[measure]}, mean over the splits", heads, lines)


def differences_table(found: Found) -> Table:
    """Return the paired differences with their intervals."""
    lines: list[list[Cell]] = []
    for name, other, measure in COMPARED:
        label = f"{LABELS[name]} - {LABELS.get(other, other)}"
        try:
            by_table = leads(found, name, other, measure)
        except KeyError:
            continue
        for data, values in by_table.items():
            words = f"{mean(values):+.4f}"
            if len(values) > 1:
                low, high = corrected_interval(values)
                words += f" ({low:+.4f} to {high:+.4f})"
            lines.append([DATA_TITLES[data], label, MEASURES[measure], words, len(values)])
        average = f"{mean_lead(found, name, other, measure):+.4f}"
        lines.append(["mean of the tables", label, MEASURES[measure], average, len(by_table)])
    heads = ["data", "difference", "of", "mean (95 %)", "splits"]
    return Table("Paired differences", heads, lines)


def lead(found: Found, name: str, other: str, measure: str, limit: float) -> Verdict:
    """Return the verdict on a mean difference."""
    label = f"{LABELS[name]} - {LABELS.get(other, other)}: mean {MEASURES[measure]}"
    return judged(
        label, limit, lambda: round(mean_lead(found, name, other, measure), 5), at_least=True
    )


def nowhere_below(found: Found, name: str, other: str, measure: str, by: float = 0.0) -> Verdict:
    """Return the verdict that a system is nowhere significantly below another, by more than so."""
    below: list[str] = []
    judged_tables: list[str] = []

    def count() -> int:
        several = {
            data: values
            for data, values in leads(found, name, other, measure).items()
            if len(values) > 1
        }
        if not several:
            raise KeyError(other)
        judged_tables.extend(several)
        below.extend(one for one in significantly_below(several) if mean(several[one]) < -by)
        return len(below)

    label = f"{LABELS[name]} significantly below {LABELS.get(other, other)} in {MEASURES[measure]}"
    verdict = judged(f"{label}, by more than {by:g}: tables", 0, count)
    if judged_tables:
        verdict.label += f" of {len(judged_tables)} with two splits or more"
    if below:
        verdict.label += f" ({', '.join(DATA_TITLES[one] for one in below)})"
    return verdict


def most(found: Found, name: str, key: str) -> float:
    """Return the largest figure of a system over tables and splits; KeyError without any."""
    values = [one[key] for runs in found.values() for one in runs.get(name, {}).values()]
    if not values:
        raise KeyError(name)
    return max(values)


def times_faster(found: Found, name: str, other: str) -> float:
    """Return how much longer another system takes: the geometric mean over tables of medians."""
    ratios = []
    for runs in found.values():
        both = runs.get(name, {}).keys() & runs.get(other, {}).keys()
        if both:
            ratios.append(median(runs[other][n]["s"] / runs[name][n]["s"] for n in both))
    if not ratios:
        raise KeyError(other)
    return math.exp(mean(map(math.log, ratios)))


def rounding_loss(found: Found, name: str) -> float:
    """Return what rounding costs in AUC, on the mean over tables and splits."""
    return mean(
        one["real"]["auc"] - one["auc"] for runs in found.values() for one in runs[name].values()
    )


def largest_move(found: Found, name: str) -> tuple[float, str]:
    """Return how far blanked cells move the mean risk, where most, by the mean over splits."""
    moves = {
        data: abs(mean(after - before for before, after in blanks))
        for data, runs in found.items()
        if (blanks := [one["blanked"] for one in runs.get(name, {}).values()])
    }
    worst = max(moves, key=lambda data: moves[data])
    return moves[worst], DATA_TITLES[worst]


def covered(bands: Iterable[Record]) -> list[bool]:
    """Say of each band whether its held-out rate agrees with its risk and interval."""
    found = []
    for band in bands:
        error = (band["high"] - band["low"]) / (2 * NORMAL)
        spread = math.sqrt(error**2 + band["risk"] * (1 - band["risk"]) / band["m"])
        found.append(abs(band["rate"] - band["risk"]) <= NORMAL * spread)
    return found


def checks_table(found: Found, name: str) -> Table:
    """Return what small cards say beside ranks: size, bands of the risk, blanked cells."""
    lines: list[list[Cell]] = []
    for data, runs in found.items():
        records = list(runs.get(name, {}).values())
        if not records:
            continue
        inside = [one for record in records for one in covered(record["bands"])]
        before, after = (mean(record["blanked"][n] for record in records) for n in (0, 1))
        size = mean(record["size"] for record in records)
        share = f"{mean(inside):.3f}" if inside else "–"
        lines.append(
            [DATA_TITLES[data], f"{size:.1f}", len(inside), share, f"{before:.4f}", f"{after:.4f}"]
        )
    heads = ["table", "points other than 0", "bands", "held", "mean risk", "with cells blanked"]
    note = (
        "A band holds where |rate - risk| is at most 1.96 times the root of se² + r (1 - r) / m; "
        "20 % of the test cells are blanked, in columns without a gap in training."
    )
    return Table(f"What a {LABELS[name]} states", heads, lines, note)


def share_held(found: Found, name: str) -> float:
    """Return the share of bands that hold what the risk table says; KeyError without any."""
    inside = [
        one
        for runs in found.values()
        for record in runs.get(name, {}).values()
        for one in covered(record["bands"])
    ]
    if not inside:
        raise KeyError(name)
    return mean(inside)


def verdicts_of(found: Found) -> list[Verdict]:
    """Return the targets of the cards."""
    moved, where = largest_move(found, SMALL_PAIRS)
    few = {data: runs for data, runs in found.items() if data in FEW_ROW_SETS}
    below = lead(few, FULL, "ebm", "auc", -0.005)
    below.label += ", tables of less than 1,000 rows"
    return [
        lead(found, SMALL, BEST, "auc", -0.005),
        nowhere_below(found, SMALL, BEST, "auc", 0.01),
        lead(found, SMALL, BEST, "pauc", 0.005),
        *pair_verdicts(found),
        lead(found, FULL, "ebm", "auc", -0.005),
        below,
        lead(found, FULL_PAIRS, "ebm_pairs", "auc", -0.003),
        judged(
            f"thresholds and cells, {LABELS[FULL_PAIRS]}",
            300,
            lambda: most(found, FULL_PAIRS, "n"),
        ),
        judged(
            f"seconds, {LABELS['ebm_pairs']} / {LABELS[FULL_PAIRS]}",
            5.0,
            lambda: round(times_faster(found, FULL_PAIRS, "ebm_pairs"), 3),
            at_least=True,
        ),
        judged(
            "AUC lost by rounding, small card without pairs",
            0.004,
            lambda: round(rounding_loss(found, SMALL), 5),
        ),
        judged(
            "real tables: share of bands of 50 held-out rows that hold",
            0.9,
            lambda: round(share_held(found, SMALL_PAIRS), 4),
            at_least=True,
        ),
        Verdict(f"20 % of cells blanked: the mean risk moves, most on {where}", 0.02, moved),
    ]


def pair_verdicts(found: Found) -> list[Verdict]:
    """Return the targets of small cards with pairs."""
    verdicts = [lead(found, SMALL_PAIRS, BEST, "pauc", 0.03)]
    for measure, limit in (("auc", 0.885), ("pauc", 0.28)):
        label = f"MAGIC, {LABELS[SMALL_PAIRS]}: {MEASURES[measure]}"
        verdicts.append(
            judged(label, limit, partial(mean_of, found, "magic", measure), at_least=True)
        )
    for measure in MEASURES:
        verdicts += [
            nowhere_below(found, SMALL_PAIRS, SMALL, measure),
            lead(found, SMALL_PAIRS, SMALL, measure, 0.0),
        ]
    return verdicts


def mean_of(found: Found, data: str, measure: str) -> float:
    """Return the mean of small cards on a table; KeyError without any."""
    return round(mean(one[measure] for one in found[data][SMALL_PAIRS].values()), 5)


def report_cards(found: Found) -> PartResult:
    """Compare our cards with those of the others."""
    tables = [
        *(means_table(found, measure) for measure in MEASURES),
        differences_table(found),
        checks_table(found, SMALL_PAIRS),
        *(quality_table(data, runs) for data, runs in found.items()),
    ]
    return PartResult(tables, verdicts_of(found))
