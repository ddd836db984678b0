"""A comparison: models on the same folds, the ensemble of them, and which of all is first."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
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

    @cached_property
    def selection(self) -> Selection | None:
        """The ensemble; None if it can't be selected."""
        rows, place, weight = self.found.rows, self.found.place, self.data.weight
        y = rows.y > 0 if self.data.schema.relevance == "binary" else rows.y
        weight = np.ones(len(y)) if weight is None else weight[place]
        with suppress(ValueError):  # such as a metric that a fold lacks
            return select_members(
                {name: self.found.scores[name] for name in self.pipelines},
                HeldOutLabels(y, np.asarray(rows.fold), weight, rows.qid),
                of_probability={
                    name: scoring_method(one) == "predict_proba"
                    for name, one in self.pipelines.items()
                },
                scoring=self.scoring,
                # Folds that are periods, with an embargo, learn from fewer rows than all others.
                fitted_to={k: np.isin(place, one) for k, one in enumerate(self.found.training)},
            )
        return None

    @cached_property
    def weights(self) -> dict[str, float]:
        """Those of the members of the ensemble, the largest first."""
        found = self.selection.weights if self.selection else {}
        order = sorted(found, key=lambda name: -found[name])
        return {name: found[name] for name in order if found[name] > 0}

    @cached_property
    def scores(self) -> dict[str, Floats]:
        """Scores of the rows held out, those of the ensemble, too."""
        chosen = self.selection
        ensemble = {ENSEMBLE: chosen.nearly_honest_scores} if chosen else {}
        return {**self.found.scores, **ensemble}

    @cached_property
    def seconds(self) -> dict[str, list[float]]:
        """Seconds of each fit; of the ensemble those of its members."""
        of_members = [self.found.seconds[name] for name in self.weights]
        ensemble = {ENSEMBLE: list(np.sum(of_members, axis=0))} if of_members else {}
        return {**self.found.seconds, **ensemble}

    @cached_property
    def choice(self) -> RankingChoice | None:
        """The choice among the models; None where bootstrap samples can't repeat it."""
        rows, group = self.found.rows, self.data.group
        if group is not None:
            if rows.qid is not None or self.data.time is not None:
                return None
            group = group[self.found.place]
        how: dict[str, Any] = {"qid": rows.qid, "fold": rows.fold, "group": group}
        how |= {"criterion": self.scoring, "preferred": ENSEMBLE if self.selection else None}
        for metric in (self.top, None):  # None: the criterion, where the metric can't be resampled
            with suppress(ValueError):
                return choose_ranking(
                    rows.y, self.scores, metric=metric, n_resamples=499, random_state=0, **how
                )
        return None

    @property
    def top(self) -> str:
        """The metric that the sentence names."""
        return _metrics.top_metric(self.metrics)

    @cached_property
    def order(self) -> list[str]:
        """The names, the best first."""
        if self.choice is not None:
            return self.choice.names
        rows = self.found.rows
        means = {k: _metrics.measure(self.top, rows, one).mean for k, one in self.scores.items()}
        return sorted(means, key=lambda name: -np.nan_to_num(means[name], nan=-np.inf))

    @cached_property
    def table(self) -> Comparison:
        """The metrics of each model, the best first."""
        scores = {name: self.scores[name] for name in self.order}
        return _metrics.compare_with_best(self.metrics, self.found.rows, scores)


def hold(
    folds: Folds,
    rankers: dict[str, Any],
    data: Dataset,
    notes: list[str],
    asked: list[str],
    stored: str | None = None,
) -> Contest:
    """Cross-validate models, or read what they reached."""
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
    return Contest(folds, data, metrics, scoring, pipelines, found)


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
    if contest.choice is not None and contest.selection:
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
        told += [f"{chosen} of {one}" if name == ENSEMBLE else chosen] * bool(chosen)
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
