"""Part `magic`: the systems of `generated` on real data, random halves of MAGIC."""

from _lists_fits import (
    HALF_OF_MAGIC,
    DataError,
    Fits,
    fit_in_turns,
    magic,
    reasons_to_leave_out,
    say,
    signed,
    table_of,
)
from _lists_systems import BINS, ROUNDS, SYSTEMS
from _report import PartResult, Table


def run(options) -> PartResult:
    """Fit every system once to each random half."""
    fits: Fits = {name: [] for name in SYSTEMS}
    reasons = reasons_to_leave_out(SYSTEMS, HALF_OF_MAGIC, {}, options)
    n_halves = max(2, options.splits // 2)
    for seed in range(n_halves):
        say(f"magic: half {seed + 1} of {n_halves}")
        try:
            with magic(seed, options.data) as folder:
                done = fit_in_turns(dict.fromkeys(SYSTEMS, 1), folder, options, reasons)
        except DataError as error:
            return PartResult([], notes=[f"Part magic was not run: {error}"])
        for name, runs in done.items():
            fits[name] += runs
            if "error" in runs[-1]:  # it has no figures, and one try is enough
                reasons[name] = runs[-1]["error"]
    title = f"MAGIC, {n_halves} random halves, {ROUNDS} rounds of depth 1, {BINS} bins"
    return PartResult([table_of(title, fits), differences(fits)], [], [], fits)


def differences(fits: Fits) -> Table:
    """Return the quality of each system minus RankBoost's on the same halves."""
    rows = []
    for name, runs in fits.items():
        if name == "rankboost" or any("error" in run for run in runs):
            continue
        pairs = list(zip(runs, fits["rankboost"], strict=True))
        columns = [[one[key] - ours[key] for one, ours in pairs] for key in ("auc", "top")]
        rows.append([SYSTEMS[name].label, *(signed(column, 1.0) for column in columns)])
    note = "mean, and a 95 % interval that allows for rows that halves share"
    return Table(
        "MAGIC: quality minus RankBoost's", ["system", "AUC (95 %)", "top (95 %)"], rows, note
    )
