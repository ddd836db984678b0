"""The typed settings of the commands, and how the words of an option become a setting.

A field is an option, or settings that commands share. The docstring of a command's class is its
help; its lines that begin with two dashes, and those below that are indented, describe options.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sklearn_rank.cli._output import Output
from sklearn_rank.cli._tables.errors import InputError
from sklearn_rank.cli._tables.options import Reading, TableOptions


@dataclass(frozen=True)
class Shown:
    """The metrics to show, and the files to write them to.

    --metrics NAME,...  What to show: auc, tpr@a, pauc@a, ndcg@k, precision@k, recall@k, map, map@k,
        mrr, err, r_precision, push@p, where a is a share of the negatives (0.05), k a number of
        rows (10), and p the power of the push (4); default: auc,tpr@0.05, with queries or grades
        auc,ndcg@10.
    --json FILE  Also write every number (.json).
    --plot FILE  Also draw a picture (.png, .pdf, .svg).
    """

    metrics: Sequence[str] = ()
    json: Output | None = None
    plot: Output | None = None


@dataclass(frozen=True)
class Folds:
    """What is compared, and how.

    --rankers NAME,...  Of {rankers}; default: all but SmoothMarginRanker, ListNetLinear only with
        queries or grades, KernelPairwiseSGDRanker up to 2000 training rows, BoostedTreesRanker if
        XGBoost or LightGBM is installed.
    --param NAME=VALUE...  Parameters, such as p=8, of every ranker that has them.
    --search NAME=VALUE,...  Choose parameters of the models that have them by folds of the
        training rows: p=1,4,16. Of the settings within one standard error of the best, the first is
        taken. Repeat it for other parameters.
    --cv K  Number of folds; default: 5.
    --repeats N  Times to draw folds anew; intervals are then those of Nadeau and Bengio over
        folds, which do not count a row twice; default: 1.
    --n-jobs N  Folds to fit at once; -1: all cores.
    """

    rankers: Sequence[str] = ()
    param: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, list[Any]] = field(default_factory=dict)
    cv: int = 5
    repeats: int = 1
    n_jobs: int | None = None


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Cross-validate rankers beside the usual models as they come.

    {data} Without DATA: an example. Held-out metrics with 95 % intervals; a star marks what is
    worse than the best by more than noise.

    Example: sklearn-rank compare loans.csv --target late --positive yes

    --output RUN  File for what the models reached, for train --best RUN (.json).
    """

    table: TableOptions = TableOptions()
    folds: Folds = Folds()
    shown: Shown = Shown()
    output: Output | None  # None: nowhere


@dataclass(frozen=True, kw_only=True)
class Train:
    """Fit a ranker to all rows and store it.

    {data}

    Example: sklearn-rank train loans.csv --target late -o loans.skops

    --ranker NAME  One of {rankers}, or a model that compare shows
        beside them; default: PNormPushRanker.
    --best [RUN]  Fit what compare puts first, by folds as there, or by a run that compare -o stored
        for the same rows and options.
    --metric NAME  What --search compares settings by: one name, of those of compare --metrics.
    --validation FILE  Rows that decide when boosting stops.
    --calibrate SHARE  Rows to hold out for rank --fdr, such as 0.25; they are not fitted to.
    --output MODEL  Model file (.skops).
    """

    table: TableOptions = TableOptions()
    folds: Folds = Folds()
    ranker: str | None
    best: str | None
    metric: str | None
    validation: str | None
    calibrate: float | None
    output: Output


