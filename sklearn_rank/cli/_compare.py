"""The commands ``compare`` and ``evaluate``: measure rankers by folds, or a stored model.

Their pictures are drawn by the displays of the package.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

import sklearn_rank
from sklearn_rank.cli import _contest, _metrics, _rankers
from sklearn_rank.cli._contest import Contest
from sklearn_rank.cli._metrics import heading
from sklearn_rank.cli._output import Output, print_table, progress, show_notes, write_json
from sklearn_rank.cli._store import load_model, model_scores
from sklearn_rank.cli._tables.dataset import Dataset, model_data, training_data
from sklearn_rank.cli._tables.errors import InputError, import_extra
from sklearn_rank.cli._tables.options import Folds, Reading, TableOptions
from sklearn_rank.metrics.held_out import Labels, Measured
from sklearn_rank.metrics.intervals import of_difference


def compare(
    table: TableOptions,
    folds: Folds,
    metrics: list[str],
    json: Output | None,
    plot: Output | None,
    output: Output | None,
) -> None:
    """Cross-validate rankers beside the baselines and print a table."""
    notes: list[str] = []
    rankers = _rankers.rankers_of(table, folds)
    _metrics.choose_metrics(metrics, None)
    data = training_data(table, notes)
    contest = _contest.hold(folds, rankers, data, notes, metrics)
    if output is not None:
        _contest.store(contest, output)
    if plot is not None:
        _plot_comparison(plot, contest)
    content = show(contest, notes)
    print(f"\nnext: {_contest.next_command(contest, table.data, bool(metrics), output)}")
    if json is not None:
        write_json(json, _summary(data) | content)


def show(contest: Contest, notes: list[str]) -> dict[str, Any]:
    """Print notes, the sentence and the table; return their record in the JSON."""
    found, folds, data = contest.found, contest.folds, contest.data
    sentence = _contest.sentence(contest)
    show_notes(notes + _notes_of_folds(found.warnings, folds.cv))
    spent = [found.seconds[name] for name in contest.weights]
    ensemble = {_contest.ENSEMBLE: list(np.sum(spent, axis=0))} if spent else {}
    each = {**found.seconds, **ensemble}.items()
    seconds = {name: Measured(float(np.mean(one)), None, one) for name, one in each}
    columns = {heading(name): _metrics.cells(column) for name, column in contest.table.items()}
    columns["fit s"] = {name: f"{seconds[name].mean:.2g}" for name in contest.order}
    print_table(data.summary(), columns, _footnotes(contest), sentence)
    content: dict[str, Any] = {"periods": _show_periods(contest), "cv": folds.cv, "seed": data.seed}
    content |= {"params": dict(folds.param), "first": contest.order[0], "rounds": found.rounds}
    content |= {"best_at_the_top": sentence}
    content["searched"] = [[*setting, n] for setting, n in found.chosen.items()]
    measured = {**contest.table, "seconds": seconds}
    content["results"] = {
        name: {key: column[name].as_json() for key, column in measured.items()}
        for name in contest.order
    }
    return content


def _notes_of_folds(warnings: Mapping[tuple[str, str], int], n_folds: int) -> list[str]:
    """Return a note for each warning of a model; those that differ in numbers only are one."""
    alike: dict[tuple[str, str], list[Any]] = {}
    for (name, line), n in warnings.items():
        form = re.sub(r"\d[\d.e+-]*", "0", line)
        alike.setdefault((name, form), [line.removeprefix(f"{name}: "), 0])[1] += n
    return [
        f"{name}, {min(n, n_folds)} of {n_folds} folds: {line}"
        for (name, _), (line, n) in alike.items()
    ]


def evaluate(
    model: str,
    data: str,
    reading: Reading,
    metrics: list[str],
    json: Output | None,
    plot: Output | None,
) -> None:
    """Evaluate a stored model on rows with a target."""
    notes: list[str] = []
    _metrics.choose_metrics(metrics, None)
    loaded = load_model(model, notes)
    tested = model_data(data, loaded.schema, reading, notes, labelled=True)
    with progress("evaluating"):
        rows = Labels(tested.y.astype(float), tested.qid)
        scores = model_scores(loaded, tested.X, model, notes)
        names = _metrics.choose_metrics(metrics, tested)
        found = {name: _metrics.measure(name, rows, scores) for name in names}
    if plot is not None and not (rows.y > 0).any():
        raise InputError(f"{tested.name}: --plot needs a row with a relevance above 0")
    show_notes(notes)
    title = f"{loaded.ranker} on {tested.summary()}"
    column = _metrics.cells({heading(name): one for name, one in found.items()})
    about = _metrics.about_intervals(tested, found.values()) + _metrics.about_names(found)
    print_table(title, {"": column}, about)
    if json is not None:
        content = {**_summary(tested), "model": model, "ranker": loaded.ranker}
        content["results"] = {name: one.as_json() for name, one in found.items()}
        write_json(json, content)
    if plot is not None:  # the labels down the ranked list, with precision and recall
        from sklearn_rank.plotting import RankedListDisplay

        figure = _new_figure(title, 8.5, 4.4)
        draw = RankedListDisplay.from_predictions
        draw(rows.y, scores, qid=rows.qid, relevant_above=0, ax=figure.subplots())
        _save(figure, plot)


def _summary(data: Dataset) -> dict[str, Any]:
    """Return the record of a data set in the JSON."""
    sizes = {"n_rows": len(data.y), "n_columns": int(data.X.shape[1])}
    sizes["n_queries"] = 1 if data.qid is None else int(data.qid.max()) + 1
    roles = ("target", "qid", "weight", "relevance", "positive")
    of_schema = {key: getattr(data.schema, key) for key in roles}
    return {"version": sklearn_rank.__version__, "data": data.name, **sizes, **of_schema}


def _footnotes(contest: Contest) -> str:
    data, found, table = contest.data, contest.found, contest.table
    cells = [one for column in table.values() for one in column.values()]
    unit = "folds" if data.time is None else "periods, after those learned from"
    about = f"Rows held out in {contest.folds.cv} {unit}. "
    about += _metrics.about_intervals(data, cells, found.rows.ratio)
    if any(one.below_best for one in cells):
        about += " *: worse than the best; stars hold the family-wise error at 5 %."
    about += _metrics.about_names(table)
    if data.schema.weight is not None:
        about += f" Column {data.schema.weight!r} weighs rows in fitting, not in metrics."
    if found.chosen:
        chosen = ", ".join(f"{name} {one} ({n})" for (name, one), n in found.chosen.most_common())
        about += f" Chosen in the training rows of each fold: {chosen}."
    rounds = ", ".join(f"{name} {n}" for name, n in found.rounds.items() if name in contest.order)
    about += f" Rounds by their mean loss in the folds: {rounds}." if rounds else ""
    return about + _contest.about_order(contest)


def _show_periods(contest: Contest) -> dict[str, Any]:
    """Print a metric by period, warn if that of the first model falls, and return both."""
    time, metric, found = contest.data.time, contest.metrics[0], contest.found
    if time is None:
        return {}
    rows, column, best = found.rows, contest.table[metric], contest.order[0]
    parts = [rows.fold == number for number in range(contest.folds.cv)]
    starts = [str(time[found.place][part].min()) for part in parts]
    width = next(n for n in (16, 19, 26, 29) if len({one[:n] for one in starts}) == len(parts))
    starts = [start[:width].removesuffix("T00:00").removesuffix(".0") for start in starts]
    cells = {
        start: {name: f"{one.folds[k]:.3f}" for name, one in column.items()}
        for k, start in enumerate(starts)
    }
    ends = [(rows.take(part), contest.scores[best][part]) for part in (parts[0], parts[-1])]
    first, last = (_metrics.measure(metric, *end) for end in ends)
    warning = f"Too few independent rows, or no interval of {metric}, to tell whether it falls."
    if rows.ratio is None and first.interval and last.interval:
        low, high = of_difference(first.mean, first.interval, last.mean, last.interval)
        told = f"{best} has {last.mean:.3f} in the last period after {first.mean:.3f} in the first"
        sure = f"95 % interval of the fall: {low:.3f} to {high:.3f}"
        advice = "for new rows expect the last, not the mean of the table above"
        warning = f"Warning: {told} ({sure}): {advice}." if low > 0 else ""
    print()
    about = "Each period begins with its heading; models learned from earlier rows only."
    print_table(f"{heading(metric)} by period", cells, about, warning)
    return {"metric": metric, "from": starts, "warning": warning}


def _plot_comparison(output: Output, contest: Contest) -> None:
    """Draw the left end of the ROC curves of two classes, else the metrics with intervals."""
    rows, title, table = contest.found.rows, contest.data.summary(), contest.table
    shown = {k: column for k, column in table.items() if all(c.interval for c in column.values())}
    if rows.qid is None and np.unique(rows.y).size == 2:
        from sklearn_rank.plotting import TopROCDisplay

        figure = _new_figure(title, 6.5, 5.5)
        axes = figure.subplots()
        for name in contest.order:
            # Different models scored the folds: the curve is the mean over folds.
            how = {"qid": rows.fold, "name": name, "max_fpr": 0.1, "ax": axes}
            TopROCDisplay.from_predictions(rows.y == rows.y.max(), contest.scores[name], **how)
    elif shown:
        figure = _new_figure(title, 2.4 + 2.4 * len(shown), 1.6 + 0.32 * len(contest.order))
        panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        for panel, (metric, column) in zip(panels, shown.items(), strict=True):
            means = np.array([one.mean for one in column.values()])
            ends = np.transpose([one.interval for one in column.values()])
            panel.errorbar(means, list(column), xerr=abs(ends - means), fmt="o")
            panel.set_title(heading(metric), fontsize="medium")
            panel.locator_params(axis="x", nbins=4)
        panels[0].invert_yaxis()
        figure.supxlabel("Lines: 95 % intervals.", fontsize="medium")
    else:
        raise InputError("--plot needs two classes in one list, or metrics with intervals")
    _save(figure, output)


def _new_figure(title: str, width: float, height: float) -> Any:
    # Not created by pyplot, which needs a window system and keeps the figure.
    figure = import_extra("matplotlib.figure").Figure((width, height), 150, layout="constrained")
    # A file may be called a$b$c.csv.
    figure.suptitle(textwrap.fill(title, int(11 * width)), fontsize="medium", parse_math=False)
    return figure


def _save(figure: Any, output: Output) -> None:
    with output.writing() as temporary:
        figure.savefig(temporary)
