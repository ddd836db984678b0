"""Checks of parameters and arrays, with errors that say who, what, allowed and got."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Protocol

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.utils import check_array
from sklearn.utils.multiclass import type_of_target

from sklearn_rank._core.arrays import Estimator, Floats, Indices, Mask, Setting, Table, Values
from sklearn_rank._core.callbacks import TRACE
from sklearn_rank._core.warnings import warn

SMALLEST_WEIGHT, LARGEST_WEIGHT = float(np.finfo(float).tiny), 1e300
"""Weights between these have finite sums, and sums with finite quotients."""


@dataclass(frozen=True)
class Number:
    """A number in an interval, or one of some other values.

    Parameters
    ----------
    low, high : float
        Ends of the interval.
    closed : {"both", "left", "right", "neither"}
        Which ends belong to it.
    integer : bool
        Whether only integers are allowed.
    other : tuple
        Values allowed besides numbers, such as None.
    """

    low: float
    high: float = np.inf
    closed: str = "both"
    integer: bool = False
    other: tuple[object, ...] = ()

    def allows(self, value: object) -> bool:
        """Whether `value` is allowed."""
        if any(value is x or (isinstance(value, str) and value == x) for x in self.other):
            return True
        number_type = Integral if self.integer else Real
        if isinstance(value, bool | np.bool_) or not isinstance(value, number_type):
            return False
        number: Setting = value
        meets_low = number >= self.low if self.closed in ("both", "left") else number > self.low
        meets_high = number <= self.high if self.closed in ("both", "right") else number < self.high
        return bool(meets_low and meets_high)

    def __str__(self) -> str:
        kind = "an int" if self.integer else "a float"
        left = "[" if self.closed in ("both", "left") and np.isfinite(self.low) else "("
        is_open = self.integer and np.isinf(self.high)  # no int is infinite
        right = "]" if self.closed in ("both", "right") and not is_open else ")"
        text = f"{kind} in {left}{self.low:g}, {self.high:g}{right}"
        return " or ".join([text, *map(repr, self.other)])


@dataclass(frozen=True)
class Choice:
    """One of some strings or None, or an object of some classes.

    Parameters
    ----------
    options : tuple of str or None
        The allowed strings, and None if it is allowed.
    description : str
        Name of the other objects, for messages.
    kind : type or tuple of types
        Classes of other objects that are allowed.
    """

    options: tuple[str | None, ...]
    description: str = ""
    kind: Setting = ()

    def allows(self, value: object) -> bool:
        """Whether `value` is allowed."""
        if value is None or isinstance(value, str):
            return value in self.options
        return isinstance(value, self.kind)

    def __str__(self) -> str:
        names = "one of " + ", ".join(map(repr, self.options))
        return f"{names}, or {self.description}" if self.description else names


@dataclass(frozen=True, eq=False)
class KindChoice:
    """One of some classes by name, or an object of their base class.

    Parameters
    ----------
    named : mapping of str to type
        The classes by name.
    base : type
        Their base class.
    other : tuple of str
        Further names, which the ranker replaces by one of these.
    """

    named: Mapping[str, type[Estimator]]
    base: type[Estimator]
    other: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """The names."""
        return (*self.other, *self.named)

    def allows(self, value: object) -> bool:
        """Whether `value` is allowed."""
        return value in self.options if isinstance(value, str) else isinstance(value, self.base)

    def __str__(self) -> str:
        """Return the end of "must be ..."."""
        return f"one of {', '.join(map(repr, self.options))}, or a {self.base.__name__}"

    def resolve(self, value: Setting) -> Estimator:
        """Return an object of the class of a name, or the object itself."""
        return self.named[value]() if isinstance(value, str) else value

    def name_of(self, value: Setting) -> str:
        """Return the option that stands for an object's class, or the name of a user's class."""
        kind = type(self.resolve(value))
        return next((name for name, cls in self.named.items() if kind is cls), kind.__name__)


@dataclass(frozen=True)
class Described:
    """A value that a function allows, or None; `text` completes "must be ..."."""

    text: str
    check: Callable[[Setting], bool]
    or_none: bool = False

    def allows(self, value: object) -> bool:
        """Whether `value` is allowed."""
        return (self.or_none and value is None) or self.check(value)

    def __str__(self) -> str:
        return self.text


FLAG = Described("True or False", lambda value: isinstance(value, bool | np.bool_))


JOBS = Described(
    "None or an int other than 0",
    lambda value: value is None or (Number(-np.inf, integer=True).allows(value) and value != 0),
)


SEED = Described(
    "None, an int in [0, 2**32 - 1] or a numpy.random.RandomState",
    lambda value: (
        isinstance(value, np.random.RandomState)
        or Number(0, 2**32 - 1, integer=True, other=(None,)).allows(value)
    ),
)


def _are_folds(value: object) -> bool:
    """Whether scikit-learn accepts a value as `cv`; strings are excluded, which have `split`."""
    has_folds = hasattr(value, "split") or np.iterable(value)
    return Number(2, integer=True).allows(value) or (has_folds and not isinstance(value, str))


FOLDS = Described("an int in [2, inf), a splitter or an iterable of (train, test)", _are_folds)


KEYWORDS = Described(
    "None or a dict with names as keys",
    lambda value: value is None or (isinstance(value, Mapping) and {*map(type, value)} <= {str}),
)


class Constraint(Protocol):
    """The values that a parameter may have; its text completes "must be ..."."""

    def allows(self, value: object) -> bool:
        """Whether `value` is allowed."""
        ...

    def __str__(self) -> str: ...


def check_parameters(
    owner: str, values: Mapping[str, object], allowed: Mapping[str, Constraint]
) -> None:
    """Raise ValueError for the first value that its constraint does not allow."""
    # In the order of the class, so that the first error is always the same.
    for name, constraint in allowed.items():
        if not constraint.allows(values[name]):
            raise ValueError(
                f"The {name!r} parameter of {owner} must be {constraint}. "
                f"Got {values[name]!r} instead."
            )


def check_same(owner: str, fitted: Mapping[str, object], new: Mapping[str, object]) -> None:
    """Raise ValueError for the first setting of a warm start that differs from the last fit's."""
    for setting, value in new.items():
        if fitted.get(setting, value) != value:
            raise ValueError(
                f"{owner} continues with the same {setting}: it was fitted with "
                f"{fitted[setting]!r}. Got {value!r}."
            )


