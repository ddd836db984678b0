"""Notes on columns that leak the target, carry no information or drift."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.stats import chi2

from sklearn_rank._core.protocols import Floats, Indices, Mask, Values
from sklearn_rank._core.validation import check_column, check_lengths, is_data_frame, is_missing
from sklearn_rank.metrics import auc_score
from sklearn_rank.metrics.held_out import have_pair
from sklearn_rank.metrics.intervals import wilson

__all__ = [
    "ColumnNote",
    "column_notes",
    "column_summaries",
    "drift_notes",
    "population_stability_index",
]

_LEAK, _MIN_CLASS, _MAX_ROWS = 0.995, 20, 20_000
_APART, _TIMES = 0.5, 10  # least difference and quotient of the shares of two classes
_FEW_ROWS, _FEW = 10, 0.01  # most rows, and share, in which a nearly constant column varies
_MIN_EXPECTED, _LARGE_PSI, _LEVEL = 10, 0.25, 0.05
_N_BINS = 10  # of a column in its summary


@dataclass(frozen=True)
class ColumnNote:
    """A note on columns of a table.

    Attributes
    ----------
    kind : str
        "leak", "filled", "constant" or "drift".
    columns : tuple
        Names of the columns.
    text : str
        A sentence, also returned by ``str``.

    Examples
    --------
    >>> from sklearn_rank.inspection import ColumnNote
    >>> print(ColumnNote("constant", ("a",), "column 'a' holds one value only"))
    column 'a' holds one value only
    """

    kind: str
    columns: tuple[Any, ...]
    text: str

    def __str__(self) -> str:
        """Return the text."""
        return self.text


def column_notes(X: Any, y: Any = None, *, qid: Any = None) -> list[ColumnNote]:
    r"""Return notes on columns that leak the target or carry no information.

    =================  ==========================================================================
    kind               condition
    =================  ==========================================================================
    "leak"             alone the column orders the rows with an AUC above .995
    "filled"           it is filled in for one class and missing for the other: judged by their
                       confidence limits, the two fill rates differ by at least .5, and the larger
                       fill rate (or missing rate) is at least 10 times the smaller; or being
                       filled in alone gives an AUC above .995. The most common value, such as 0
                       or "none", is also treated as missing
    "constant"         all rows hold one value, or miss it; or all but 1 % and at most 10
    =================  ==========================================================================

    A note describes the rows; only you can say whether a column is known when rows are ranked.

    Parameters
    ----------
    X : data frame or array-like of shape (n_samples, n_features)
        Features: numbers, dates, texts or categories. NaN, NaT and None are missing.
    y : array-like of shape (n_samples,), default=None
        Relevance of the rows; those above the lowest are on top. None: no notes on the target.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; a column that leaks orders the rows within queries.

    Returns
    -------
    list of ColumnNote
        At most two notes are "constant"; each may name several columns.

    Raises
    ------
    ValueError
        If the arrays are of different lengths, y is missing in a row, or X is sparse or not
        two-dimensional.

    See Also
    --------
    drift_notes : Compares new rows with a stored summary of the training rows.

    References
    ----------
    The kinds and their limits are defined here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.inspection import column_notes
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(500) < 0.3
    >>> investigator = np.where(rng.random(500) < np.where(y, 0.95, 0.02), 7, np.nan)
    >>> X = np.column_stack([rng.normal(size=500), investigator, np.ones(500)])
    >>> for note in column_notes(X, y):
    ...     print(note)
    column 'x1' is filled in for 96.9 % of the rows on top and 2.7 % of the others: likely ...
    column 'x2' holds one value only
    """
    columns = _columns(X)
    notes = [] if y is None else _target_notes(X, columns, check_column(y, "y"), qid)
    n_rows = max((len(values) for values, _ in columns.values()), default=0)
    max_others, n_others = min(_FEW_ROWS, _FEW * n_rows), {}
    for name, (values, _) in columns.items():  # missing values count as one value
        n_others[name] = n_rows - np.unique(values, return_counts=True)[1].max(initial=0)
    constant = [name for name, n in n_others.items() if n == 0]
    nearly = [name for name, n in n_others.items() if 0 < n <= max_others]
    for names, condition in ((constant, "only"), (nearly, f"in all but {_FEW_ROWS} rows or fewer")):
        if names:
            text = f"{_listed(names, 'hold')} one value {condition}"
            notes.append(ColumnNote("constant", tuple(names), text))
    return notes


def column_summaries(X: Any) -> dict[Any, dict[str, list[Any]]]:
    """Return the distribution of each column in ten bins, for `drift_notes` on later rows.

    Parameters
    ----------
    X : data frame or array-like of shape (n_samples, n_features)
        Features: numbers, dates, texts or categories. NaN, NaT and None are missing.

    Returns
    -------
    dict
        For each column, a dict of lists that can be stored as JSON: "cuts", a number just below the
        minimum and the deciles, or "texts", the most frequent texts; and "counts", the rows up to
        each cut and above the last, or with each text and with others, followed by those with a
        missing value. Dates and durations count as numbers, in microseconds.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.inspection import column_summaries
    >>> column_summaries(np.array([[1.0], [2.0], [2.0], [np.nan]]))
    {'x0': {'cuts': [0.9999999999999999, 1.0, 2.0], 'counts': [0, 1, 2, 0, 1]}}
    """
    summaries: dict[Any, dict[str, list[Any]]] = {}
    for name, (values, texts) in _columns(X).items():
        present = values[~np.isnan(values)]
        if texts is None:
            levels = np.arange(1, _N_BINS + 1) / _N_BINS
            cuts = np.quantile(present, levels, method="inverted_cdf") if len(present) else present
            # New values below the least have a bin, as those above the greatest.
            lowest_cut = np.nextafter(present.min(initial=np.inf), -np.inf)
            summary = {"cuts": np.unique([lowest_cut, *cuts]).tolist()}
        else:
            order = np.argsort(-np.bincount(present.astype(np.intp)), kind="stable")
            summary = {"texts": [texts[code] for code in order[: _N_BINS - 1]]}
        summaries[name] = summary | {"counts": _counts(summary, values, texts).tolist()}
    return summaries


def drift_notes(summaries: Mapping[Any, Mapping[str, Any]], X_new: Any) -> list[ColumnNote]:
    r"""Return a note on the columns whose distribution differs from that of the training rows.

    A column is named if the population stability index of its bins is at least .25, a large change
    by the usual rule of thumb, and if its p-value is below .05 divided by the number of columns, so
    that without any change, a column is named in at most about 5 % of tables. Bins with fewer than
    10 expected new rows are merged.

    A column may be numbers, dates or booleans in one of the tables and the same as texts or
    categories in the other: 1 and "1" are one value. Dates are read from text in ISO 8601 format.
    Other texts count as larger than all numbers.

    Parameters
    ----------
    summaries : dict
        The result of `column_summaries` for the training rows.
    X_new : data frame or array-like of shape (n_samples, n_features)
        New rows, with at least these columns.

    Returns
    -------
    list of ColumnNote
        One note, or none.

    Raises
    ------
    ValueError
        If a column is missing.

    See Also
    --------
    population_stability_index : The index, and its p-value.

    References
    ----------
    Siddiqi2006 (the index and the rule of thumb). Yurdakul2020 (its distribution).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.inspection import column_summaries, drift_notes
    >>> rng = np.random.default_rng(0)
    >>> then, now = rng.normal(size=(500, 3)), rng.normal(size=(300, 3)) + [0, 0.1, 2]
    >>> print(*drift_notes(column_summaries(then), now))
    column 'x2' differs from the training rows
    """
    columns, drifts = _columns(X_new), {}
    missing = [name for name in summaries if name not in columns]
    if missing:
        raise ValueError(f"X_new lacks {_listed(missing)}.")
    for name, summary in summaries.items():
        counts = _counts(summary, *columns[name])
        with suppress(ValueError):  # a table without rows has no distribution
            psi, p_value = population_stability_index(summary["counts"], counts)
            if psi >= _LARGE_PSI and p_value < _LEVEL / len(summaries):
                drifts[name] = psi
    names = sorted(drifts, key=lambda name: -drifts[name])
    text = f"{_listed(names, 'differ')} from the training rows"
    return [ColumnNote("drift", tuple(names), text)] if names else []


def population_stability_index(reference: Any, current: Any) -> tuple[float, float]:
    r"""Return the population stability index (PSI) of two tables, and its p-value.

    .. math:: \mathrm{PSI} = \sum_b (q_b - p_b) \ln \frac{q_b}{p_b}

    where :math:`p_b` and :math:`q_b` are the shares of the reference and of the current table in
    bin b. If a bin has no rows of one table, it gets the share of half a row, or of half of all
    rows if their weight is below one; a bin without rows of either table adds nothing.

    Parameters
    ----------
    reference : array-like of shape (n_bins,)
        Number, or total weight, of the reference's rows in each bin.
    current : array-like of shape (n_bins,)
        The same for the rows to compare.

    Returns
    -------
    psi : float
        0 for equal shares, else positive.
    p_value : float
        Probability of an index at least as large in large tables without any change. To compute it,
        neighbouring bins are merged until at least 10 rows of the smaller table are expected in
        each; 1 if that leaves a single bin.

    Notes
    -----
    By a rule of thumb, less than 0.1 is no change and more than 0.25 a large one. The rule ignores
    the number of rows: without any change, the index of B bins is about :math:`1/n + 1/m` times a
    chi-squared variable with B - 1 degrees of freedom, where n and m are the numbers of rows.

    References
    ----------
    Siddiqi2006 (the index and the rule of thumb). Yurdakul2020 (its distribution). The treatment of
    empty bins is defined here.

    Examples
    --------
    >>> from sklearn_rank.inspection import population_stability_index
    >>> psi, p_value = population_stability_index([200, 200], [100, 300])
    >>> round(psi, 3), p_value < 0.001
    (0.275, True)
    """
    old, new = (np.asarray(counts, dtype=np.float64) for counts in (reference, current))
    if old.ndim != 1 or old.shape != new.shape or not (old.sum() > 0 and new.sum() > 0):
        raise ValueError(
            "population_stability_index needs two lists of counts of equal length, each with a "
            f"positive sum. Got {old} and {new}."
        )
    merged = _merge_small_bins(old, new)
    statistic = _psi(*merged) / (1 / old.sum() + 1 / new.sum())
    n_bins = merged.shape[1]
    return _psi(old, new), float(chi2.sf(statistic, n_bins - 1)) if n_bins > 1 else 1.0


def _psi(old: Floats, new: Floats) -> float:
    # An empty bin gets the weight of half a row, or half of all weight if that is below one.
    tables = [(np.where(x > 0, x, 0.5 * min(1.0, x.sum())), x.sum()) for x in (old, new)]
    p, q = (mass / total for mass, total in tables)
    # Shares too small for a float still have a logarithm.
    log_p, log_q = (np.log(mass) - np.log(total) for mass, total in tables)
    return float(np.where((old > 0) | (new > 0), (q - p) * (log_q - log_p), 0.0).sum())


def _merge_small_bins(old: Floats, new: Floats) -> Floats:
    """Return the weights of bins, merged until enough rows are expected in each."""
    counts = old + new
    starts, n_expected = [0], 0.0
    for index, expected in enumerate(counts / counts.sum() * min(old.sum(), new.sum())):
        if n_expected >= _MIN_EXPECTED:
            starts, n_expected = [*starts, index], 0.0
        n_expected += expected
    # Too small a rest joins the bin before it.
    n_bins = max(1, len(starts) - (n_expected < _MIN_EXPECTED))
    return np.add.reduceat([old, new], starts[:n_bins], axis=1)


def _columns(X: Any) -> dict[Any, tuple[Floats, list[str] | None]]:
    """Return each column as floats, NaN if missing; text becomes codes, returned with the texts."""
    if is_data_frame(X):
        return {name: _floats(name, X[name]) for name in X.columns}
    if issparse(X) or np.ndim(X) != 2:
        got = f"{type(X).__name__} of shape {np.shape(X)}"
        raise ValueError(f"X must be a data frame or a dense array of two dimensions. Got {got}.")
    return {f"x{j}": _floats(f"x{j}", column) for j, column in enumerate(np.asarray(X).T)}


def _floats(name: Any, values: Any) -> tuple[Floats, list[str] | None]:
    if hasattr(getattr(values, "cat", None), "codes"):  # categories of pandas
        codes = np.asarray(values.cat.codes, dtype=np.float64)
        return np.where(codes < 0, np.nan, codes), list(map(str, values.cat.categories))
    column = check_column(values, f"column {name!r}")
    if column.dtype.kind in "mM":
        microseconds = column.astype(f"{column.dtype.kind}8[us]").astype(np.int64)
        return np.where(np.isnat(column), np.nan, microseconds), None
    if column.dtype.kind in "biuf":
        return column.astype(np.float64), None
    present = np.array([not is_missing(value) for value in column], dtype=bool)
    codes = np.full(len(column), np.nan)
    texts, codes[present] = np.unique(column[present].astype(str), return_inverse=True)
    return codes, texts.tolist()


def _target_notes(X: Any, columns: Mapping[Any, Any], y: Values, qid: Any) -> list[ColumnNote]:
    """Return a note on each column that leaks the target by its values or by missing values."""
    check_lengths(y=y, X=next(iter(columns.values()), (y,))[0])
    n_missing = np.count_nonzero(np.isnan(_floats("y", y)[0]))
    if n_missing:
        raise ValueError(f"column_notes needs y in every row. Got {n_missing} rows without.")
    rows = np.random.default_rng(0).permutation(len(y))[:_MAX_ROWS]
    is_upper = (y != np.unique(y)[0])[rows]
    query = None if qid is None else check_column(qid, "qid")[rows]
    notes, level = [], 1 - _LEVEL / len(columns)
    for j, (name, (values, texts)) in enumerate(columns.items()):
        score, filled = values[rows], ~np.isnan(values[rows])
        kind, text = "filled", _filled_for_one(filled, is_upper, level)
        known_query = None if query is None else query[filled]
        has_both = np.bincount(is_upper[filled], minlength=2).min() >= _MIN_CLASS
        if not text and has_both and have_pair(is_upper[filled], known_query):
            rates = score if texts is None else _rates(score, is_upper, len(texts))
            auc = auc_score(is_upper[filled], rates[filled], qid=known_query)
            auc = max(auc, 1 - auc)
            if auc > _LEAK:
                kind, text = "leak", f"alone orders the rows with an AUC of {auc:.4f}"
        if not text and filled.any():
            levels, first, counts = np.unique(score[filled], return_index=True, return_counts=True)
            is_other, row = score != levels[counts.argmax()], rows[filled][first[counts.argmax()]]
            args = is_upper, level, f"is other than {_cell(X, name, j, row)}"
            text = _filled_for_one(is_other, *args) or _filled_for_one(is_other & filled, *args)
        if text:
            advice = "leave it out unless it is known when rows are ranked"
            text = f"column {name!r} {text}: likely a leak of the target; {advice}"
            notes.append(ColumnNote(kind, (name,), text))
    return notes


def _rates(codes: Floats, is_upper: Mask, n_texts: int) -> Floats:
    """Return, for each row, the share on top of the other half's rows with the same text."""
    text = np.where(np.isnan(codes), n_texts, codes).astype(np.intp)
    is_even, rates = np.arange(len(is_upper)) % 2 == 0, np.empty(len(is_upper))
    for half in (is_even, ~is_even):
        n_rows = np.bincount(text[~half], minlength=n_texts + 1)
        n_top = np.bincount(text[~half], is_upper[~half], minlength=n_texts + 1)
        rates[half] = ((n_top + is_upper.mean()) / (n_rows + 1))[text[half]]
    return rates


