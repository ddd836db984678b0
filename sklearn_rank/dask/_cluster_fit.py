"""A fit on a cluster, seen from the client: one long task on each worker, and lost workers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Thread
from typing import Any
from uuid import uuid4

from distributed import SchedulerPlugin
from distributed.comm import get_address_host

from sklearn_rank._core.callbacks import combine
from sklearn_rank._core.protocols import Observer
from sklearn_rank._core.warnings import warn
from sklearn_rank.dask._fit_task import FitPlan, Outcome, run_fit
from sklearn_rank.dask._mailbox import FitStoppedError, RoundMessage, exchange, stop_fit
from sklearn_rank.dask._tasks import wait_for_tasks, wait_until
from sklearn_rank.dask._tracker import TrackerProcess
from sklearn_rank.dask._xgboost_collective import TIMEOUT, PeerLostError

_PATIENCE = 1.0
"""Seconds that a call of the client waits for messages."""

_PAUSE = 1.0
"""Seconds between two calls of the client where rounds don't wait for an answer."""

_FAREWELL = 240
"""Seconds until the tracker of a fit without client stops: the workers leave by then (120 s)."""

_FAIR = 1.05
"""Rows of a worker, as a multiple of its equal share, above which partitions move elsewhere."""

_MOST_FAILURES = 3
"""Losses of workers in a row, without a new round, that end the fit."""

_FOLLOW = 10.0
"""Seconds for the other workers to fail after the first."""

_RETURN = 60.0
"""Seconds for lost workers to come back, and for all to leave a fit."""


class LostWorkersError(RuntimeError):
    """Some workers of the fit were lost."""


