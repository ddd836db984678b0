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
from sklearn_rank.dask._mailbox import FitStoppedError, News, exchange, stop_fit
from sklearn_rank.dask._tasks import wait_for_tasks, wait_until
from sklearn_rank.dask._tracker import TrackerProcess
from sklearn_rank.dask._xgboost_collective import TIMEOUT, PeerLostError

_PATIENCE = 1.0
"""Seconds that the client waits for news at a time."""

_PAUSE = 1.0
"""Seconds between two calls for news, where no round waits for an answer."""

_FAREWELL = 240
"""Seconds after which the tracker of a fit is stopped whose client is gone: the workers notice."""

_FAIR = 1.05
"""Rows of a worker, by its equal share, from which on partitions move to other workers."""

_MOST_FAILURES = 3
"""Times in a row that workers may be lost without a new round."""


_FOLLOW = 10.0
"""Seconds for the other workers to fail after one has."""

_RETURN = 60.0
"""Seconds for lost workers to come back, and for all to leave a fit."""


class LostWorkersError(RuntimeError):
    """Some workers of the fit are gone."""


@dataclass
class ClusterFit:
    """A fit that goes on from the last checkpoint when workers are lost.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    plan : FitPlan
        What the workers need besides their rows.
    parts : list of Future
        The partitions, with the property ``n_rows``.
    sizes : list of int
        Their numbers of rows.
    observe : Observer
        Told of each round, once.
    """

    client: Any
    plan: FitPlan
    parts: list[Any]
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
                        f"The fit was given up: {n_failures} times in a row workers were lost "
                        f"before a round was finished; {self.n_rounds} rounds are in "
                        f"partial_estimator_. {error}"
                    ) from error
            self._wait_for_workers(n_workers)

    def _attempt(self) -> dict[str, Any]:
        """Run the fit once, from the last checkpoint."""
        plan = replace(self.plan, fit=uuid4().hex, earlier=self.attributes)
        tasks: list[Any] = []
        try:
            # Two fits at once would wait for each other's workers.
            while not self.client.run_on_scheduler(begin_turn, plan.fit, self.client.id):
                time.sleep(_PAUSE)
            places = self._placed()
            if len(places) > 1:
                tracker = self.client.run_on_scheduler(start_tracker, len(places))
                plan = replace(plan, tracker=tracker)
            for rank, (address, parts) in enumerate(places.items()):
                name = f"fit_{type(plan.estimator).__name__}-{plan.fit}-{rank}"
                how = {"workers": [address], "retries": 0, "pure": False, "key": name}
                tasks.append(self.client.submit(run_fit, plan, rank, *parts, **how))
            self._follow(plan, tasks, list(places))
            return self._model_of(tasks)
        finally:
            self._leave(plan, tasks)

    # While it runs ---------------------------------------------------------------------------

    def _follow(self, plan: FitPlan, tasks: list[Any], addresses: list[str]) -> None:
        """Pass news on until every task has ended, or one has failed."""
        n_taken, ends = 0, False
        while not all(task.status == "finished" for task in tasks):
            if any(task.status in ("error", "lost", "cancelled") for task in tasks):
                return
            if not set(addresses) <= set(self.client.nthreads()):
                raise LostWorkersError("A worker of the fit has left the cluster.")
            for news in self._exchange(plan, n_taken, ends, addresses[0]):
                n_taken, ends = news.number, self._take(news) or ends

    def _take(self, news: News) -> bool:
        """Keep a checkpoint and tell the observer; return whether the fit ends."""
        if news.attributes is not None:
            self.attributes, self.n_rounds = news.attributes, news.number
        if news.number <= self.n_observed:  # rounds after a checkpoint that are done again
            return False
        self.n_observed = news.number
        return self.observe(news.number, news.objective)

    def _exchange(self, plan: FitPlan, n_taken: int, ends: bool, address: str) -> list[News]:
        """Answer the first worker and return what it tells; nothing where it is not reached."""
        with suppress(OSError, ValueError):  # the connection is closed
            pause = 0.0 if plan.waits else _PAUSE
            arguments = plan.fit, n_taken, ends, _PATIENCE, pause
            found = self.client.run(exchange, *arguments, workers=[address], on_error="ignore")
            return list(found.get(address) or ())
        time.sleep(_PATIENCE / 10)
        return []

    def _model_of(self, tasks: list[Any]) -> dict[str, Any]:
        """Return the fitted attributes, the same on all workers."""
        wait_until(lambda: all(task.done() for task in tasks), _FOLLOW)
        errors = [task.exception() for task in tasks if task.status == "error"]
        own = [error for error in errors if not isinstance(error, PeerLostError | FitStoppedError)]
        if own:
            raise own[0]
        if errors or not all(task.status == "finished" for task in tasks):
            raise LostWorkersError(str(errors[0] if errors else "A worker of the fit was lost."))
        outcomes = [_outcome_of(task) for task in tasks]
        attributes, _, news, notes = outcomes[0]
        if len({digest for _, digest, *_ in outcomes}) > 1:
            raise RuntimeError(
                "The workers ended the fit with different models, of which none is kept. Please "
                "report this, with the processors of the workers."
            )
        for one in news:
            self._take(one)
        for note in notes:  # here, where they find the line of the user
            warn(*note)
        assert attributes is not None
        return attributes

    def _leave(self, plan: FitPlan, tasks: list[Any]) -> None:
        """Let every worker leave the fit, and wait until they have."""
        is_over = all(task.status == "finished" for task in tasks)
        self.client.cancel(tasks)
        if not is_over:

            def are_idle() -> bool:
                running = self.client.run(stop_fit, plan.fit, on_error="ignore")
                return not any(running.values())

            with suppress(OSError, ValueError):
                # Those who join still wait for the tracker; others take leave of it.
                if not wait_until(are_idle, _PATIENCE):
                    self.client.run_on_scheduler(stop_tracker, plan.fit)
                    wait_until(are_idle, _RETURN)
        with suppress(OSError):
            self.client.run_on_scheduler(stop_tracker, plan.fit, ends_turn=True)

    # Before it runs --------------------------------------------------------------------------

    def _placed(self) -> dict[str, list[Any]]:
        """Return the partitions on each worker that has some."""
        wait_for_tasks(self.client, self.parts, _RETURN)
        holders = self.client.who_has(self.parts)
        known = set(self.client.nthreads())
        held = [[one for one in holders[part.key] if one in known] for part in self.parts]
        if not all(held):
            raise LostWorkersError("A partition was lost.")
        places = place(self.sizes, held, sorted(known))
        placed: dict[str, list[Any]] = {address: [] for address in sorted(set(places))}
        for part, address in zip(self.parts, places, strict=True):
            placed[address].append(part)
        return placed

    def _wait_for_workers(self, n_workers: int) -> None:
        """Wait until lost workers are back; go on without them after some time."""
        wait_until(lambda: len(self.client.nthreads()) >= n_workers, _RETURN)
        if not self.client.nthreads():
            raise RuntimeError("All workers were lost, and none has come back.")