def _cell(X: Any, name: Any, column: int, row: int) -> str:
    """Return a cell as text for a sentence."""
    cell = np.asarray(X[name] if is_data_frame(X) else np.asarray(X)[:, column])[row]
    text = str(cell).removesuffix(".0").partition("T00:00:00")[0]
    return repr(text) if isinstance(cell, str) else text


def _filled_for_one(filled: Mask, is_upper: Mask, level: float, text: str = "is filled in") -> str:
    """Return how often a column is filled in per class, if it is so for one class only."""
    sizes = np.array([is_upper.sum(), (~is_upper).sum()])
    if sizes.min() < _MIN_CLASS:
        return ""
    shares = np.array([filled[is_upper].mean(), filled[~is_upper].mean()])
    low, high = wilson(shares, sizes, level)
    upper = int(np.argmax(shares))
    lower_bound, upper_bound = low[upper], high[1 - upper]
    is_rare = lower_bound >= _TIMES * upper_bound or 1 - upper_bound >= _TIMES * (1 - lower_bound)
    # Where the shares are nearly 0 and 1 the limits of few rows are no reason to be silent.
    differs = is_rare and lower_bound - upper_bound >= _APART
    if not differs and (1 + abs(shares[0] - shares[1])) / 2 <= _LEAK:
        return ""
    upper_share, other_share = (f"{100 * share:.3g} %" for share in shares)
    return f"{text} for {upper_share} of the rows on top and {other_share} of the others"


