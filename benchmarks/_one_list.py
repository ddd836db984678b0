"""The parts of `peers.py` on one list of two classes: fits in turns, and searches.

The functions of the first part run in processes of their own; their folder holds X_train.npy,
y_train.npy, X_test.npy and y_test.npy.
"""

import importlib.util
import itertools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from _harness import Record, growth, in_process, in_processes, medians, timed, watch
from _lists_systems import BIN_COUNTS, BINS, LARGEST, RATES, ROUNDS, SEARCHED, SYSTEMS
from _report import Cell, PartResult, Table, Verdict, judged
from _stats import say, signed
from _systems import scores_of

MAX_FPR, VALIDATION_SHARE = 0.05, 0.25
SMALL, MEDIUM, LARGE = 10_000, 100_000, 1_000_000
PEERS = ("xgboost", "lightgbm", "hist_gb")
"""The boosting libraries whose fastest is what the time of others is divided by."""

REPEATED = ("rankboost", "pnorm64", *PEERS)
"""Systems of the targets: they are fitted more often."""

ONCE_ABOVE = 10.0
"""Seconds of a fit above which it is not repeated."""

QUALITY = {"auc": "AUC", "top": "top"}
Fits = dict[str, list[Record]]
"""The fits of each system; the last one of a system may be {"error": why there is none}."""


# --- in the child --------------------------------------------------------------------------------


def load(folder: str, part: str) -> tuple[Any, Any]:
    """Return features and labels of "train" or "test"."""
    import numpy as np

    # np.load reads a file straight into its array: no temporary raises the mark before the fit.
    return np.load(f"{folder}/X_{part}.npy"), np.load(f"{folder}/y_{part}.npy")


def save(folder: str, part: str, X: Any, y: Any) -> None:
    """Write features and labels of "train" or "test"."""
    import numpy as np

    np.save(f"{folder}/X_{part}.npy", X)
    np.save(f"{folder}/y_{part}.npy", y)


def write_generated(folder: str, rows: int, held_out: int, seed: int) -> Record:
    """Write training rows of one seed and test rows that are the same for all seeds."""
    from _data import draw_two_classes

    save(folder, "train", *draw_two_classes(rows, seed=1 + seed))
    save(folder, "test", *draw_two_classes(held_out, seed=0))
    return {}


def write_magic(folder: str, seed: int, data: str | None) -> Record:
    """Write one random half of MAGIC to train on, the other to test on."""
    from _real_data import load_two_classes
    from sklearn.model_selection import train_test_split

    X, y = load_two_classes("magic", data)
    # By halves of each class, in random order: the file is sorted by class.
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=seed
    )
    save(folder, "train", X_train, y_train)
    save(folder, "test", X_test, y_test)
    return {}


def quality(y: Any, scores: Any) -> Record:
    """Return the AUC, and the mean share of positives found up to a false positive rate."""
    from sklearn_rank.metrics import auc_score, partial_auc_score

    top = partial_auc_score(y, scores, max_fpr=MAX_FPR)
    return {"auc": float(auc_score(y, scores)), "top": float(top)}


def fit(folder: str, name: str, threads: int) -> Record:
    """Fit one system once; return what it took, and how well it ranks the test rows."""
    import numpy as np

    system = SYSTEMS[name]
    model = system.build(threads)
    X, y = load(folder, "train")
    queries = system.queries(np.zeros(len(y), dtype=np.int64))
    record = {"rows": len(y), **watch(lambda: model.fit(X, y, **queries))}
    del X, y
    X, y = load(folder, "test")
    scores = []
    record["predict_s"] = timed(lambda: scores.append(scores_of(model, X)))
    return {**record, **quality(y, scores[0])}


def search(folder: str, name: str, most_rows: int) -> Record:
    """Choose a system's parameters on a validation split, fit all rows, score the test rows.

    With more training rows than `most_rows` the choice sees only the first so many.
    """
    from sklearn.model_selection import train_test_split

    from sklearn_rank.metrics import auc_score

    system = SYSTEMS[name]
    X, y = load(folder, "train")
    seen = slice(most_rows)
    X_fit, X_validation, y_fit, y_validation = train_test_split(
        X[seen], y[seen], test_size=VALIDATION_SHARE, stratify=y[seen], random_state=0
    )
    best, chosen = -1.0, {}
    for values in itertools.product(*system.grid.values()):
        given = dict(zip(system.grid, values, strict=True))
        model = system.build(1, **given).fit(X_fit, y_fit)
        auc = float(auc_score(y_validation, scores_of(model, X_validation)))
        best, chosen = (auc, given) if auc > best else (best, chosen)
    model = system.build(1, **chosen).fit(X, y)
    X, y = load(folder, "test")
    return {**chosen, **quality(y, scores_of(model, X))}


# --- rows ----------------------------------------------------------------------------------------


class DataError(RuntimeError):
    """The rows of a part could not be written."""


@contextmanager
def rows_of(kind: str, *arguments: Any) -> Any:
    """Write rows, "generated" or of "magic"; yield their folder."""
    with TemporaryDirectory(prefix="peers_") as scratch:
        done = in_process(f"_one_list:write_{kind}", scratch, *arguments, threads=1)
        if "error" in done:
            raise DataError(done["error"])
        yield scratch


