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
from sklearn_rank._core.protocols import Floats
from sklearn_rank.cli import _contest, _metrics, _rankers
from sklearn_rank.cli._contest import Contest
from sklearn_rank.cli._metrics import heading
from sklearn_rank.cli._output import Output, print_table, progress, show_notes, write_json
from sklearn_rank.cli._settings import Compare, Evaluate
from sklearn_rank.cli._store import load_model, model_scores
from sklearn_rank.cli._tables.dataset import Dataset, model_data, training_data
from sklearn_rank.cli._tables.errors import InputError, import_extra
from sklearn_rank.metrics.held_out import Comparison, Labels, Measured
from sklearn_rank.metrics.intervals import of_difference


def compare(settings: Compare) -> None:
    """Cross-validate rankers beside the baselines and print a table."""
    notes: list[str] = []
    shown = settings.shown
    rankers = _rankers.rankers_of(settings)
    _metrics.choose_metrics(shown.metrics, None)
    data = training_data(settings.table, notes)
    contest = _contest.hold(settings, rankers, data, notes, list(shown.metrics))
    if settings.output is not None:
        _contest.store(contest, settings.output)
    if shown.plot is not None:
        rows, scores = contest.found.rows, {name: contest.scores[name] for name in contest.order}
        _plot_comparison(shown.plot, rows, scores, contest.table, data.summary())
    content = show(contest, notes)
    print(f"\nnext: {_contest.next_command(contest, settings.output)}")
    if shown.json is not None:
        write_json(shown.json, _summary(data) | content)


def show(contest: Contest, notes: list[str]) -> dict[str, Any]:
    """Print notes, the sentence and the table; return their record in the JSON."""
    found, folds, data = contest.found, contest.settings.folds, contest.data
    sentence = _contest.sentence(contest)
    n_folds = folds.cv * folds.repeats
    show_notes(notes + _notes_of_folds(found.warnings, n_folds))
    seconds = {k: Measured(float(np.mean(one)), None, one) for k, one in contest.seconds.items()}
    columns = {heading(name): _metrics.cells(column) for name, column in contest.table.items()}
    columns["fit s"] = {name: f"{seconds[name].mean:.2g}" for name in contest.order}
    about = _footnotes(contest.table, found.chosen, data, n_folds, found.rows.ratio)
    rounds = ", ".join(f"{name} {n}" for name, n in found.rounds.items() if name in contest.order)
    about += f" Rounds by their mean loss in the folds: {rounds}." if rounds else ""
    about += _contest.about_order(contest) + _contest.about_ensemble(contest)
    print_table(data.summary(), columns, about, sentence)
    content: dict[str, Any] = {"repeats": folds.repeats, "periods": _show_periods(contest)}
    content |= {"cv": folds.cv, "seed": contest.settings.table.seed, "params": dict(folds.param)}
    content |= {"first": contest.order[0], "best_at_the_top": sentence}
    searched = [[*setting, n] for setting, n in found.chosen.items()]
    content |= {"searched": searched, "rounds": found.rounds}
    measured = {**contest.table, "seconds": seconds}
    names = next(iter(measured.values()))
    content["results"] = {k: {x: one[k].as_json() for x, one in measured.items()} for k in names}
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


def evaluate(settings: Evaluate) -> None:
    """Evaluate a stored model on rows with a target."""
    notes: list[str] = []
    shown = settings.shown
    _metrics.choose_metrics(shown.metrics, None)
    model = load_model(settings.model, notes)
    data = model_data(settings.data, model.schema, settings.reading, notes, labelled=True)
    with progress("evaluating"):
        rows = Labels(data.y.astype(float), data.qid)
        scores = model_scores(model, data.X, settings.model, notes)
        names = _metrics.choose_metrics(shown.metrics, data)
        found = {name: _metrics.measure(name, rows, scores) for name in names}
    if shown.plot is not None and not (rows.y > 0).any():
        raise InputError(f"{data.name}: --plot needs a row with a relevance above 0")
    show_notes(notes)
    title = f"{model.ranker} on {data.summary()}"
    column = _metrics.cells({heading(name): one for name, one in found.items()})
    about = _metrics.about_intervals(data, found.values()) + _metrics.about_names(found)
    print_table(title, {"": column}, about)
    if shown.json is not None:
        content = {**_summary(data), "model": settings.model, "ranker": model.ranker}
        content["results"] = {name: one.as_json() for name, one in found.items()}
        write_json(shown.json, content)
    if shown.plot is not None:  # the labels down the ranked list, with precision and recall
        from sklearn_rank.plotting import RankedListDisplay

        figure = _new_figure(title, 8.5, 4.4)
        draw = RankedListDisplay.from_predictions
        draw(rows.y, scores, qid=rows.qid, relevant_above=0, ax=figure.subplots())
        _save(figure, shown.plot)


