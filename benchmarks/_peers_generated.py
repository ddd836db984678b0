"""Part `generated`: depth-1 boosting and linear rankers on generated rows of growing number."""

from _harness import growth
from _lists_fits import (
    PEERS,
    Fits,
    fastest_fit,
    fit_in_turns,
    generated,
    medians,
    reasons_to_leave_out,
    say,
    table_of,
)
from _lists_systems import BINS, ROUNDS, SYSTEMS
from _report import PartResult, Verdict, judged

SMALL, MEDIUM, LARGE = 10_000, 100_000, 1_000_000

REPEATED = ("rankboost", "pnorm64", *PEERS)
"""Systems of the targets: they are fitted more often."""


def run(options) -> PartResult:
    """Fit every system at each number of rows."""
    fits: dict[int, Fits] = {}
    smaller: Fits = {}
    for rows in sorted(options.rows):
        say(f"generated: {rows:,} rows")
        reasons = reasons_to_leave_out(SYSTEMS, rows, smaller, options)
        with generated(rows, seed=0) as folder:
            fits[rows] = fit_in_turns(repeats_at(rows, options), folder, options, reasons)
        smaller = {**smaller, **fits[rows]}
    tables = [
        table_of(
            f"{rows:,} generated rows of 20 features, {ROUNDS} rounds of depth 1, {BINS} bins",
            found,
            note=f"predict s and quality: {max(rows, MEDIUM):,} held-out rows",
        )
        for rows, found in fits.items()
    ]
    by_rows = {rows: medians(found) for rows, found in fits.items()}
    return PartResult(tables, verdicts(by_rows), [], {str(n): found for n, found in fits.items()})


def repeats_at(rows: int, options) -> dict[str, int]:
    """Return how often each system is fitted: fits of milliseconds more often."""
    often = 2 * options.repeats if rows <= SMALL else options.repeats
    seldom = options.repeats if rows <= SMALL else 1
    return {name: often if name in REPEATED else seldom for name in SYSTEMS}


def verdicts(by_rows) -> list[Verdict]:
    """Return the targets, from the medians of each number of rows."""

    def beside_fastest(rows):
        found = by_rows[rows]
        fastest = fastest_fit(found)
        return None if fastest is None else found["rankboost"]["s"] / fastest

    def beside(name, other, key="s"):
        return by_rows[LARGE][name][key] / by_rows[LARGE][other][key]

    def slope():
        pairs = [(rows, by_rows[rows]["rankboost"]["s"]) for rows in (MEDIUM, LARGE)]
        return growth(*zip(*pairs, strict=True))

    fastest = "fit time, RankBoost / fastest boosting library"
    return [
        judged(f"{fastest}, {SMALL:,} rows", 1.0, lambda: beside_fastest(SMALL), unit="x"),
        judged(f"{fastest}, {LARGE:,} rows", 0.4, lambda: beside_fastest(LARGE), unit="x"),
        judged(
            "fit time, RankBoost / XGBoost rank:pairwise mean",
            0.05,
            lambda: beside("rankboost", "xgboost_mean"),
            unit="x",
        ),
        judged("fit time, p=64 / p=1", 1.1, lambda: beside("pnorm64", "rankboost"), unit="x"),
        *(
            judged(
                f"peak extra memory, {SYSTEMS[name].label}",
                150.0,
                lambda name=name: by_rows[LARGE][name]["extra_mb"],
                unit="MB",
            )
            for name in ("rankboost", "pnorm64")
        ),
        judged("growth exponent of RankBoost's fit", 1.05, slope),
        judged(
            "predict time, RankBoost / LightGBM",
            1.0,
            lambda: beside("rankboost", "lightgbm", "predict_s"),
            unit="x",
        ),
    ]