def _outcome_of(task: Any) -> Outcome:
    """Return the result of a finished task.

    Dask would wait without end for a result that is lost with its worker before it is transferred:
    it has the task run again, on that worker.
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


def place(sizes: Sequence[int], holders: Sequence[Sequence[str]], workers: list[str]) -> list[str]:
    """Return a worker for each partition: one that holds it, unless that has more than its share.

    Parameters
    ----------
    sizes : sequence of int
        Number of rows of each partition.
    holders : sequence of sequence of str
        The workers that hold each partition.
    workers : list of str
        All workers.
    """
    load = dict.fromkeys(workers, 0)
    share = _FAIR * sum(sizes) / len(workers)
    places = [""] * len(sizes)
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        near = [one for one in holders[number] if one in load]
        near = [one for one in near if not load[one] or load[one] + sizes[number] <= share]
        places[number] = min(near or workers, key=load.__getitem__)
        load[places[number]] += sizes[number]
    return places


# Beside the scheduler ------------------------------------------------------------------------

_TURN = "sklearn_rank-fit"
"""Name of the plugin of the fit that runs."""


class Turn(SchedulerPlugin):
    """The fit that runs, and its tracker; both end when the client leaves the cluster."""

    def __init__(self, fit: str, client: str) -> None:
        self.fit, self.client = fit, client
        self.tracker: TrackerProcess | None = None

    def stop_tracker(self, patience: int = 0) -> None:
        """Stop the tracker, after some seconds if workers don't take leave of it earlier."""
        tracker, self.tracker = self.tracker, None
        if tracker is not None:
            tracker.stop(patience)

    def remove_client(self, scheduler: Any, client: str) -> None:
        """Give the turn up if the client is that of the fit."""
        if client == self.client:
            scheduler.remove_plugin(name=_TURN)
            Thread(target=self.stop_tracker, args=[_FAREWELL], daemon=True).start()


def begin_turn(fit: str, client: str, dask_scheduler: Any = None) -> bool:
    """Return whether it is the turn of a fit; it is if no other fit runs."""
    if _TURN not in dask_scheduler.plugins:
        turn = Turn(fit, client)
        if len(dask_scheduler.workers) > 1:
            turn.tracker = TrackerProcess()  # now: it takes half a second to import XGBoost
        dask_scheduler.add_plugin(turn, name=_TURN)
    return bool(dask_scheduler.plugins[_TURN].fit == fit)


async def start_tracker(n_workers: int, dask_scheduler: Any = None) -> dict[str, Any]:
    """Start XGBoost's tracker and return how workers find it."""
    address, turn = dask_scheduler.address, dask_scheduler.plugins[_TURN]
    host = "127.0.0.1" if address.startswith("inproc") else get_address_host(address)
    turn.tracker = turn.tracker or TrackerProcess()
    return await asyncio.to_thread(turn.tracker.start, n_workers, host, TIMEOUT)


async def stop_tracker(fit: str, *, ends_turn: bool = False, dask_scheduler: Any = None) -> None:
    """Stop the tracker of a fit, if it is its turn, and perhaps let the next fit run."""
    plugins = dask_scheduler.plugins
    turn = plugins.get(_TURN)
    if turn is not None and turn.fit == fit:
        await asyncio.to_thread(turn.stop_tracker)
        if ends_turn and plugins.get(_TURN) is turn:  # the client may have left meanwhile
            dask_scheduler.remove_plugin(name=_TURN)