def _counts(summary: Mapping[str, Any], values: Floats, texts: list[str] | None) -> Indices:
    """Return the number of rows in each bin of a summary; the last bin is for missing values."""
    present = values[~np.isnan(values)]
    if "texts" in summary:
        levels, codes = np.unique(present, return_inverse=True)
        bin_of = {text: index for index, text in enumerate(summary["texts"])}
        other_bin = len(bin_of)  # the bin of other texts
        if texts is None:
            keys, bin_of = levels.tolist(), {_number(text): bin_of[text] for text in bin_of}
        else:
            keys = [texts[int(level)] for level in levels]
            aliases = {f"{text}.0".removesuffix(".0.0"): text for text in bin_of}  # 1.0 is 1
            bin_of = {alias: bin_of[text] for alias, text in aliases.items()} | bin_of
        bin_of_level = [bin_of.get(key, other_bin) for key in keys]
        bins, n_bins = np.array(bin_of_level, dtype=np.intp)[codes], other_bin + 1
    else:
        if texts is not None:
            present = np.array([*map(_number, texts)], dtype=np.float64)[present.astype(np.intp)]
        bins, n_bins = np.searchsorted(summary["cuts"], present), len(summary["cuts"]) + 1
    return np.append(np.bincount(bins, minlength=n_bins), len(values) - len(present))


def _number(text: str) -> float:
    """Return the value of a number or, in microseconds, of a date; inf for other texts."""
    with suppress(ValueError):
        return float({"False": "0", "True": "1"}.get(text, text))
    with suppress(ValueError):
        date = datetime.fromisoformat(text).replace(tzinfo=None)
        return float(np.datetime64(date, "us").astype(np.int64))
    return np.inf


def _listed(names: Collection[Any], verb: str = "") -> str:
    """Return names, and a verb that agrees with their number."""
    shown = ", ".join(map(repr, list(names)[:10]))
    more = f", ... ({len(names) - 10} more)" if len(names) > 10 else ""
    plural, singular = ("s", "") if len(names) > 1 else ("", "s")
    return f"column{plural} {shown}{more}" + (f" {verb}{singular}" if verb else "")