@dataclass(frozen=True, kw_only=True)
class Rank:
    """Order the rows of a table, best first within each query.

    {data} {model}

    Example: sklearn-rank rank loans.skops new.csv -o ranked.csv

    --top N  Write the first N rows of each list only.
    --explain  Add what adds most to each score, or takes most from it, as reason_1 to reason_3.
    --fdr SHARE  Add a column selected: the longest head with at most this expected share of false
        alarms. Needs train --calibrate, or --calibration.
    --calibration FILE  Labelled rows, none of which the model was fitted to.
    --output OUT  Table to write (.csv, .tsv, .parquet), or - for CSV on the terminal: the columns
        of DATA, score, and rank within the query.
    """

    model: str
    data: str
    reading: Reading = Reading()
    top: int | None
    explain: bool
    fdr: float | None
    calibration: str | None
    output: Output | None  # None: the terminal


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure a model on rows whose target is known, with 95 % intervals.

    {data} {model}

    Example: sklearn-rank evaluate loans.skops test.csv
    """

    model: str
    data: str
    reading: Reading = Reading()
    shown: Shown = Shown()


@dataclass(frozen=True, kw_only=True)
class MakeCard:
    """Fit a scorecard, a table of points, print it and store it.

    {data}

    Example: sklearn-rank card loans.csv --target late --max-terms 10 -o card.json

    --max-terms N  Most terms of the card; default: 10.
    --points LOW:HIGH  Range of the points of a term; default: -5:5.
    --monotone COL=1,...  Columns whose points only rise (1) or only fall (-1).
    --special COL=-999,...  Numbers that are codes, which get points of their own.
    --param NAME=VALUE...  Parameters of Scorecard or its ranker, such as p=4.
    --output CARD  File of the card (.json).
    """

    table: TableOptions = TableOptions()
    max_terms: int
    points: tuple[int, int]
    monotone: Mapping[str, list[float]]
    special: Mapping[str, list[float]]
    param: Mapping[str, Any]
    output: Output


@dataclass(frozen=True, kw_only=True)
class ExportCard:
    """Write a scorecard in another form.

    Example: sklearn-rank card export card.json --to sql -o card.sql

    --to FORM  sql, html, text, onnx.
    --output FILE  File to write; default: the terminal.
    """

    card: str
    to: str
    output: Output | None  # None: the terminal


@dataclass(frozen=True, kw_only=True)
class ExportModel:
    """Write a model in a form that Elasticsearch or OpenSearch reads.

    Example: sklearn-rank export model.skops --to xgboost -o model.json

    Its features are those of the search engine: the table it was trained on must be of numbers,
    without missing values that the model has learned from.

    --to FORM  ranklib, xgboost, linear.
    --drop-constant  Leave out the constant of a linear model, which does not change the order.
    --output FILE  File to write; default: the terminal.
    """

    model: str
    to: str
    drop_constant: bool = False
    output: Output | None = None  # None: the terminal


def split(values: Iterable[str]) -> list[str]:
    """Return the values of an option that is repeated or has several, separated by commas."""
    return [part for value in values for part in value.split(",") if part]


def parse_param(texts: Iterable[str]) -> dict[str, Any]:
    """Parse texts of the form ``name=value``."""
    return {name: _value(text) for name, text in _by_name(texts, "--param").items()}


def parse_search(texts: Iterable[str]) -> dict[str, list[Any]]:
    """Parse texts of the form ``name=value,value``."""
    given = _by_name(texts, "--search").items()
    return {name: [_value(one) for one in split([values])] for name, values in given}


def _by_name(texts: Iterable[str], option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"{option} {text}: must read NAME=VALUE, such as p=8")
        if name == "relevance":
            raise InputError(f"{option} {text}: use --relevance {value}")
        if name in found:
            raise InputError(f"{option} {text}: {name!r} is given twice")
        found[name] = value
    return found


def _value(text: str) -> Any:
    """Parse a value: none, true, false, a number, or else text."""
    named = {"none": None, "true": True, "false": False}
    if text.lower() in named:
        return named[text.lower()]
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def parse_n_jobs(value: int | None) -> int | None:
    """Return the number of jobs; 0 is none."""
    if value == 0:
        raise InputError("--n-jobs 0: must be a number of jobs, or -1 for all cores")
    return value


def parse_points(text: str) -> tuple[int, int]:
    """Parse ``low:high``."""
    try:
        low, high = map(int, text.split(":"))
    except ValueError:
        raise InputError(f"--points {text}: must read LOW:HIGH, as -5:5") from None
    return low, high


def parse_by_column(option: str, texts: Iterable[str]) -> dict[str, list[float]]:
    """Parse texts of the form ``column=number``."""
    found: dict[str, list[float]] = {}
    for text in split(texts):
        name, _, value = text.rpartition("=")
        try:
            found.setdefault(name, []).append(float(value))
        except ValueError:
            raise InputError(f"{option} {text}: must read COL=NUMBER") from None
    return found
