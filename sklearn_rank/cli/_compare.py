"""The commands ``compare``, ``train`` and ``evaluate``: measure rankers by folds, fit, measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import click
import numpy as np

import sklearn_rank
from sklearn_rank.cli import _contest, _rankers
from sklearn_rank.cli._contest import ENSEMBLE, RANK_SCORE, Contest, choose_metrics
from sklearn_rank.cli._output import Output, print_table, show_notes, write_json
from sklearn_rank.cli._store import StoredModel, load_model, model_scores, save_model
from sklearn_rank.cli._tables.dataset import Dataset, model_data, training_data
from sklearn_rank.cli._tables.inputs import InputError, import_extra, listing, noting
from sklearn_rank.cli._tables.options import Folds, TableOptions
from sklearn_rank.metrics.held_out import Labels, Measured, measure
from sklearn_rank.plotting.drawing import COLOURS, use_light_frame


def compare(table: TableOptions, folds: Folds, output: Output | None, plot: Output | None) -> None:
    """Cross-validate rankers and baselines, print a table, and plot it on request."""
    notes: list[str] = []
    figure = import_extra("matplotlib.figure", "plot").Figure if plot else None
    with noting(notes, refused=()):
        contest = _contest.hold(table, folds, notes)
    content = show(contest, notes)
    if output is not None:
        write_json(output, _summary(contest.data) | content | _contest.record(contest))
    if plot is not None:
        with plot.writing() as temporary:
            _drawn(contest, figure).savefig(temporary, dpi=150)
    print(f"\nnext: {_next_command(table.data, output, plot)}")
    if table.data and not output:
        print("(to compare only once: compare -o run.json, then train --best run.json)")


def show(contest: Contest, notes: list[str], *, is_brief: bool = False) -> dict[str, Any]:
    """Print notes, the sentence and, unless brief, the table; return their record in the JSON."""
    n_folds, order, table = contest.folds.cv, contest.order, contest.table
    sentence = _sentence(contest)
    for lines in contest.results.warnings.values():
        notes.append(f"{lines[0]} (in {min(len(lines), n_folds)} of {n_folds} folds)")
    show_notes(notes)
    seconds = {name: np.mean(of_folds) for name, of_folds in contest.results.seconds.items()}
    seconds[ENSEMBLE] = np.sum([seconds[name] for name in contest.weights])
    columns = {_heading(metric): _cells(column) for metric, column in table.items()}
    columns["fit s"] = {name: f"{seconds[name]:.2g}" for name in order}
    print_table(contest.data.summary(), {} if is_brief else columns, _footnotes(contest), sentence)
    results = {name: {metric: table[metric][name].as_json() for metric in table} for name in order}
    return {"cv": n_folds, "best_at_the_top": sentence, "results": results}


def train(
    table: TableOptions, folds: Folds, ranker: str | None, best: str | None, output: Output
) -> None:
    """Fit one ranker to all rows, or the best one in cross-validation, and save it."""
    notes: list[str] = []
    default = vars(Folds(param=folds.param))
    changed = [option for option, value in vars(folds).items() if value != default[option]]
    if ranker if best is not None else changed:
        what = "ranker rules out" if ranker else f"{changed[0].replace('_', '-')} requires"
        raise InputError(f"--{what} --best, which compares models by cross-validation")
    if best is not None:
        with noting(notes, refused=()):
            contest = _contest.hold(table, folds, notes, best)
        show(contest, notes, is_brief=bool(best))
        print()
        notes.clear()
        data, name = contest.data, contest.order[0]
        pipeline = _contest.fit_first(contest, notes)
    else:
        ((name, model),) = _rankers.rankers_of(table, folds, [ranker or _rankers.DEFAULT]).items()
        data = training_data(table, notes)
        pipeline = _rankers.pipeline_for(model, data.schema)
        notes += _contest.fit_pipeline(pipeline, data, name)
    save_model(StoredModel(pipeline, name, data.schema), output)
    show_notes(notes)
    stops = getattr(pipeline[-1], "n_iter_no_change", None) is not None
    rounds = f"; {pipeline[-1].n_iter_} rounds" if stops else ""
    print(f"{output}: {name} fitted on {data.summary()}{rounds}")


def evaluate(model: str, table: TableOptions, metrics: list[str], output: Output | None) -> None:
    """Evaluate a saved model on rows with a target."""
    notes: list[str] = []
    loaded = load_model(model, notes)
    tested = model_data(table, loaded.schema, notes, labelled=True)
    names, rows = choose_metrics(metrics, tested), Labels(tested.y.astype(float), tested.qid)
    scores = model_scores(loaded, tested.X, model, notes)
    with noting(notes, refused=()):
        column = {metric: measure(metric, rows, scores) for metric in names}
    show_notes(notes)
    cells = _cells({_heading(metric): measured for metric, measured in column.items()})
    about = _about_intervals(tested, column.values())
    print_table(f"{loaded.ranker} on {tested.summary()}", {"": cells}, about)
    if output is not None:
        results = {metric: measured.as_json() for metric, measured in column.items()}
        content = {"model": model, "ranker": loaded.ranker, "results": results}
        write_json(output, _summary(tested) | content)


def _summary(data: Dataset) -> dict[str, Any]:
    """Return the record of a data set in the JSON."""
    sizes = {"n_rows": len(data.y), "n_columns": int(data.X.shape[1])}
    sizes["n_queries"] = 1 if data.qid is None else int(data.qid.max()) + 1
    roles = ("target", "qid", "weight", "relevance", "positive")
    of_schema = {key: getattr(data.schema, key) for key in roles}
    return {"version": sklearn_rank.__version__, "data": data.table.path, **sizes, **of_schema}


# What the tables say -----------------------------------------------------------------------------


def _heading(name: str) -> str:
    """Return the heading of a metric in tables."""
    kind, mark, at = name.partition("@")
    if kind == "tpr":
        return f"TPR@{100 * float(at):g}%FPR"
    short = {"precision": "P", "recall": "R", "map": "AP", RANK_SCORE: RANK_SCORE}
    return short.get(kind, kind.upper()) + mark + at


def _cells(column: Mapping[str, Measured]) -> dict[str, str]:
    """Return value, interval, and a star for what is significantly worse than the best."""
    texts = {}
    for name, measured in column.items():
        text = _shown(measured.mean) if np.isfinite(measured.mean) else "-"
        if measured.interval is not None:
            text += f" [{', '.join(map(_shown, measured.interval))}]"
        texts[name] = text + ("*" if measured.is_worse else " ")
    return texts


def _about_intervals(data: Dataset, cells: Iterable[Measured], ratio: float | None = None) -> str:
    """Return a footnote that explains the intervals, or why there are none."""
    drawn = "folds" if ratio is not None else "rows" if data.qid is None else "queries"
    if any(measured.interval for measured in cells):
        return f"[low, high]: 95 % interval over {drawn}."
    return f"No intervals: too few independent {drawn}, or metrics that have none."


def _sentence(contest: Contest) -> str:
    """Return a sentence on the first model, with intervals corrected for the choice."""
    order, choice = contest.order, contest.choice
    column, first = contest.table[contest.top], order[0]
    heading, value = _heading(contest.top), column[first].mean
    score = f"{heading} {_shown(value)}"
    if len(order) < 2 or np.isnan(value):
        return ""
    if choice is None or column[first].interval is None:
        return f"First: {first}, {score} (no interval: too few independent rows or queries)."
    why = " (no model is near the best in each column)" if first == ENSEMBLE else ""
    start = f"First: {first}{why}, {score}"
    corrected = f"corrected for picking the best of {len(order)}"
    if choice.interval(of="criterion").low <= choice.random_order["criterion"]:
        chance = choice.random_order["metric"]
        ends = f"95 % interval {_ends(choice.interval())}, {corrected}"
        return f"No better than chance, {heading} {chance:.3f}. {start} ({ends})."
    is_baseline = first in _rankers.BASELINES
    rivals = {name for name in order if (name in _rankers.BASELINES) != is_baseline} - {ENSEMBLE}
    rival, lead = choice.lead(rivals or {*order[1:]})
    who = f"{rival}, the best {'ranker' if is_baseline else 'baseline'}"
    # Less than .0005 would be shown as .000; the correction may turn the sign of the table's lead.
    is_above = min(lead.mean, value - column[rival].mean) >= 0.0005
    by = f"{lead.mean:.3f} above" if is_above else "no better than"
    doubt = "; the difference may be due to chance" if is_above and lead.low <= 0 else ""
    advice = "" if lead.low > 0 else f" You may not need a ranker: {rival} may do as well."
    advice = " No ranker is shown to be better." if is_baseline else advice
    return f"{start}, {by} {who}{doubt} (95 % interval {_ends(lead)}; both {corrected}).{advice}"


def _shown(value: float) -> str:
    return f"{round(value, 3) + 0.0:.3f}"  # no -0.000


def _ends(interval: Any) -> str:
    return f"{_shown(interval.low)} to {_shown(interval.high)}"


def _footnotes(contest: Contest) -> str:
    data, table = contest.data, contest.table
    cells = [measured for column in table.values() for measured in column.values()]
    by_time = " test periods, each after its training rows"
    about = f"{contest.folds.cv}{'-fold cross-validation' if data.time is None else by_time}. "
    about += _about_intervals(data, cells, contest.results.rows.ratio)
    if any(measured.below_best for measured in cells):
        about += " *: significantly worse than the best (family-wise error rate at most 5 %)."
    if data.schema.weight is not None:
        about += f" Column {data.schema.weight!r} weights the rows in fitting, not in metrics."
    by = _heading(contest.top if contest.choice is None else contest.scoring or "auc")
    if RANK_SCORE in table:
        about += " P@k, R@k: precision and recall of the first k rows within each fold."
        by = f"{RANK_SCORE}, the partial AUC up to 10 % of the negatives plus a fifth of the AUC"
    about += f" Sorted by {by}"
    if contest.choice is not None:
        about += "; first: the simplest model within 1/4 standard error of the best in each column"
        about += ", or the ensemble if there is none"
    if contest.weights:
        members = listing(f"{100 * share:.0f} % {name}" for name, share in contest.weights.items())
        source = "the other folds" if data.time is None else "earlier periods (at first, equal)"
        about += f". {ENSEMBLE.capitalize()}: {members}; weights for each fold come from {source}"
    return f"{about}."


def _drawn(contest: Contest, figure: Any) -> Any:
    """Return a figure of dots with intervals, a panel for each metric that has intervals."""
    table, order = contest.table, contest.order
    shown = [name for name in table if table[name][order[0]].interval] or [*table]
    drawn = figure((2 + 3 * len(shown), 1 + 0.3 * len(order)), layout="constrained")
    panels = drawn.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, shown, strict=True):
        for place, model in enumerate(order):
            measured, is_baseline = table[name][model], model in _rankers.BASELINES
            interval = measured.interval or ()
            axes.plot(interval, [place] * len(interval), color="0.6")
            axes.plot(measured.mean, place, "o", color=COLOURS[is_baseline])
        axes.set_xlabel(_heading(name))
        use_light_frame(axes)
    panels[0].set_yticks(range(len(order)), order)
    panels[0].invert_yaxis()
    drawn.suptitle("rankers blue, baselines orange; 95 % intervals", fontsize="small")
    return drawn


def _next_command(data: str | None, output: Output | None, plot: Output | None = None) -> str:
    """Return the command that fits what is first, in the words of this one."""
    if data is None:
        return "sklearn-rank compare YOUR.csv --target COLUMN"
    own = ("--force", "-o", "--output", "--plot")
    files = [file.path for file in (output, plot) if file]
    words = click.get_current_context().find_root().obj[1:]
    kept = [w for w in words if w.partition("=")[0] not in own and Path(w) not in files]
    kept += ["--best", str(output)] if output else ["--best"]
    model = f"{Path(data).name.partition('.')[0] or 'model'}.skops"
    return f"sklearn-rank train {' '.join(map(quote, kept))} -o {quote(model)}"