@contextmanager
def unchanged_on_error(estimator: Estimator) -> Iterator[None]:
    """Restore all attributes if the block fails, in one assignment that Ctrl-C cannot split."""
    attributes = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__ = attributes
        raise


def is_data_frame(X: Table) -> bool:
    """Whether X has columns with dtypes; an Arrow table has none, and counts as an array."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def categorical_positions(X: Table) -> tuple[int, ...]:
    """Return the positions of the categorical columns of a data frame."""
    dtypes = X.dtypes if is_data_frame(X) else ()
    kinds = ("CategoricalDtype", "Categorical", "Enum")  # of pandas, and of polars
    return tuple(i for i, dtype in enumerate(dtypes) if type(dtype).__name__ in kinds)


def check_columns(owner: str, X: Table, advice: str, skipped: Collection[int] = ()) -> None:
    """Raise ValueError for the first column of a data frame that can't be read as numbers."""
    refuse_dates(owner, X, skipped)
    for position, name in enumerate(X.columns if is_data_frame(X) else ()):
        if position in skipped:
            continue
        column = X.iloc[:, position] if hasattr(X, "iloc") else X[name]
        try:
            checks = {"ensure_2d": False, "ensure_all_finite": False, "ensure_min_samples": 0}
            check_array(column, dtype=np.float64, **checks)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Column {name!r} of X must hold numbers for {owner}{advice}. Its dtype is "
                f"{column.dtype}: {error}"
            ) from error


