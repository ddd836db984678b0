"""Observers of a fit, scikit-learn's callbacks among them, and the version in stored models.

Callbacks need scikit-learn 1.9 or later.

An estimator is a root task and each of its iterations a subtask. The estimator's class has
`CallbackSupportMixin` among its bases and `with_callbacks` around `fit`; in between

1. `make_observer` begins the root task, before the first iteration;
2. the solver calls the observer after each iteration;
3. `end_fit_task` ends the root task, when the fitted attributes are set.

Before scikit-learn 1.9 an estimator has no ``set_callbacks``, and only `verbose` is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar, cast

from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from sklearn_rank._core.arrays import Estimator, Floats, Function, Setting, Table
from sklearn_rank._core.protocols import Observer
from sklearn_rank._core.release import __version__
from sklearn_rank._core.warnings import warn

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin  # noqa: PLC0414
    from sklearn.callback import with_callbacks as with_teardown
except ImportError:  # scikit-learn 1.8

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_teardown(method: Setting) -> Setting:
        """Return the method itself: there is nothing to tear down."""
        return method


_STAMP = "_sklearn_rank_version"

TRACE = "_trace_"
"""Attribute that holds which rows an estimator learned from, for a split that is scored next."""

FIT_TASK = "_fit_task"
"""Attribute that holds the `FitTask` of an estimator while it is fitted."""

Attributes = Callable[[], dict[str, Setting]]
Method = TypeVar("Method", bound=Function)


# Observers of iterations -----------------------------------------------------------------


def no_hook(x: Floats, objectives: list[float]) -> bool:
    """Observe nothing and never stop the fit."""
    return False


class Follower:
    """Calls an observer after each iteration of a solver, and keeps the last iterate.

    Parameters
    ----------
    observer : Observer
        The observer.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self.x: Setting = None

    def __call__(self, x: Floats, objectives: list[float]) -> bool:
        """Keep the iterate; pass its number and its objective to the observer."""
        self.x = x
        return self._observer(len(objectives), objectives[-1])


def make_printer(name: str, unit: str, max_iter: int, verbose: int) -> Observer:
    """Return an observer that prints a line for an iteration, as `verbose` requests.

    Parameters
    ----------
    name : str
        Class of the estimator.
    unit : str
        Name of an iteration.
    max_iter : int
        Maximum number of iterations.
    verbose : int
        0 prints nothing, 1 the first line and ten more (with validation rows, whose score a line
        then ends with, that of every tenth iteration), 2 every line.

    Returns
    -------
    callable
        Never ends the fit.

    Examples
    --------
    >>> from sklearn_rank._core.callbacks import make_printer
    >>> printer = make_printer("RankBoost", "round", max_iter=100, verbose=1)
    >>> ended = printer(1, 0.5), printer(2, 0.4), printer(10, 0.25)
    [RankBoost] round 1/100: objective 0.5
    [RankBoost] round 10/100: objective 0.25
    >>> printer(20, 0.125, 0.8)
    [RankBoost] round 20/100: objective 0.125, validation score 0.8
    False
    """

    def observe(iteration: int, objective: float, val_score: float | None = None) -> bool:
        period = max(1, max_iter // 10) if val_score is None else 10
        if verbose > 1 or (verbose and (iteration % period == 0 or iteration == 1)):
            score = "" if val_score is None else f", validation score {val_score:.6g}"
            print(f"[{name}] {unit} {iteration}/{max_iter}: objective {objective:.6g}{score}")
        return False

    return observe


def combine(*observers: Observer | None) -> Observer:
    """Combine the observers that are not None; any of them can end the fit."""
    present = [observer for observer in observers if observer is not None]

    def observe(iteration: int, objective: float, val_score: float | None = None) -> bool:
        # A list, so that an observer that ends the fit hides the iteration from no other.
        return any([observer(iteration, objective, val_score) for observer in present])

    return observe


@contextmanager
def observed(estimator: Estimator, observer: Observer | None) -> Iterator[None]:
    """Observe the iterations of an estimator that is fitted inside the block."""
    estimator._observer = observer
    try:
        yield
    finally:
        del estimator._observer


# scikit-learn's callbacks ----------------------------------------------------------------


def with_callbacks(fit: Method) -> Method:
    """Close callbacks after `fit`, whether or not it succeeds."""
    fit_and_tear_down = with_teardown(fit)

    @wraps(fit)
    def fit_with_callbacks(estimator: Estimator, *args: Setting, **options: Setting) -> Setting:
        try:
            return fit_and_tear_down(estimator, *args, **options)
        finally:
            estimator.__dict__.pop(FIT_TASK, None)

    return cast("Method", fit_with_callbacks)


def has_callbacks(estimator: Estimator) -> bool:
    """Whether callbacks are set, by the user or by a meta-estimator for this fit."""
    return bool(getattr(estimator, "_skl_callbacks", None))


@dataclass(eq=False, repr=False)
class FitTask:
    """An observer that calls the callbacks of an estimator.

    An iteration begins when the one before has ended. `close` ends an iteration that has begun
    after the last one, without data, as in scikit-learn.

    Parameters
    ----------
    estimator : estimator
        The estimator that is fitted.
    unit : str
        Name of the subtasks.
    max_iter : int or None
        Maximum number of iterations; None if there is no maximum.
    attributes_now : callable or None
        Returns the fitted attributes so far; called only when a callback wants a fitted
        estimator.
    data : dict
        X, y and metadata of the fit, handed to callbacks that want them.
    """

    estimator: Estimator
    unit: str
    max_iter: int | None
    attributes_now: Attributes | None
    data: dict[str, Setting]

    def __post_init__(self) -> None:
        """Begin the root task and the first iteration."""
        self._root = self.estimator._init_callback_context(max_subtasks=self.max_iter)
        self._root.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        self._n_begun = 0
        self._iteration: Setting = None
        self._begin()

    def __call__(self, iteration: int, objective: float, val_score: float | None = None) -> bool:
        """End an iteration and begin the next; True when a callback ends the fit."""
        if self._iteration is None:
            return False
        should_stop: bool = self._iteration.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=self.attributes_now, **self.data
        )
        self._iteration = None
        if not should_stop:
            self._begin()
        return should_stop

    def go_on(self, unit: str, attributes_now: Attributes | None, data: dict[str, Setting]) -> None:
        """Begin a second phase: iterations with another name, on other rows."""
        self._end_iteration()
        self.unit, self.attributes_now, self.data = unit, attributes_now, data
        self._begin()

    def close(self) -> None:
        """End the open tasks, the root task last; the estimator is fitted."""
        self._end_iteration()
        self._root.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=dict, **self.data
        )

    def _end_iteration(self) -> None:
        """End an iteration that has begun but was not run."""
        if self._iteration is not None:
            self._iteration.call_on_fit_task_end(estimator=self.estimator)
            self._iteration = None

    def _begin(self) -> None:
        """Begin the next iteration, unless `max_iter` have begun."""
        if self.max_iter is None or self._n_begun < self.max_iter:
            self._iteration = self._root.subcontext(task_name=self.unit)
            self._iteration.call_on_fit_task_begin(estimator=self.estimator, **self.data)
            self._n_begun += 1


