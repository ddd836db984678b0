"""Tables and targets of `scorecards.py`."""

from collections.abc import Callable, Mapping
from statistics import mean, median

from _harness import Record
from _lists_fits import interval, signed
from _report import Cell, Table, Verdict, judged
from _scorecards_data import DATA_TITLES
from _scorecards_others import OTHERS

OURS = {
    "full": "full card, RankBoost",
    "bags": "full card, 5 bags",
    "top": "full card, p chosen for pAUC5",
    "small": "small card, p = 1",
    "small_top": "small card, p chosen for pAUC5",
}
MEASURES = {"auc": "AUC", "pauc": "pAUC5"}
FEW_ROWS = 1_000
"""Below so many rows the full card is judged with bags."""
FEW_ROW_SETS = ("ionosphere", "housing", "cancer")
P_MATTERS = 0.02
"""Gain in pAUC5 of the chosen p over p = 1 from which a small card must lead by more, if the
interval of the gain is above 0."""

Runs = dict[str, dict[int, Record]]
"""For each system of a data set, the figures of each split."""

OF_XGBOOST = {"auc": "xgboost", "pauc": "xgboost for pAUC5"}
LABELS = {
    **OURS,
    **{name: library.label for name, library in OTHERS.items()},
    "xgboost": "XGBoost, depth 1, chosen for AUC",
    OF_XGBOOST["pauc"]: "XGBoost, depth 1, chosen for pAUC5",
}

# What is compared: ours, theirs, the measure.
PAIRS = (
    ("full", "ebm", "auc"),
    ("bags", "ebm", "auc"),
    ("full", "optbinning", "auc"),
    ("top", "ebm", "pauc"),
    ("top", OF_XGBOOST["pauc"], "pauc"),
    ("small", "fasterrisk", "auc"),
    ("small_top", "fasterrisk", "auc"),
    ("small_top", "fasterrisk", "pauc"),
    ("small_top", "small", "pauc"),
)


def differences(runs: Runs, name: str, other: str, measure: str) -> list[float]:
    """Return a system's lead over another on the splits that both have; KeyError without any."""
    splits = sorted(runs[name].keys() & runs[other].keys())
    if not splits:
        raise KeyError(other)
    return [runs[name][split][measure] - runs[other][split][measure] for split in splits]


def rounding_losses(runs: Runs, name: str) -> list[float]:
    """Return what rounding costs in AUC."""
    return [one["real"]["auc"] - one["auc"] for one in runs[name].values()]


def quality_table(data: str, runs: Runs) -> Table:
    """Return a line for each system."""
    lines: list[list[Cell]] = []
    for name, records in runs.items():
        values = list(records.values())
        line: list[Cell] = [LABELS[name]]
        line += [f"{mean(one[measure] for one in values):.4f}" for measure in MEASURES]
        line += [round(mean(one["n"] for one in values)), median(one["s"] for one in values)]
        lines.append([*line, len(values), powers_in_words(values)])
    heads = ["card", *MEASURES.values(), "thresholds", "seconds", "splits", "p (splits)"]
    return Table(DATA_TITLES[data], heads, lines)


def powers_in_words(records: list[Record]) -> str:
    """Return the values of p, each with the number of splits."""
    powers = [one["p"] for one in records if one.get("p") is not None]
    return " ".join(f"{p:g} ({powers.count(p)})" for p in sorted(set(powers)))


def differences_table(found: Mapping[str, Runs]) -> Table:
    """Return the paired differences with their intervals, and what rounding costs."""
    lines: list[list[Cell]] = []
    for data, runs in found.items():
        for name, other, measure in PAIRS:
            try:
                values = differences(runs, name, other, measure)
            except KeyError:
                continue
            words = f"{LABELS[name]} - {LABELS[other]}"
            lines.append([DATA_TITLES[data], words, MEASURES[measure], signed(values), len(values)])
        for name in ("small", "small_top"):
            if name in runs:
                words = f"{LABELS[name]}: real weights - points"
                values = rounding_losses(runs, name)
                lines.append([DATA_TITLES[data], words, "AUC", signed(values), len(values)])
    heads = ["data", "difference", "of", "mean (95 %)", "splits"]
    return Table("Paired differences", heads, lines)


def verdicts_of(data: str, runs: Runs) -> list[Verdict]:
    """Return the targets of one data set."""
    title = DATA_TITLES[data]

    def lead(words: str, limit: float, name: str, other: str, measure: str) -> Verdict:
        label = f"{title}: {MEASURES[measure]}, {words}"
        return judged(
            label, limit, lambda: mean(differences(runs, name, other, measure)), at_least=True
        )

    def most(words: str, limit: float, measure: Callable[[], float], unit: str = "") -> Verdict:
        return judged(f"{title}: {words}", limit, measure, unit=unit)

    def ratio(name: str) -> float:
        both = sorted(runs["ebm"].keys() & runs[name].keys())
        if not both:
            raise KeyError(name)
        return median(runs["ebm"][split]["s"] / runs[name][split]["s"] for split in both)

    def seconds(name: str) -> float:
        return median(one["s"] for one in runs[name].values())

    full = "bags" if data in FEW_ROW_SETS else "full"
    times = 5 if full == "bags" else 20
    leads = 0.03 if data == "magic" else 0.0
    small_lead = 0.03 if p_matters(runs) else -0.005
    return [
        lead(f"{OURS[full]} - EBM", -0.005, full, "ebm", "auc"),
        most(
            f"thresholds, {OURS[full]}",
            150,
            lambda: max(one["n"] for one in runs[full].values()),
        ),
        judged(f"{title}: seconds, EBM / {OURS[full]}", times, lambda: ratio(full), at_least=True),
        lead(f"{OURS[full]} - optbinning", -0.005, full, "optbinning", "auc"),
        lead("full card for pAUC5 - EBM", leads, "top", "ebm", "pauc"),
        lead("full card for pAUC5 - XGBoost", leads, "top", OF_XGBOOST["pauc"], "pauc"),
        lead("small card - FasterRisk", -0.003, "small", "fasterrisk", "auc"),
        lead("small card, p chosen - FasterRisk", small_lead, "small_top", "fasterrisk", "pauc"),
        lead("small card, p chosen - p = 1", -0.005, "small_top", "small", "pauc"),
        most("seconds, small card", 1.0, lambda: seconds("small"), "s"),
        most("seconds, small card with the search for p", 5.0, lambda: seconds("small_top"), "s"),
        most("AUC lost by rounding", 0.004, lambda: mean(rounding_losses(runs, "small"))),
        most(
            "AUC lost by rounding, p chosen",
            0.004,
            lambda: mean(rounding_losses(runs, "small_top")),
        ),
    ]


def p_matters(runs: Runs) -> bool:
    """Whether the chosen p gains more than a little over p = 1 in small cards."""
    try:
        gains = differences(runs, "small_top", "small", "pauc")
    except KeyError:
        return False
    between = interval(gains)
    return mean(gains) >= P_MATTERS and between is not None and between[0] > 0