def refuse_dates(owner: str, X: Table, skipped: Collection[int] = ()) -> None:
    """Raise ValueError for a column of dates or durations, which would be converted to numbers."""
    if not is_data_frame(X):
        return
    for position, (name, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
        is_temporal = hasattr(dtype, "is_temporal") and dtype.is_temporal()  # polars
        if position not in skipped and (is_temporal or getattr(dtype, "kind", "") in ("m", "M")):
            raise ValueError(
                f"Column {name!r} of X must hold numbers for {owner}, such as days. Its dtype is "
                f"{dtype}."
            )


def _as_array(values: Table, name: str, **options: Setting) -> Values:
    """Return an array of any shape; errors name the argument, also those of scikit-learn."""
    try:
        # Numbers above the range of floats become infinite, which the check refuses.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(
                check_array(values, ensure_2d=False, allow_nd=True, input_name=name, **options)
            )
    except (TypeError, ValueError) as error:
        if name in str(error):
            raise
        raise ValueError(f"{name} can't be used as an array. {error}") from error


def check_column(values: Table, name: str) -> Values:
    """Return values as an array of one dimension; errors name the argument."""
    if type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "biuf":
        return np.ascontiguousarray(values)  # the metrics of each round are checked, too
    column = _as_array(values, name, dtype=None, ensure_all_finite=False, ensure_min_samples=0)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise ValueError(
            f"{name} should be a 1d array, got an array of shape {column.shape} instead."
        )
    return np.ascontiguousarray(column)


def check_floats(values: Table, name: str) -> Floats:
    """Return numbers, which may be infinite or missing, as floats of one dimension."""
    column = check_column(values, name)
    try:
        with np.errstate(over="ignore"):  # numbers above the range of floats become infinite
            return column.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers. {error}") from error


def check_finite(values: Table, name: str) -> Floats:
    """Return finite numbers of any shape as floats; errors name the argument."""
    return _as_array(values, name, dtype=np.float64)


def check_lengths(**arrays: Values) -> None:
    """Raise ValueError for arrays, passed by their names, of different lengths or empty."""
    if len({len(array) for array in arrays.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(array)}" for name, array in arrays.items())
        raise ValueError(f"Found arrays with inconsistent numbers of samples: {lengths}.")
    for name, array in arrays.items():
        if not len(array):
            raise ValueError(f"{name} is empty: there is no row.")


def check_weight(sample_weight: Table, n_samples: int, name: str = "sample_weight") -> Floats:
    """Return weights as an array of floats: finite, non-negative, not all zero.

    A number applies to every row.
    """
    weight = check_some_weights(sample_weight, n_samples, name)
    if sample_weight is not None and not weight.any():
        raise ValueError(f"{name}: all weights are zero, so no row counts.")
    return weight


def check_some_weights(sample_weight: Table, n_samples: int, name: str = "sample_weight") -> Floats:
    """Return the weights of some of the rows, which may be all zero; else as `check_weight`."""
    if sample_weight is None:
        return np.ones(n_samples)
    weight = _as_array(sample_weight, name, dtype=np.float64, ensure_min_samples=0)
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.shape != (n_samples,):
        raise ValueError(
            f"{name} must have shape ({n_samples},), one weight for each row, or be a "
            f"number. Got shape {weight.shape}."
        )
    if weight.min(initial=0.0) < 0:
        raise ValueError(
            f"{name} must not be negative: a weight is the number of times a row "
            f"counts. Got {weight.min():g}."
        )
    is_extreme = (weight > LARGEST_WEIGHT) | ((weight < SMALLEST_WEIGHT) & (weight > 0))
    if is_extreme.any():
        raise ValueError(
            f"{name} must be 0 or between {SMALLEST_WEIGHT:.2g} and {LARGEST_WEIGHT:g}, so that "
            f"sums of weights are finite. Got {weight[np.argmax(is_extreme)]:g}."
        )
    return weight


def largest_size(X: Table) -> float:
    """Return the largest absolute value of a matrix of any kind; NaN counts as 0."""
    if hasattr(X, "parts"):  # rows in several arrays
        return max(map(largest_size, X.parts))
    values = X.data if issparse(X) else X
    high, low = (ufunc.reduce(values, axis=None, initial=0.0) for ufunc in (np.fmax, np.fmin))
    return float(max(high, -low))


def check_size(owner: str, size: float, max_size: float) -> None:
    """Raise ValueError for a largest value of X whose square overflows."""
    if size > max_size:
        raise ValueError(
            f"X has values as large as {size:.0e}, whose squares overflow in {owner}: at most "
            f"{max_size:g} is allowed. Scale the features, with StandardScaler for example."
        )


def check_positions(owner: str, position: Table, n_samples: int) -> Indices:
    """Return the positions at which rows were shown, from 1, as integers; errors name the owner."""
    if position is None:
        raise ValueError(f"{owner} requires row positions, counted from 1. Got position=None.")
    positions = check_floats(position, "position")
    is_valid = (positions >= 1) & (positions == np.floor(positions)) & (positions < 2**31)
    if len(positions) != n_samples or not is_valid.all():
        invalid = positions[~is_valid].tolist() or [f"{len(positions)} places"]
        raise ValueError(
            f"position of {owner} must hold a whole number from 1, the first place of a list, for "
            f"each of the {n_samples} rows. Got {invalid[0]}."
        )
    return positions.astype(np.intp)


def check_names(values: Table, name: str) -> Values:
    """Return ids as a one-dimensional array; lists of mixed types keep their types."""
    dtype: Setting = getattr(values, "dtype", None)
    if hasattr(dtype, "numpy_dtype") and dtype.kind in "iu" and not values.isna().any():
        values = values.to_numpy(dtype.numpy_dtype)  # not by way of floats, which merge long ids
    if not hasattr(values, "dtype") and np.iterable(values) and len({*map(type, values)}) > 1:
        # NumPy would convert ids of several types, and missing ones among strings, to strings.
        values = np.array(list(values), dtype=object)
    return check_column(values, name)


def check_qid(qid: Table, n_samples: int, name: str = "qid") -> Indices:
    """Return query ids as codes 0, 1, ...; any sortable kind, in any order."""
    ids = check_names(qid, name)
    if len(ids) != n_samples:
        raise ValueError(
            f"{name} must hold one id for each of the {n_samples} rows. Got {len(ids)} ids."
        )
    refuse_missing_ids(ids, name)
    return sort_unique(ids, f"{name} must hold ids")[1]


def sort_unique(values: Values, subject: str) -> tuple[Values, Indices]:
    """Return the sorted distinct values and the index of each; errors begin with `subject`."""
    try:
        unique, index = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            f"{subject} of one kind that can be sorted, such as int or str. {error}"
        ) from error
    return unique, index.ravel()