def _summary(data: Dataset) -> dict[str, Any]:
    """Return the record of a data set in the JSON."""
    sizes = {"n_rows": len(data.y), "n_columns": int(data.X.shape[1])}
    sizes["n_queries"] = 1 if data.qid is None else int(data.qid.max()) + 1
    roles = ("target", "qid", "weight", "relevance", "positive")
    of_schema = {key: getattr(data.schema, key) for key in roles}
    return {"version": sklearn_rank.__version__, "data": data.name, **sizes, **of_schema}


def _footnotes(
    table: Comparison, searched: Any, data: Dataset, n_folds: int, ratio: float | None
) -> str:
    found = [one for column in table.values() for one in column.values()]
    folds = f"{n_folds} {'folds' if data.time is None else 'periods, after those learned from'}"
    about = f"Rows held out in {folds}. {_metrics.about_intervals(data, found, ratio)}"
    if any(one.below_best for one in found):
        about += " *: worse than the best; stars hold the family-wise error at 5 %."
    about += _metrics.about_names(table)
    if data.schema.weight is not None:
        about += f" Column {data.schema.weight!r} weighs rows in fitting, not in metrics."
    if searched:
        chosen = ", ".join(f"{name} {one} ({n})" for (name, one), n in searched.most_common())
        about += f" Chosen in the training rows of each fold: {chosen}."
    return about


def _show_periods(contest: Contest) -> dict[str, Any]:
    """Print a metric by period, warn if that of the first model falls, and return both."""
    time, metric, found = contest.data.time, contest.metrics[0], contest.found
    if time is None:
        return {}
    rows, column, best = found.rows, contest.table[metric], contest.order[0]
    fold = np.asarray(rows.fold)
    parts = [fold == number for number in np.unique(fold)]
    starts = [str(time[found.place][part].min()) for part in parts]
    width = next(n for n in (16, 19, 26, 29) if len({one[:n] for one in starts}) == len(parts))
    starts = [start[:width].removesuffix("T00:00").removesuffix(".0") for start in starts]
    values = np.transpose([one.folds for one in column.values()])
    texts = [dict(zip(column, map("{:.3f}".format, one), strict=True)) for one in values]
    cells = dict(zip(starts, texts, strict=True))
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


def _plot_comparison(
    output: Output, rows: Labels, scores: Mapping[str, Floats], table: Comparison, title: str
) -> None:
    """Draw the left end of the ROC curves of two classes, else the metrics with intervals."""
    shown = {k: column for k, column in table.items() if all(c.interval for c in column.values())}
    if rows.qid is None and np.unique(rows.y).size == 2:
        from sklearn_rank.plotting import TopROCDisplay

        figure = _new_figure(title, 6.5, 5.5)
        axes = figure.subplots()
        for name, one in scores.items():
            # Different models scored the folds: the curve is the mean over folds.
            display = TopROCDisplay.from_predictions
            display(rows.y == rows.y.max(), one, qid=rows.fold, name=name, max_fpr=0.1, ax=axes)
    elif shown:
        figure = _new_figure(title, 2.4 + 2.4 * len(shown), 1.6 + 0.32 * len(scores))
        _draw_intervals(figure.subplots(1, len(shown), sharey=True, squeeze=False)[0], shown)
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


def _draw_intervals(panels: Any, table: Comparison) -> None:
    """Draw one panel for each metric; open circles are significantly worse than the best."""
    for panel, (key, column) in zip(panels, table.items(), strict=True):
        for place, one in enumerate(column.values()):
            panel.plot(one.interval, [place, place], color="C0")
            panel.plot(one.mean, place, "o", color="C0", mfc="white" if one.is_worse else "C0")
        panel.axvline(max(one.mean for one in column.values()), color="0.6", linewidth=1, zorder=1)
        panel.set_title(heading(key), fontsize="medium")
        panel.locator_params(axis="x", nbins=4)
    names = list(next(iter(table.values())))
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    about = "Lines: 95 % intervals. Open: worse than the best."
    panels[0].figure.supxlabel(about, fontsize="medium")