# --- fits in turns -------------------------------------------------------------------------------


def part_generated(options: Any) -> PartResult:
    """Fit every system at each number of rows."""
    result, smaller = PartResult([]), {}
    by_rows: dict[int, dict[str, Record]] = {}
    for rows in sorted(options.rows):
        say(f"generated: {rows:,} rows")
        held_out = rows if options.quick else max(rows, MEDIUM)
        with rows_of("generated", rows, held_out, 0) as folder:
            fits = fit_in_turns(rows, folder, options, reasons(rows, smaller, options))
        smaller |= fits
        by_rows[rows] = {
            name: medians(runs) for name, runs in fits.items() if "error" not in runs[-1]
        }
        title = f"{rows:,} generated rows of 20 features, {ROUNDS} rounds of depth 1, {BINS} bins"
        note = f"predict s and quality: {held_out:,} held-out rows"
        result.tables.append(times_table(title, fits, by_rows[rows], note))
    result.verdicts = list(verdicts(by_rows))
    return result


def fit_in_turns(rows: int, folder: str, options: Any, left_out: Mapping[str, str]) -> Fits:
    """Fit the systems in turns; those with a reason are left out. Short fits are repeated more."""
    fits: Fits = {name: [{"error": left_out[name]}] for name in left_out}
    often = options.repeats * (2 if rows <= SMALL else 1)
    seldom = options.repeats if rows <= SMALL else 1
    for turn in range(often):
        for name, system in SYSTEMS.items():
            runs = fits.setdefault(name, [])
            slow = runs and ("error" in runs[-1] or runs[-1]["s"] >= ONCE_ABOVE)
            if slow or turn >= (often if name in REPEATED else seldom):
                continue
            say(f"  turn {turn + 1}: {system.label}")
            limits = {"threads": options.threads, "timeout": options.seconds}
            runs.append(in_process("_one_list:fit", folder, name, options.threads, **limits))
    return {name: fits[name] for name in SYSTEMS}


def reasons(rows: int, smaller: Fits, options: Any) -> dict[str, str]:
    """Return why systems are not fitted to so many rows, given the fits to fewer."""
    found = {}
    for name, system in SYSTEMS.items():
        last = smaller.get(name, [{}])[-1]
        if importlib.util.find_spec(system.module) is None:
            found[name] = f"{system.module} is not installed"
        elif rows > LARGEST.get(name, rows):
            found[name] = f"not run above {LARGEST[name]:,} rows"
        elif last.get("error", "").startswith(("not done", "not run")):
            found[name] = "not run: too slow with fewer rows"
        elif "s" in last and last["s"] * rows / last["rows"] > options.seconds:
            found[name] = f"not run: {last['s']:.0f} s with {last['rows']:,} rows"
    return found


def times_table(title: str, fits: Fits, found: Mapping[str, Record], note: str) -> Table:
    """Return a line for each system; "/ fastest" is the fit time over the fastest peer's."""
    fastest = fastest_fit(found)
    columns = ["system", "fit s", "min - max", "/ fastest", "extra MB", "predict s", "AUC", "top"]
    rows: list[list[Cell]] = []
    for name, runs in fits.items():
        label, one = SYSTEMS[name].label, found.get(name)
        if one is None:
            rows.append([label, *[None] * 8, runs[-1]["error"]])
            continue
        spread = f"{one['s_min']:.3g} - {one['s_max']:.3g}"
        times = [one["s"], spread, one["s"] / fastest if fastest else None, one["extra_mb"]]
        figures = [one["predict_s"], *(f"{one[key]:.4f}" for key in QUALITY)]
        rows.append([label, *times, *figures, one["runs"], ""])
    return Table(title, [*columns, "n", "remark"], rows, note)


def fastest_fit(found: Mapping[str, Record]) -> float | None:
    """Return the median fit time of the fastest peer."""
    return min((found[name]["s"] for name in PEERS if name in found), default=None)


def verdicts(by_rows: Mapping[int, Mapping[str, Record]]) -> Any:
    """Yield the targets, from the medians of each number of rows."""

    def ratio(rows: int, name: str, other: str, key: str = "s") -> float:
        return by_rows[rows][name][key] / by_rows[rows][other][key]

    def beside_fastest(rows: int) -> float:
        return max(ratio(rows, "rankboost", peer) for peer in PEERS)

    def slope() -> float:
        both = (MEDIUM, LARGE)
        return growth(both, [by_rows[rows]["rankboost"]["s"] for rows in both])

    for rows, limit in ((SMALL, 1.0), (LARGE, 0.4)):
        label = f"fit time, RankBoost / fastest boosting library, {rows:,} rows"
        yield judged(label, limit, partial(beside_fastest, rows), unit="x")
    for label, limit, case in (
        ("fit time, RankBoost / XGBoost rank:pairwise mean", 0.05, ("rankboost", "xgboost_mean")),
        ("fit time, p=64 / p=1", 1.1, ("pnorm64", "rankboost")),
        ("predict time, RankBoost / LightGBM", 1.0, ("rankboost", "lightgbm", "predict_s")),
    ):
        yield judged(label, limit, partial(ratio, LARGE, *case), unit="x")
    for name in ("rankboost", "pnorm64"):
        label = f"peak extra memory, {SYSTEMS[name].label}"
        yield judged(label, 150.0, lambda name=name: by_rows[LARGE][name]["extra_mb"], unit="MB")
    yield judged("growth exponent of RankBoost's fit", 1.05, slope)