def make_observer(
    estimator: Estimator,
    unit: str,
    max_iter: int,
    attributes_now: Attributes,
    data: dict[str, Setting],
    n_iter_before: int | None = 0,
) -> Observer:
    """Begin the root task of a fit and return the observer of its iterations.

    The second phase of a fit, such as a refit after a search, continues the same task.

    Parameters
    ----------
    estimator : estimator
        The estimator that is fitted, with the parameter `verbose`.
    unit : str
        Name of an iteration, in callbacks and printed lines.
    max_iter : int
        Maximum number of iterations.
    attributes_now : callable
        Returns a dict of the fitted attributes so far, enough to predict: called only when
        a callback wants a fitted estimator, at the end of an iteration.
    data : dict
        Validated training rows X and their labels y, as the user passed them, and metadata, the
        other arguments of `fit`; or functions that return them, called when a callback asks.
    n_iter_before : int or None, default=0
        Number of iterations of earlier fits; None if `max_iter` is not the maximum of all phases.

    Returns
    -------
    Observer
        Returns True when a callback ends the fit.
    """
    printer = make_printer(type(estimator).__name__, unit, max_iter, estimator.verbose)
    if not has_callbacks(estimator):
        return printer
    n_iter_left = None if n_iter_before is None else max_iter - n_iter_before
    task: FitTask | None = getattr(estimator, FIT_TASK, None)
    if task is None:
        task = FitTask(estimator, unit, n_iter_left, attributes_now, data)
        setattr(estimator, FIT_TASK, task)
    else:
        task.go_on(unit, attributes_now, data)
    return combine(printer, task)


def end_fit_task(estimator: Estimator, *, X: Table = None, y: Table = None) -> None:
    """End the root task of a fit, once its attributes are set; begin one first if there is none.

    `X` and `y` are for estimators without iterations.
    """
    if has_callbacks(estimator):
        task: FitTask | None = getattr(estimator, FIT_TASK, None)
        (task or FitTask(estimator, "", 0, None, {"X": X, "y": y, "metadata": None})).close()


# Stored models --------------------------------------------------------------------------


class InconsistentRankerVersionWarning(InconsistentVersionWarning):
    """Warns that a model was stored by another version of sklearn_rank.

    A subclass, so that filters and handlers of scikit-learn's warning apply to it. Its attributes
    have scikit-learn's names and hold versions of this package: `estimator_name`,
    `original_sklearn_version` and `current_sklearn_version`.
    """

    def __str__(self) -> str:
        """Return one sentence: the estimator, both versions, and what to do."""
        return (
            f"This {self.estimator_name} was stored by sklearn_rank "
            f"{self.original_sklearn_version} and loaded by {self.current_sklearn_version}: "
            "check that it still gives the same scores, or retrain it."
        )


def stamped_state(estimator: Estimator) -> dict[str, Setting]:
    """Return the attributes and the version of this package: the ``__getstate__`` of estimators.

    For pickle, joblib and skops; scikit-learn stamps its own estimators only. The task of a running
    fit is left out, since a callback may store the copy of the estimator that it gets. So are the
    queries of the training rows.
    """
    state = {**BaseEstimator.__getstate__(estimator), _STAMP: __version__}
    for name in (FIT_TASK, TRACE):
        state.pop(name, None)
    return state


def take_state(estimator: Estimator, state: dict[str, Setting]) -> None:
    """Set the attributes, and warn if another version has stored them: ``__setstate__``."""
    attributes = dict(state)
    version = attributes.pop(_STAMP, "unknown")
    if version != __version__:
        warn(
            InconsistentRankerVersionWarning(
                estimator_name=type(estimator).__name__,
                current_sklearn_version=__version__,
                original_sklearn_version=version,
            )
        )
    BaseEstimator.__setstate__(estimator, attributes)
