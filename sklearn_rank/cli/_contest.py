"""A comparison: models on the same folds, the ensemble of them, and which of all is first."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

import click
import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

import sklearn_rank
from sklearn_rank._core.protocols import Floats
from sklearn_rank.cli import _metrics, _rankers
from sklearn_rank.cli._crossval import (
    HeldOut,
    cross_validate,
    fit_pipeline,
    held_out_rows,
    search,
)
from sklearn_rank.cli._output import Output, progress, write_json
from sklearn_rank.cli._tables.dataset import Dataset
from sklearn_rank.cli._tables.errors import InputError, noting
from sklearn_rank.cli._tables.options import Folds
from sklearn_rank.ensemble import HeldOutLabels, RankingEnsemble, Selection, select_members
from sklearn_rank.metrics import RankingChoice, choose_ranking
from sklearn_rank.metrics.held_out import Comparison
from sklearn_rank.metrics.scorers import scoring_method

ENSEMBLE = "ensemble of these"
_FORMAT = "sklearn-rank comparison"
_NOTHING = 0.0005  # a lead that is shown as .000
_OF_COMPARE = ("--metrics", "--json", "--plot", "--output", "-o", "--force")
"""Options of compare that train has not."""


@dataclass(frozen=True)
class Contest:
    """Models, what they reached on rows held out, and the ensemble, by weights of other folds."""

    folds: Folds
    data: Dataset
    metrics: list[str]
    scoring: str | None  # of choice and ensemble; None: the top of one list, and a little of all
    pipelines: dict[str, Pipeline]  # unfitted
    found: HeldOut
    weights: dict[str, float]  # of the members of the ensemble, the largest first
    scores: dict[str, Floats]  # of the rows held out, those of the ensemble, too
    choice: RankingChoice | None  # None where bootstrap samples can't repeat it
    order: list[str]  # the names, the best first
    table: Comparison  # the metrics of each model, the best first

    @property
    def top(self) -> str:
        """The metric that the sentence names."""
        return _metrics.top_metric(self.metrics)


def hold(
    folds: Folds,
    rankers: dict[str, Any],
    data: Dataset,
    notes: list[str],
    asked: list[str],
    stored: str | None = None,
) -> Contest:
    """Cross-validate models, or read what they reached, and judge them."""
    metrics = _metrics.choose_metrics(asked, data)
    if not folds.rankers:
        n_rows = len(data.y) * (folds.cv - 1) // folds.cv
        kernel, has_grades = folds.param.get("kernel"), _metrics.has_grades(data)
        _rankers.leave_out(rankers, notes, kernel, n_rows, has_grades=has_grades)
    models = {**_rankers.baselines(data, notes), **rankers}
    pipelines = {name: _rankers.pipeline_for(model, data.schema) for name, model in models.items()}
    top = _metrics.top_metric(metrics)
    scoring = top if asked or data.qid is not None else None
    if stored:
        found = _read(stored, folds, data, scoring)
    else:
        found = cross_validate(pipelines, data, top, folds)
    return judge(folds, data, metrics, scoring, pipelines, found)


def judge(
    folds: Folds,
    data: Dataset,
    metrics: list[str],
    scoring: str | None,
    pipelines: dict[str, Pipeline],
    found: HeldOut,
) -> Contest:
    """Select an ensemble, choose what is first, and measure all."""
    selection, top = _select(data, scoring, pipelines, found), _metrics.top_metric(metrics)
    weights = selection.weights if selection else {}
    weights = {k: weights[k] for k in sorted(weights, key=lambda k: -weights[k]) if weights[k] > 0}
    ensemble = {ENSEMBLE: selection.nearly_honest_scores} if selection else {}
    scores = {**found.scores, **ensemble}
    choice = _choose(data, top, scoring, found, scores)
    if choice is None:
        means = {name: _metrics.measure(top, found.rows, one).mean for name, one in scores.items()}
        order = sorted(means, key=lambda name: -np.nan_to_num(means[name], nan=-np.inf))
    else:
        order = choice.names
    table = _metrics.compare_with_best(metrics, found.rows, {name: scores[name] for name in order})
    own = folds, data, metrics, scoring, pipelines, found
    return Contest(*own, weights, scores, choice, order, table)


def _select(
    data: Dataset, scoring: str | None, pipelines: dict[str, Pipeline], found: HeldOut
) -> Selection | None:
    rows, place = found.rows, found.place
    y = rows.y > 0 if data.schema.relevance == "binary" else rows.y
    weight = np.ones(len(y)) if data.weight is None else data.weight[place]
    labels = HeldOutLabels(y, np.asarray(rows.fold), weight, rows.qid)
    kinds = {name: scoring_method(one) == "predict_proba" for name, one in pipelines.items()}
    # Folds that are periods, with an embargo, learn from fewer rows than all others.
    fitted_to = {fold: np.isin(place, one) for fold, one in enumerate(found.training)}
    scores = {name: found.scores[name] for name in pipelines}
    how: dict[str, Any] = {"of_probability": kinds, "scoring": scoring, "fitted_to": fitted_to}
    with suppress(ValueError):  # such as a metric that a fold lacks
        return select_members(scores, labels, **how)
    return None


def _choose(
    data: Dataset, top: str, scoring: str | None, found: HeldOut, scores: dict[str, Floats]
) -> RankingChoice | None:
    rows = found.rows
    group = None if data.group is None else data.group[found.place]
    if group is not None and (rows.qid is not None or data.time is not None):
        return None
    how: dict[str, Any] = {"qid": rows.qid, "fold": rows.fold, "group": group}
    how |= {"criterion": scoring, "preferred": ENSEMBLE if ENSEMBLE in scores else None}
    how |= {"n_resamples": 499, "random_state": 0}
    for metric in (top, None):  # None: the criterion, where the metric can't be resampled
        with suppress(ValueError):
            return choose_ranking(rows.y, scores, metric=metric, **how)
    return None


def sentence(contest: Contest) -> str:
    """Return who is first, and how sure that is when the choice is allowed for."""
    order, choice = contest.order, contest.choice
    column, first = contest.table[contest.top], order[0]
    heading, value = _metrics.heading(contest.top), column[first].mean
    if len(order) < 2 or np.isnan(value):
        return ""
    is_baseline = first in _rankers.BASELINES
    rivals = {name for name in order if (name in _rankers.BASELINES) != is_baseline} - {ENSEMBLE}
    rivals, kind = rivals or {*order[1:]}, "ranker" if is_baseline else "baseline"
    start = f"First: {first}, {heading} {value:.3f}"
    allowed = f"choice among {len(order)} allowed for"
    if choice is None or column[first].interval is None:
        rival = next(name for name in order[1:] if name in rivals)
        ahead = f"{value - column[rival].mean:.3f} more than {rival}, the best {kind}"
        return f"{start}, {ahead} (how sure that is can't be said)."
    if choice.interval(of="criterion").low <= choice.random_order["criterion"]:
        found, chance = choice.interval(), choice.random_order["metric"]
        ends = f"95 % interval {found.low:.3f} to {found.high:.3f}, {allowed}"
        return f"No better than chance, {heading} {chance:.3f}. {start} ({ends})."
    rival, found = choice.lead(rivals)
    ends = f"95 % interval of the difference: {found.low:.3f} to {found.high:.3f}, {allowed}"
    if found.mean < _NOTHING:
        return f"{start}, no better than {rival}, the best {kind} ({ends})."
    sure = "" if found.low > 0 else ", which may be chance"
    return f"{start}, {found.mean:.3f} more than {rival}, the best {kind}{sure} ({ends})."


def about_order(contest: Contest) -> str:
    """Return footnotes on what the table is sorted by, and on the members of the ensemble."""
    criterion = "the partial AUC up to 10 % of the negatives plus a fifth of the AUC"
    if contest.choice is None or contest.scoring is not None:
        criterion = _metrics.heading(contest.top)
    elif contest.data.schema.relevance == "graded":
        criterion = "AUC"
    about = f" Sorted by {criterion}"
    if contest.choice is not None and ENSEMBLE in contest.scores:
        about += ", the ensemble first unless one is better by more than its standard error"
    if contest.weights:
        members = ", ".join(f"{100 * share:.0f} % {one}" for one, share in contest.weights.items())
        of = "other folds" if contest.data.time is None else "earlier periods, at first equal"
        about += f". {ENSEMBLE.capitalize()}: {members}; weights of {of}"
    return f"{about}."


def fit_first(contest: Contest, notes: list[str]) -> tuple[Pipeline, str]:
    """Fit what is first to all rows; return it and the parameters that a search chose."""
    data, found, name = contest.data, contest.found, contest.order[0]
    pipelines, told = dict(contest.pipelines), []
    for one in contest.weights if name == ENSEMBLE else [name]:
        pipelines[one], chosen = search(pipelines[one], data, contest.top, contest.folds)
        if chosen:
            told.append(f"{chosen} of {one}" if name == ENSEMBLE else chosen)
        if one in found.rounds:
            pipelines[one].set_params(ranker__n_estimators=found.rounds[one])
    with progress(f"fitting {name}"), noting(notes, name):
        if name != ENSEMBLE:
            notes += fit_pipeline(pipelines[name], data, name)
            return pipelines[name], ", ".join(told)
        # Rows that no fold held out have the fold -1.
        held_out = pd.DataFrame({"fold": found.rows.fold, **found.scores}, index=found.place)
        held_out = held_out.reindex(range(len(data.y)), fill_value=-1)
        how: dict[str, Any] = {"scoring": contest.scoring, "relevance": data.schema.relevance}
        ensemble = RankingEnsemble([*pipelines.items()], random_state=data.seed, **how)
        scores = {key: held_out[key].to_numpy() for key in pipelines}
        given = {"qid": data.qid, "sample_weight": data.weight, "fold": held_out["fold"].to_numpy()}
        ensemble.fit_selected(data.X, data.y, out_of_fold=scores, **given)
    return Pipeline([("ranker", ensemble)]), ", ".join(told)


def next_command(contest: Contest, data: str | None, asked: bool, output: Output | None) -> str:
    """Return the command that fits what is first, in the words of this one."""
    if data is None:
        return "sklearn-rank compare YOUR.csv --target COLUMN"
    words, kept = iter(click.get_current_context().find_root().obj[1:]), []
    for word in words:
        option, equals, _ = word.partition("=")
        if option not in _OF_COMPARE:
            kept.append(word)
        elif not equals and option != "--force":
            next(words)
    kept += ["--metric", contest.top] if asked else []
    kept += ["--best", str(output)] if output else ["--best"]
    model = f"{Path(data).name.partition('.')[0].strip('-') or 'model'}.skops"
    return f"sklearn-rank train {' '.join(map(quote, kept))} -o {quote(model)}"


def _key(folds: Folds, data: Dataset, scoring: str | None) -> dict[str, str]:
    """Return hashes of the rows, and of the options that the results depend on."""
    rows = hashlib.sha256(repr(data.schema).encode())
    hashed = pd.util.hash_pandas_object(data.X, index=False)
    for one in (hashed, data.y, data.qid, data.weight, data.time, data.group):
        rows.update(b"-" if one is None else np.ascontiguousarray(one).tobytes())
    options = {**asdict(folds), "n_jobs": None, "seed": data.seed, "metric": scoring}
    options |= {"embargo": data.embargo}
    key = {name: json.dumps(one, default=str) for name, one in options.items()}
    return {"rows": rows.hexdigest(), "version": sklearn_rank.__version__, **key}


def store(contest: Contest, output: Output) -> None:
    """Store what the models reached on rows held out."""
    found = contest.found
    content: dict[str, Any] = {"format": _FORMAT, "seconds": found.seconds, "rounds": found.rounds}
    content["key"] = _key(contest.folds, contest.data, contest.scoring)
    content["scores"] = {name: one.tolist() for name, one in found.scores.items()}
    content["chosen"] = [[*setting, n] for setting, n in found.chosen.items()]
    write_json(output, content)


def _read(path: str, folds: Folds, data: Dataset, scoring: str | None) -> HeldOut:
    """Return the results of a stored run; InputError if it is of other rows or options."""
    _, found = held_out_rows(data, folds.cv)
    with noting([], f"{path}: is not a run stored by compare -o", (Exception,)):
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        form = dict(content).get("format")
        if form != _FORMAT:
            raise ValueError(f"its format must be {_FORMAT!r}; it is {form!r}")
        key = dict(content["key"])
        scores = {name: np.array(one, dtype=float) for name, one in content["scores"].items()}
        chosen = Counter({(name, setting): n for name, setting, n in content["chosen"]})
        seconds, rounds = dict(content["seconds"]), dict(content["rounds"])
        found = replace(found, scores=scores, seconds=seconds, chosen=chosen, rounds=rounds)
    now = _key(folds, data, scoring)
    other = [name for name, one in now.items() if key.get(name) != one]
    if other:
        what = "rows" if "rows" in other else ", ".join(f"--{one}" for one in other)
        raise InputError(f"{path}: was stored for other {what}; run compare again")
    return found