def check_query_weight(query_weight: Table, qid: Table, code: Indices) -> Floats:
    """Return the weight of each query, by code, given a dict or a number for each row."""
    first = np.unique(code, return_index=True)[1]
    if query_weight is None:
        return np.ones(len(first))
    if isinstance(query_weight, Mapping):
        ids = check_names(qid, "qid")[first].tolist()
        missing = [query for query in ids if query not in query_weight]
        if missing:
            raise ValueError(f"query_weight must have a weight for every query. Not for {missing}.")
        query_weight = np.array([query_weight[query] for query in ids])[code]
    weight = check_weight(query_weight, len(code), "query_weight")
    is_different = weight != weight[first][code]
    if is_different.any():
        row = int(np.argmax(is_different))
        raise ValueError(
            "query_weight must be the same in all rows of a query. Row "
            f"{row} has {weight[row]:g}, the first row of its query {weight[first][code][row]:g}."
        )
    return weight[first]


def refuse_missing_ids(ids: Values, parameter: str, source: str = "") -> None:
    """Raise ValueError if a query id is missing; `source` names the partition in the message."""
    if ids.dtype.kind == "O":  # pandas' NA can't be compared
        missing = np.array(list(map(is_missing, ids)), dtype=bool)
    else:  # NaN and NaT differ from themselves
        missing = np.asarray(ids != ids)  # noqa: PLR0124
    if np.any(missing):
        raise ValueError(
            f"{parameter} must not have missing values: row {np.argmax(missing)}{source} has no id."
        )


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124
    except TypeError:  # pandas.NA has no truth value
        return True


def check_relevance(y: Table, name: str = "y") -> Floats:
    """Return graded relevance as floats; strings and missing values are refused."""
    values = check_column(y, name)
    has_text = values.dtype.kind == "O" and any(isinstance(value, str) for value in values)
    if has_text or values.dtype.kind not in "biufO":
        hint = " Two classes need relevance='binary'." if name == "y" else ""
        raise ValueError(
            f"{name} must hold numbers, greater for rows that rank higher. Got values of "
            f"type {values.dtype}.{hint}"
        )
    relevance = check_floats(values, name)
    if not np.isfinite(relevance).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    return relevance


