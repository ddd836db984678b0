"""A splitter of rows in time: train on earlier rows, test on later ones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from sklearn_rank._core.arrays import are_dates
from sklearn_rank._core.protocols import Indices, Values
from sklearn_rank._core.validation import (
    Constraint,
    Number,
    check_column,
    check_lengths,
    check_names,
    check_parameters,
    check_qid,
    is_missing,
)


class RollingOriginSplit(BaseCrossValidator):
    r"""Split the rows into periods, and test each with a model of strictly earlier rows.

    The times of the rows, in ascending order, form ``n_splits + 1`` periods with nearly equal
    numbers of rows. The first period is for training only. Split k tests period k, and

    .. math:: \text{trains on row } r \quad\Longleftrightarrow\quad s_k - t_r > e

    where

    - :math:`t_r` is the time of the row or, with `qid`, the latest time in its query;
    - :math:`s_k` is the earliest time in period k, for :math:`k = 1, \ldots,` `n_splits`;
    - e is `embargo`.

    Rows with the same time stay together, unlike in scikit-learn's `TimeSeriesSplit`. Each row
    after the first period is tested once; with `qid`, its whole query is tested in the period of
    the query's earliest time.

    Parameters
    ----------
    n_splits : int in [1, inf), default=5
        Number of test periods.
    embargo : float in [0, inf), default=0
        Rows up to this long before a test period are excluded from training: their target is not
        known when the period begins. In the unit of the times; for dates, in days. Float times are
        compared up to rounding. With an embargo above 0, numbers that spell dates, such as
        20240131, raise an error: their differences are not days.

    Raises
    ------
    ValueError
        If a parameter is invalid.

    See Also
    --------
    QueryKFold : Folds of whole queries, without regard to time.

    Notes
    -----
    Early periods have fewer training rows. If the score falls from the first period to the last, it
    does so despite more training rows.

    References
    ----------
    Tashman2000 (rolling origins). The treatment of rows with the same time, of queries and of
    groups is defined here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.model_selection import RollingOriginSplit
    >>> time = np.array([3, 1, 1, 2, 2, 3, 4])
    >>> for train, test in RollingOriginSplit(n_splits=2).split(np.zeros((7, 1)), time=time):
    ...     print(time[train], time[test])
    [1 1] [2 2]
    [1 1 2 2] [3 3 4]

    In a search with metadata routing, pass ``time`` once. Without routing, pass the list of splits
    as ``cv=list(splitter.split(X, time=time))``:

    >>> import sklearn
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = np.arange(40.0)[:, None] % 7, np.arange(40) % 7 > 3
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     splitter, params = RollingOriginSplit(3), {"time": np.arange(40) // 2}
    ...     cross_val_score(LogisticRegression(), X, y, cv=splitter, params=params)
    array([1., 1., 1.])
    """

    # Requested by default: with metadata routing users pass each only once.
    __metadata_request__split: ClassVar = dict.fromkeys(("time", "qid", "groups"), True)

    _allowed: ClassVar[dict[str, Constraint]] = {
        "n_splits": Number(1, integer=True),
        "embargo": Number(0, closed="left"),
    }

    def __init__(self, n_splits: int = 5, *, embargo: float = 0) -> None:
        self.n_splits = n_splits
        self.embargo = embargo
        check_parameters(type(self).__name__, vars(self), self._allowed)

    def split(
        self, X: Any, y: Any = None, groups: Any = None, *, time: Any = None, qid: Any = None
    ) -> Iterator[tuple[Indices, Indices]]:
        """Return the splits, each a pair of arrays of row indices.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; only the number of rows matters.
        y : object, default=None
            Ignored; present for compatibility with scikit-learn.
        groups : array-like of shape (n_samples,), default=None
            Group of each row, such as its customer. Rows of a tested group are excluded from
            training in that split.
        time : array-like of shape (n_samples,)
            Time of each row, in any order: numbers, or dates with microseconds.
        qid : array-like of shape (n_samples,), default=None
            Query of each row; queries stay whole.

        Returns
        -------
        iterator of (train, test)
            Sorted row indices of both sides, in ascending order of the periods.

        Raises
        ------
        ValueError
            Without time, if an array is invalid, if there are too few distinct times, or if a
            period has no training rows.
        """
        if time is None:
            raise ValueError(
                "RollingOriginSplit needs the time of each row: split(X, y, time=time). "
                "GridSearchCV, cross_validate and similar tools take cv=list(splitter.split(X, y, "
                "time=time)), or time itself, as search.fit(X, y, time=time) or params={'time': "
                "time}, after sklearn.set_config(enable_metadata_routing=True)."
            )
        n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
        times = _check_time(time, n_samples)
        query = np.arange(n_samples) if qid is None else check_qid(qid, n_samples)
        group = None if groups is None else check_qid(groups, n_samples, "groups")
        moments, moment_of_row = np.unique(times, return_inverse=True)
        # The first and the last moment of each query, as positions in `moments`.
        first, last = np.full(query.max() + 1, len(moments)), np.zeros(query.max() + 1, np.intp)
        np.minimum.at(first, query, moment_of_row)
        np.maximum.at(last, query, moment_of_row)
        embargo = self._embargo_at(moments)
        splits, starts = [], self._starts(np.bincount(first[query]))
        for k, (start, end) in enumerate(zip(starts, [*starts[1:], len(moments)], strict=True)):
            # Tested: queries that begin in the period. Training: those that end early enough.
            is_tested = ((first >= start) & (first < end))[query]
            n_early = np.count_nonzero(moments[start] - moments > embargo)
            is_trained = (last < n_early)[query]
            if group is not None:
                is_trained &= ~np.isin(group, group[is_tested])
            if not is_trained.any():
                raise ValueError(
                    f"RollingOriginSplit: no row is left to train on for period {k + 1}, from "
                    f"{moments[start]!s:.19} on. Use fewer splits or a shorter embargo. Got "
                    f"{self!r}."
                )
            splits.append((np.flatnonzero(is_trained), np.flatnonzero(is_tested)))
        return iter(splits)

    def get_n_splits(
        self, X: Any = None, y: Any = None, groups: Any = None, **metadata: Any
    ) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups : object, default=None
            Ignored; present for compatibility with scikit-learn.
        **metadata : object
            Not used.

        Returns
        -------
        int
            The parameter `n_splits`.
        """
        return self.n_splits

    def _embargo_at(self, moments: Values) -> Any:
        """Return the embargo in the unit of the times, or one for each time."""
        if self.embargo > 0 and moments.dtype.kind in "if" and are_dates(moments):
            raise ValueError(
                f"RollingOriginSplit needs dates for embargo={self.embargo:g}. time holds numbers "
                f"such as {moments[0]:.0f}, dates whose differences are not days. Use pandas."
                f"to_datetime(time, format={'%Y%m%d' if moments[0] > 1e7 else '%Y%m'!r})."
            )
        if moments.dtype.kind == "M":
            # At most 27,000 years: microseconds fit 64 bits.
            return np.timedelta64(round(min(self.embargo, 1e7) * 86_400_000_000), "us")
        if moments.dtype.kind != "f" or not self.embargo:
            return self.embargo
        # A rounded difference of floats may exceed an embargo that it equals.
        return self.embargo + 1e-12 * (np.abs(moments) + self.embargo)

    def _starts(self, n_rows: Indices) -> list[int]:
        """Return the first moment of each test period, given the number of rows of each moment."""
        moments = np.flatnonzero(n_rows)
        if len(moments) <= self.n_splits:
            raise ValueError(
                f"RollingOriginSplit needs at least {self.n_splits + 1} distinct times for "
                f"n_splits={self.n_splits}, one more to train on. Got {len(moments)}."
            )
        n_earlier = (np.cumsum(n_rows) - n_rows)[moments]
        starts, first_index = [], 1
        for k in range(1, self.n_splits + 1):
            # The nearest to equal shares that leaves a moment for each later period.
            candidates = n_earlier[first_index : len(moments) - self.n_splits + k]
            target = k * n_rows.sum() / (self.n_splits + 1)
            first_index += int(np.argmin(np.abs(candidates - target))) + 1
            starts.append(int(moments[first_index - 1]))
        return starts


def _check_time(time: Any, n_samples: int) -> Values:
    """Return times as integers, floats or dates without a time zone."""
    if getattr(getattr(time, "dtype", None), "kind", "") == "M":  # with a zone or without
        time = np.asarray(time, dtype="datetime64[us]")
    times = check_names(time, "time") if hasattr(time, "dtype") else check_column(time, "time")
    if times.dtype.kind == "O" and all(
        isinstance(moment, date) and getattr(moment, "tzinfo", None) is None for moment in times
    ):
        times = np.array([None if is_missing(t) else t for t in times], "datetime64[us]")
    if times.dtype.kind not in "iufM":
        raise ValueError(
            "time must hold numbers or dates; pandas.to_datetime converts text, and dates with "
            f"zones. Its dtype is {times.dtype}."
        )
    check_lengths(X=np.empty(n_samples), time=times)
    is_finite = np.isfinite(times)
    if not is_finite.all():
        row = int(np.argmin(is_finite))
        raise ValueError(
            f"time must be finite and must not have missing values. Row {row} has {times[row]}."
        )
    # Differences of narrow integers would overflow.
    return times.astype({"u": np.float64, "i": np.int64}.get(times.dtype.kind, times.dtype))
