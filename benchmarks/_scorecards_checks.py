"""Parts of `scorecards.py` on generated rows: a category of noise, intervals, times."""

import time
import warnings
from collections.abc import Mapping
from statistics import mean, median
from typing import Any

from _harness import Record
from _report import PartResult, Table, Verdict
from _scorecards_data import BAND

NOISE_ROWS, NOISE_TEST, LEVELS = 1_000, 10_000, 200
CREDIT_ROWS, CREDIT_TEST = 5_000, 20_000
SHARES = (0.9, 0.99)
LIMITS = {
    ("fixed", 1_000): 0.5,
    ("default", 1_000): 5.0,
    ("fixed", 30_000): 1.5,
    ("default", 30_000): 15.0,
}
"""Seconds of processor time at most."""
WORDS = {
    "fixed": "p fixed, no pairs, else as it comes",
    "default": "as it comes, all searches",
}


def fit_noise(seed: int) -> Record:
    """Measure what a category of pure noise costs a default card: the AUC without and with it."""
    import numpy as np
    import pandas as pd

    from sklearn_rank.metrics import auc_score
    from sklearn_rank.scorecard import Scorecard

    rng = np.random.default_rng(seed)
    n = NOISE_ROWS + NOISE_TEST
    signal = rng.standard_normal(n)
    y = (rng.random(n) < 1 / (1 + np.exp(-signal))).astype(int)
    noise = pd.Categorical(rng.integers(LEVELS, size=n), categories=range(LEVELS))
    table = pd.DataFrame({"signal": signal, "noise": noise})
    found = {}
    for name, columns in {"without": ["signal"], "with": ["signal", "noise"]}.items():
        X = table[columns]
        card = Scorecard(random_state=seed).fit(X[:NOISE_ROWS], y[:NOISE_ROWS])
        found[name] = float(auc_score(y[NOISE_ROWS:], card.decision_function(X[NOISE_ROWS:])))
    return found


def report_noise(found: Mapping[Any, Record]) -> PartResult:
    """Say what the category costs on the mean."""
    runs = list(found.values())
    rows = [[name, f"{mean(one[name] for one in runs):.4f}"] for name in ("without", "with")]
    title = f"A category of {LEVELS} levels without signal beside one variable"
    cost = mean(one["without"] - one["with"] for one in runs)
    label = f"a noise category of {LEVELS} levels, {NOISE_ROWS:,} rows: cost in AUC"
    return PartResult(
        [Table(title, ["the category", "AUC"], rows, f"Mean of {len(runs)} seeds.")],
        [Verdict(label, 0.01, round(cost, 5))],
    )


def fit_intervals(seed: int) -> list[Record]:
    """Return bands of fresh rows of `make_credit`, in which the true probability is the rate."""
    from _scorecards_ours import bands

    from sklearn_rank.datasets import make_credit
    from sklearn_rank.scorecard import Scorecard

    credit = make_credit(CREDIT_ROWS + CREDIT_TEST, random_state=seed)
    card = Scorecard(random_state=seed).fit(credit.data[:CREDIT_ROWS], credit.target[:CREDIT_ROWS])
    return bands(card, credit.probability[CREDIT_ROWS:], credit.data[CREDIT_ROWS:])


def report_intervals(found: Mapping[Any, list[Record]]) -> PartResult:
    """Say how many intervals hold the mean probability."""
    bands_of = [band for run in found.values() for band in run]
    held = [band["low"] <= band["rate"] <= band["high"] for band in bands_of]
    title = f"make_credit: intervals of the risk table in bands of at least {BAND} fresh rows"
    rows = [[len(found), len(held), f"{mean(held):.3f}"]]
    label = "make_credit: share of 95 % intervals that hold the mean probability"
    share = round(mean(held), 4)
    return PartResult(
        [Table(title, ["cards", "bands", "held"], rows)],
        [
            Verdict(f"{label}, at least", SHARES[0], share, at_least=True),
            Verdict(f"{label}, at most", SHARES[1], share),
        ],
    )


def fit_times(data: str, kind: str, rows: int, repeat: int) -> float:
    """Return the seconds of processor time of a default card."""
    from _data import draw_two_classes

    from sklearn_rank.datasets import make_credit
    from sklearn_rank.scorecard import Scorecard

    options = {
        "fixed": {"p": 1, "max_pairs": 0},
        "default": {},
    }
    if data == "make_credit":
        credit = make_credit(rows, random_state=repeat)
        X, y = credit.data, credit.target
    else:
        X, y = draw_two_classes(rows, seed=repeat)
    Scorecard(**options["fixed"]).fit(
        X[:200], y[:200]
    )  # the first fit of a process pays for imports
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Scorecard(random_state=0, **options[kind]).fit(X, y)
    return time.process_time() - started


def report_times(found: Mapping[tuple[Any, ...], float]) -> PartResult:
    """Compare the seconds with what they may be."""
    lines, verdicts = [], []
    for (kind, n), limit in LIMITS.items():
        by_data: dict[str, list[float]] = {}
        for (data, this, rows, _), seconds in found.items():
            if (this, rows) == (kind, n):
                by_data.setdefault(data, []).append(seconds)
        middles = {data: median(values) for data, values in by_data.items()}
        words = WORDS[kind]
        lines += [[data, words, n, value, len(by_data[data])] for data, value in middles.items()]
        label = f"seconds of a card, {words}, {n:,} rows"
        slowest = round(max(middles.values()), 3) if middles else None
        verdicts.append(Verdict(label, limit, slowest, "s"))
    heads = ["rows of", "card", "rows", "seconds", "fits"]
    return PartResult([Table("Processor time of a card", heads, lines)], verdicts)


SEEDS = [(seed,) for seed in range(10)]
TIMED = [
    (data, kind, rows, repeat)
    for data in ("make_credit", "two classes")
    for kind, rows in LIMITS
    for repeat in range(3 if kind == "fixed" else 1)
]
