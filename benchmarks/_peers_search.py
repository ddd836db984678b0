"""Part `search`: depth-1 boosting at equal rounds, each with the same search of its parameters."""

from _lists_search import generated_kind, magic_kind, mean_lead, search_all, search_table
from _lists_systems import ALL, BIN_COUNTS, RATES, SEARCHED
from _report import PartResult, judged

OURS = ("rankboost", "rankboost_optimal", "rankboost_logistic")
BEST = "rankboost_logistic"
"""What the table subtracts the others from."""


def run(options) -> PartResult:
    """Search on generated rows of growing number and on MAGIC."""
    n = options.splits
    kinds = [
        generated_kind(10_000, n, 10_000),
        generated_kind(100_000, max(2, n // 2), 100_000),
        generated_kind(1_000_000, 1, 100_000),
        magic_kind(options),
    ]
    if options.quick:
        kinds = [kinds[0], kinds[-1]]
    result = PartResult([], notes=[SETTINGS], runs={})
    for kind, found in search_all(kinds, SEARCHED, options):
        if isinstance(found, str):
            result.notes.append(f"No search on {kind.title}: {found}")
            continue
        result.tables.append(search_table(kind, found, BEST))
        result.runs[kind.title] = found
        result.verdicts += [
            judged(
                f"AUC after a search, {ALL[ours].label} - {ALL[name].label}: {kind.title}",
                0.0,
                lambda ours=ours, name=name, found=found: mean_lead(found, ours, name),
                at_least=True,
            )
            for ours in OURS
            for name in ("xgboost", "lightgbm")
        ]
    return result


SETTINGS = (
    f"Search: learning rates {', '.join(f'{rate:g}' for rate in RATES)} times "
    f"{', '.join(map(str, BIN_COUNTS))} bins, {len(RATES) * len(BIN_COUNTS)} fits for each "
    "system, chosen by the AUC of a quarter of the training rows, then fitted to all of them. "
    "Differences are paired, with 95 % intervals over the sets; those of MAGIC allow for rows that "
    "its halves share (Nadeau and Bengio, 2003)."
)