# --- searches ------------------------------------------------------------------------------------

OURS = ("rankboost", "rankboost_optimal", "rankboost_logistic")
BEST = "rankboost_logistic"
"""What the table subtracts the others from."""

HELD_OUT = 200_000


@dataclass(frozen=True)
class Kind:
    """Data sets of one kind: how many, how one is written, and the rows a choice sees.

    `ratio` is that of `interval`: of rows tested to rows trained on, where sets share rows.
    """

    title: str
    n_sets: int
    write: Callable[[int], AbstractContextManager[str]]
    most_rows: int
    ratio: float = 0.0


def kinds_of(options: Any) -> list[Kind]:
    """Return generated rows of growing number, with the same test rows, and halves of MAGIC."""

    def generated(rows: int, n_sets: int) -> Kind:
        seen = min(rows, MEDIUM)
        title = f"{rows:,} generated rows"
        title += f", chosen on {seen:,} of them" if rows > seen else ""
        return Kind(title, n_sets, lambda seed: rows_of("generated", rows, HELD_OUT, seed), seen)

    n = options.splits
    kinds = [generated(SMALL, n), generated(MEDIUM, max(2, n // 2)), generated(LARGE, 1)]
    magic = Kind("MAGIC", n, lambda seed: rows_of("magic", seed, options.data), LARGE, 1.0)
    return [*(kinds[:1] if options.quick else kinds), magic]


def part_search(options: Any) -> PartResult:
    """Search on generated rows of growing number and on MAGIC; nothing is timed."""
    result = PartResult([], notes=[NOTE])
    for kind in kinds_of(options):
        found: Fits = {name: [] for name in SEARCHED}
        try:
            for seed in range(kind.n_sets):
                say(f"search: {kind.title}, set {seed + 1} of {kind.n_sets}")
                with kind.write(seed) as folder:
                    cases = [[folder, name, kind.most_rows] for name in SEARCHED]
                    records = in_processes("_one_list:search", cases, options.threads)
                for name, record in zip(SEARCHED, records, strict=True):
                    found[name].append(record)
        except DataError as error:
            result.notes.append(f"No search on {kind.title}: {error}")
            continue
        result.tables.append(search_table(kind, found))
        result.verdicts += [
            Verdict(
                f"AUC after a search, {SYSTEMS[ours].label} - {SYSTEMS[name].label}: {kind.title}",
                0.0,
                mean(ahead) if (ahead := lead(found, ours, name)) else None,
                at_least=True,
            )
            for ours in OURS
            for name in ("xgboost", "lightgbm")
        ]
    return result


def search_table(kind: Kind, found: Fits) -> Table:
    """Return the quality of each system, and of ours minus it on the same sets."""
    rows: list[list[Cell]] = []
    for name, runs in found.items():
        label = SYSTEMS[name].label
        errors = [run["error"] for run in runs if "error" in run]
        if errors:
            rows.append([label, *[None] * 4, errors[-1]])
            continue
        cells = [f"{mean(run[key] for run in runs):.4f}" for key in QUALITY]
        gains = (lead(found, BEST, name, key) for key in QUALITY)
        leads = [signed(one, kind.ratio) if one else "" for one in gains]
        values = {key: sorted({run[key] for run in runs}) for key in SYSTEMS[name].grid}
        chosen = (f"{key} {' '.join(f'{one:g}' for one in of)}" for key, of in values.items())
        rows.append([label, *cells, *leads, "; ".join(chosen)])
    leads = [f"{measure}, {SYSTEMS[BEST].label} - it" for measure in QUALITY.values()]
    columns = ["system", *QUALITY.values(), *leads, "chosen"]
    return Table(f"{kind.title}, {kind.n_sets} sets: after a search", columns, rows)


def lead(found: Fits, ours: str, name: str, key: str = "auc") -> list[float]:
    """Return by how much ours is ahead on each set; nothing for itself or after an error."""
    pairs = list(zip(found[ours], found[name], strict=True))
    if name == ours or any("error" in run for pair in pairs for run in pair):
        return []
    return [one[key] - other[key] for one, other in pairs]


NOTE = (
    f"Search: learning rates {', '.join(f'{rate:g}' for rate in RATES)} times "
    f"{', '.join(map(str, BIN_COUNTS))} bins, {len(RATES) * len(BIN_COUNTS)} fits for each "
    "system, chosen by the AUC of a quarter of the training rows, then fitted to all of them. "
    "Differences are paired, with 95 % intervals over the sets; those of MAGIC allow for rows that "
    "its halves share (Nadeau and Bengio, 2003)."
)