@dataclass
class ClusterFit:
    """A fit that continues from the last checkpoint when workers are lost.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    plan : FitPlan
        What the workers need besides their rows.
    partitions : list of Future
        The rows, each future of a `Partition`.
    sizes : list of int
        Number of rows of each partition.
    observe : Observer
        Called once for each round.
    """

    client: Any
    plan: FitPlan
    partitions: list[Any]
    sizes: list[int]
    observe: Observer = field(default_factory=combine)
    attributes: dict[str, Any] | None = None
    n_rounds: int = 0
    n_observed: int = 0

    def run(self) -> dict[str, Any]:
        """Return the fitted attributes.

        Raises
        ------
        RuntimeError
            Where the fit can't go on.
        """
        n_workers, n_failures, n_rounds = len(self.client.nthreads()), 0, -1
        while True:
            try:
                return self._attempt()
            except LostWorkersError as error:
                n_failures = 1 if self.n_rounds > n_rounds else n_failures + 1
                n_rounds = self.n_rounds
                if n_failures >= _MOST_FAILURES:
                    raise RuntimeError(
                        f"The fit was abandoned: {n_failures} times in a row, workers were lost "
                        f"before a round finished; {self.n_rounds} rounds are in "
                        f"partial_estimator_. {error}"
                    ) from error
            self._wait_for_workers(n_workers)

    def _attempt(self) -> dict[str, Any]:
        """Run the fit once, from the last checkpoint."""
        plan = replace(self.plan, fit=uuid4().hex, last_attributes=self.attributes)
        tasks: list[Any] = []
        try:
            # Two fits at once would wait for each other's workers.
            while not self.client.run_on_scheduler(begin_turn, plan.fit, self.client.id):
                time.sleep(_PAUSE)
            # 1) Each worker gets partitions that it holds, if it can.
            by_worker = self._assigned()
            # 2) Several workers join XGBoost's collective through its tracker.
            if len(by_worker) > 1:
                tracker = self.client.run_on_scheduler(start_tracker, len(by_worker))
                plan = replace(plan, tracker=tracker)
            # 3) One long task on each; lost workers end it, as Dask must not run it elsewhere.
            for rank, (address, partitions) in enumerate(by_worker.items()):
                key = f"fit_{type(plan.estimator).__name__}-{plan.fit}-{rank}"
                kwargs = {"workers": [address], "retries": 0, "pure": False, "key": key}
                tasks.append(self.client.submit(run_fit, plan, rank, *partitions, **kwargs))
            self._follow(plan, tasks, list(by_worker))
            return self._model_of(tasks)
        finally:
            self._leave(plan, tasks)

    # While it runs ---------------------------------------------------------------------------

    def _follow(self, plan: FitPlan, tasks: list[Any], addresses: list[str]) -> None:
        """Observe rounds until all tasks have ended or one has failed."""
        n_received, should_stop = 0, False
        while not all(task.status == "finished" for task in tasks):
            if any(task.status in ("error", "lost", "cancelled") for task in tasks):
                return
            if not set(addresses) <= set(self.client.nthreads()):
                raise LostWorkersError("A worker of the fit has left the cluster.")
            for message in self._exchange(plan, n_received, should_stop, addresses[0]):
                n_received, should_stop = message.round, self._take(message) or should_stop

    def _take(self, message: RoundMessage) -> bool:
        """Keep a checkpoint and call the observer; return whether the fit ends."""
        if message.attributes is not None:
            self.attributes, self.n_rounds = message.attributes, message.round
        if message.round <= self.n_observed:  # rounds after a checkpoint that are done again
            return False
        self.n_observed = message.round
        return self.observe(message.round, message.objective)

    def _exchange(
        self, plan: FitPlan, n_received: int, should_stop: bool, address: str
    ) -> list[RoundMessage]:
        """Answer the first worker and return its messages, or none if it cannot be reached."""
        with suppress(OSError, ValueError):  # the connection is closed
            pause = 0.0 if plan.waits else _PAUSE
            arguments = plan.fit, n_received, should_stop, _PATIENCE, pause
            messages = self.client.run(exchange, *arguments, workers=[address], on_error="ignore")
            return list(messages.get(address) or ())
        time.sleep(_PATIENCE / 10)
        return []

    def _model_of(self, tasks: list[Any]) -> dict[str, Any]:
        """Return the fitted attributes, the same on all workers."""
        wait_until(lambda: all(task.done() for task in tasks), _FOLLOW)
        errors = [task.exception() for task in tasks if task.status == "error"]
        # Errors of the fit itself come first: the other workers then fail for the loss of a peer.
        own = [error for error in errors if not isinstance(error, PeerLostError | FitStoppedError)]
        if own:
            raise own[0]
        if errors or not all(task.status == "finished" for task in tasks):
            raise LostWorkersError(str(errors[0] if errors else "A worker of the fit was lost."))
        outcomes = [_outcome_of(task) for task in tasks]
        attributes, _, messages, warnings = outcomes[0]
        if len({digest for _, digest, *_ in outcomes}) > 1:
            raise RuntimeError(
                "The workers ended the fit with different models, so none is kept. Please report "
                "this, with the processors of the workers."
            )
        for message in messages:
            self._take(message)
        for warning in warnings:  # raised here, they name the user's line
            warn(*warning)
        assert attributes is not None
        return attributes

    def _leave(self, plan: FitPlan, tasks: list[Any]) -> None:
        """Make every worker leave the fit, and wait until they have."""
        is_over = all(task.status == "finished" for task in tasks)
        self.client.cancel(tasks)
        with suppress(OSError, ValueError):
            # Joining workers wait for the tracker: it stops after a moment for the others.
            if not is_over and not wait_until(lambda: self._stop_workers(plan), _PATIENCE):
                self.client.run_on_scheduler(stop_tracker, plan.fit)
                wait_until(lambda: self._stop_workers(plan), _RETURN)
        with suppress(OSError):
            self.client.run_on_scheduler(stop_tracker, plan.fit, ends_turn=True)

    def _stop_workers(self, plan: FitPlan) -> bool:
        """Ask all workers to leave the fit; return whether they have."""
        return not any(self.client.run(stop_fit, plan.fit, on_error="ignore").values())

    # Before it runs --------------------------------------------------------------------------

    def _assigned(self) -> dict[str, list[Any]]:
        """Return a dict from worker address to partitions, for workers that have any."""
        wait_for_tasks(self.client, self.partitions, _RETURN)
        who_has = self.client.who_has(self.partitions)
        workers = sorted(self.client.nthreads())
        holders = [sorted({*who_has[future.key]} & {*workers}) for future in self.partitions]
        if not all(holders):
            raise LostWorkersError("A partition was lost.")
        addresses = assign_workers(self.sizes, holders, workers)
        by_worker: dict[str, list[Any]] = {address: [] for address in sorted(set(addresses))}
        for address, future in zip(addresses, self.partitions, strict=True):
            by_worker[address].append(future)
        return by_worker

    def _wait_for_workers(self, n_workers: int) -> None:
        """Wait until lost workers are back; go on without them after some time."""
        wait_until(lambda: len(self.client.nthreads()) >= n_workers, _RETURN)
        if not self.client.nthreads():
            raise RuntimeError("All workers were lost, and none has come back.")