def is_upper_label(
    owner: str, y: Table, classes: Values, sample_weight: Table = None, name: str = "y"
) -> Mask:
    """Return a mask of the rows of ``classes[1]``; unknown labels need a weight of zero."""
    labels = check_column(y, name)
    is_upper = np.asarray(labels == classes[1])
    is_known = is_upper | (labels == classes[0])
    if sample_weight is not None and not is_known.all():
        is_known |= check_weight(sample_weight, len(labels)) == 0
    if not is_known.all():
        raise ValueError(
            f"{name} has labels that {owner} was not fitted with: "
            f"{np.unique(labels[~is_known]).tolist()}. Known: {classes.tolist()}."
        )
    return is_upper


def find_classes(owner: str, y: Values) -> Values:
    """Return the two classes."""
    y = np.asarray(y)
    if y.dtype.kind == "O" and len({isinstance(label, str) for label in y}) > 1:
        raise ValueError(
            f"y of {owner} must hold labels of one kind: all strings, or all numbers. Got both."
        )
    # Integers are always classes: three of them show the kind without a pass over all rows.
    integers = np.unique(y) if y.dtype.kind in "biu" else None
    labels = y if integers is None else integers[:3]
    target_type = type_of_target(labels, input_name="y", raise_unknown=True)
    if target_type.startswith("continuous"):
        raise ValueError(
            f"Unknown label type: {target_type}. With relevance='binary' {owner} needs two "
            "classes; relevance='graded' takes numbers."
        )
    classes = np.unique(y) if integers is None else integers
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{target_type}: {len(classes)} classes. For graded relevance use "
            f"{owner}(relevance='graded')."
        )
    if len(classes) < 2:
        raise ValueError(
            f"{owner} needs two classes to rank one above the other. y has one class: "
            f"{classes.tolist()[0]!r}."
        )
    return classes


def trace_of(y: Table, qid: Table) -> tuple[Values, int] | None:
    """Return query ids and a hash of their rows; None without qid or metadata routing."""
    if qid is None or not get_config()["enable_metadata_routing"]:
        return None
    ids, labels = check_names(qid, "qid"), check_column(y, "y")
    refuse_missing_ids(ids, "qid")
    ids, codes = sort_unique(ids, "qid must hold ids")
    if labels.dtype == object:  # those of rows of weight zero may be of a type of their own
        labels = labels.astype(str)
    return ids, hash((codes.tobytes(), np.unique(labels, return_inverse=True)[1].tobytes()))


def check_qid_given(ranker: Estimator, qid: Table, user: str = "score", y: Table = None) -> None:
    """Raise ValueError if a ranker that was fitted with qid is scored without it.

    With `y` a warning says that queries it learned from are scored, unless the rows are the same.
    """
    if qid is None and getattr(ranker, "has_queries_", False):
        raise ValueError(
            f"This {type(ranker).__name__} was fitted with qid and can't be scored without it: "
            f"rows of different queries are not comparable. Pass qid to {user}. Inside "
            "GridSearchCV, cross_validate or a Pipeline, enable routing with "
            "sklearn.set_config(enable_metadata_routing=True) and pass qid once; "
            "error_score='raise' shows this message instead of NaN."
        )
    trained_trace: Setting = None if y is None else getattr(ranker, TRACE, None)
    scored_trace = trained_trace and trace_of(y, qid)
    if not scored_trace or scored_trace[1] == trained_trace[1]:
        return
    # A set: NumPy compares each pair of ids that are objects.
    if shared_ids := set(trained_trace[0].tolist()).intersection(scored_trace[0].tolist()):
        warn(
            f"{len(shared_ids)} of the {len(scored_trace[0])} queries scored have ids that "
            f"{type(ranker).__name__} was fitted to. Splits that divide queries give optimistic "
            "scores: use cv=QueryKFold(...) of sklearn_rank.model_selection. Different queries "
            "need different ids."
        )
