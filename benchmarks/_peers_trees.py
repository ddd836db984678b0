"""Part `trees`: trees of depth 3 as weak rankers, beside XGBoost, LightGBM and scikit-learn.

Ours are scikit-learn's exact trees, fitted one by one from Python.
"""

from _lists_fits import (
    HALF_OF_MAGIC,
    PEERS,
    DataError,
    fastest_fit,
    fit_in_turns,
    generated,
    magic,
    medians,
    reasons_to_leave_out,
    say,
    table_of,
)
from _lists_search import generated_kind, magic_kind, search_all, search_table
from _lists_systems import BINS, ROUNDS, TREE_DEPTH, TREES
from _report import PartResult

OURS = "rankboost_trees"
TREE_PEERS = tuple(f"{name}_trees" for name in PEERS)


def run(options) -> PartResult:
    """Fit at the libraries' own learning rates, then with rates chosen by validation."""
    result = PartResult([], notes=[], runs={})
    sets = [(rows, f"{rows:,} generated rows") for rows in sorted(options.rows) if rows <= 100_000]
    smaller = {}
    for rows, title in sets:
        with generated(rows, seed=0) as folder:
            smaller = fit_one(result, title, rows, folder, smaller, options)
    try:
        with magic(0, options.data) as folder:
            fit_one(result, "half of MAGIC", HALF_OF_MAGIC, folder, {}, options)
    except DataError as error:
        result.notes.append(f"No trees on MAGIC: {error}")
    n_sets = max(1, options.splits // 3)
    kinds = [generated_kind(10_000, n_sets, 10_000), magic_kind(options, n_sets)]
    names = [OURS, *TREE_PEERS]
    for kind, found in search_all([] if options.quick else kinds, names, options):
        if isinstance(found, str):
            result.notes.append(f"No search on {kind.title}: {found}")
            continue
        table = search_table(kind, found, OURS)
        table.title = f"Depth {TREE_DEPTH}, {table.title}"
        result.tables.append(table)
        result.runs[f"search, {kind.title}"] = found
    return result


def fit_one(result: PartResult, title, rows, folder, smaller, options):
    """Add one table of fits and a line that says by how much ours is slower."""
    say(f"trees: {title}")
    reasons = reasons_to_leave_out(TREES, rows, smaller, options)
    repeats = dict.fromkeys(TREES, options.repeats)
    fits = fit_in_turns(repeats, folder, options, reasons)
    heading = f"{title}, {ROUNDS} rounds of depth {TREE_DEPTH}, {BINS} bins"
    result.tables.append(table_of(heading, fits, TREE_PEERS))
    result.runs[title] = fits
    found = medians(fits)
    fastest = fastest_fit(found, TREE_PEERS)
    if OURS in found and fastest is not None:
        result.notes.append(
            f"Trees of depth {TREE_DEPTH}, {title}: RankBoost's fit takes "
            f"{found[OURS]['s'] / fastest:.3g} times that of the fastest library."
        )
    return fits