def _outcome_of(task: Any) -> Outcome:
    """Return the result of a finished task.

    Dask would wait without end for a result lost with its worker: the task, bound to that worker,
    would have to run again.
    """
    while task.status == "finished":
        try:
            outcome: Outcome = task.result(timeout=_PATIENCE)
            return outcome
        except TimeoutError:
            continue  # a slow transfer
        except Exception as error:
            raise LostWorkersError(f"The model was lost with its worker: {error}") from error
    raise LostWorkersError("The model was lost with its worker.")


def assign_workers(
    sizes: Sequence[int], holders: Sequence[Sequence[str]], workers: list[str]
) -> list[str]:
    """Return a worker for each partition: one that has it, unless that one has too many rows.

    Parameters
    ----------
    sizes : sequence of int
        Number of rows of each partition.
    holders : sequence of sequence of str
        The workers that hold each partition.
    workers : list of str
        All workers.
    """
    n_rows = dict.fromkeys(workers, 0)
    max_rows = _FAIR * sum(sizes) / len(workers)
    assigned = [""] * len(sizes)
    # The largest partitions first: small ones then fill the gaps.
    for j in sorted(range(len(sizes)), key=lambda j: -sizes[j]):
        near = [holder for holder in holders[j] if holder in n_rows]
        near = [
            holder for holder in near if not n_rows[holder] or n_rows[holder] + sizes[j] <= max_rows
        ]
        assigned[j] = min(near or workers, key=n_rows.__getitem__)
        n_rows[assigned[j]] += sizes[j]
    return assigned


# Beside the scheduler ------------------------------------------------------------------------

_TURN = "sklearn_rank-fit"
"""Name of the scheduler plugin of the running fit; there is at most one."""


class Turn(SchedulerPlugin):
    """The running fit, and its tracker; both end when the client leaves the cluster."""

    def __init__(self, fit: str, client: str) -> None:
        self.fit, self.client = fit, client
        self.tracker: TrackerProcess | None = None

    def stop_tracker(self, patience: int = 0) -> None:
        """Stop the tracker after some seconds, or as soon as all workers have left."""
        tracker, self.tracker = self.tracker, None
        if tracker is not None:
            tracker.stop(patience)

    def remove_client(self, scheduler: Any, client: str) -> None:
        """Give up the turn if the client that left is the one that fits."""
        if client == self.client:
            scheduler.remove_plugin(name=_TURN)
            Thread(target=self.stop_tracker, args=[_FAREWELL], daemon=True).start()


def begin_turn(fit: str, client: str, dask_scheduler: Any = None) -> bool:
    """Return whether a fit may run, that is, no other fit is running."""
    if _TURN not in dask_scheduler.plugins:
        turn = Turn(fit, client)
        if len(dask_scheduler.workers) > 1:
            turn.tracker = TrackerProcess()  # early: the import of XGBoost takes half a second
        dask_scheduler.add_plugin(turn, name=_TURN)
    return bool(dask_scheduler.plugins[_TURN].fit == fit)


async def start_tracker(n_workers: int, dask_scheduler: Any = None) -> dict[str, Any]:
    """Start XGBoost's tracker and return the arguments with which workers join."""
    address, turn = dask_scheduler.address, dask_scheduler.plugins[_TURN]
    host = "127.0.0.1" if address.startswith("inproc") else get_address_host(address)
    turn.tracker = turn.tracker or TrackerProcess()
    return await asyncio.to_thread(turn.tracker.start, n_workers, host, TIMEOUT)


async def stop_tracker(fit: str, *, ends_turn: bool = False, dask_scheduler: Any = None) -> None:
    """Stop the tracker of a fit, if it is its turn; with `ends_turn` the next fit may run."""
    plugins = dask_scheduler.plugins
    turn = plugins.get(_TURN)
    if turn is not None and turn.fit == fit:
        await asyncio.to_thread(turn.stop_tracker)
        if ends_turn and plugins.get(_TURN) is turn:  # the client may have left meanwhile
            dask_scheduler.remove_plugin(name=_TURN)
