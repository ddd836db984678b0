"""A cluster's client, mailbox, tracker and messages, each alone: no cluster, no other process."""

import asyncio
import io
import json
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from xgboost.core import XGBoostError

from sklearn_rank import RankBoost
from sklearn_rank.dask import _cluster_fit, _mailbox, _tracker, _xgboost_collective
from sklearn_rank.dask._cluster_fit import ClusterFit, LostWorkersError, Turn, assign_workers
from sklearn_rank.dask._fit_task import FitPlan
from sklearn_rank.dask._mailbox import FitStoppedError, Mailbox, RoundMessage, exchange, stop_fit
from sklearn_rank.dask._xgboost_collective import PeerLostError, XGBoostCollective

PLAN = FitPlan(RankBoost(), None, None, waits=False, is_whole=False)


def task(status="finished", outcome=None, error=None):
    """Return what stands for a future."""

    def result(timeout):
        if error is not None:
            raise error
        return outcome

    is_done = status not in ("pending", "processing")
    found = SimpleNamespace(status=status, result=result, exception=lambda: error)
    found.done = lambda: is_done
    return found


def fit_with(nthreads=None, **client):
    """Return a fit whose client is a stand-in."""
    known = {"tcp://a": 1} if nthreads is None else nthreads
    client = SimpleNamespace(nthreads=lambda: known, **client)
    return ClusterFit(client, PLAN, [], [])


# ---------------------------------------------------------------------------- attempts


def attempts_of(monkeypatch, rounds):
    """Run a fit that loses its workers in each attempt, after these rounds; return the error."""
    fit, left = fit_with(), iter(rounds)

    def attempt():
        fit.n_rounds = next(left)
        raise LostWorkersError("One was lost.")

    monkeypatch.setattr(fit, "_attempt", attempt)
    with pytest.raises(RuntimeError) as raised:
        fit.run()
    assert next(left, None) is None
    return str(raised.value)


def test_a_fit_is_given_up_after_three_attempts_without_a_round(monkeypatch):
    message = attempts_of(monkeypatch, [0, 0, 0])
    assert message == (
        "The fit was abandoned: 3 times in a row, workers were lost before a round finished; "
        "0 rounds are in partial_estimator_. One was lost."
    )
    assert "; 9 rounds are in" in attempts_of(monkeypatch, [5, 5, 9, 9, 9])


def test_a_fit_goes_on_after_lost_workers(monkeypatch):
    fit, results = fit_with(), [LostWorkersError("one"), {"coef_": 1}]

    def attempt():
        found = results.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(fit, "_attempt", attempt)
    assert fit.run() == {"coef_": 1}


# ---------------------------------------------------------------------------- news


def test_news_are_taken_once_and_checkpoints_are_kept():
    seen = []
    fit = fit_with()
    fit.observe = lambda number, objective: seen.append((number, objective)) or number == 3
    assert not fit._take(RoundMessage(1, 0.5, {"a": 1}))
    assert not fit._take(RoundMessage(2, 0.4))
    assert (fit.attributes, fit.n_rounds, fit.n_observed) == ({"a": 1}, 1, 2)
    assert not fit._take(RoundMessage(2, 0.4, {"a": 2}))  # done again after a checkpoint
    assert fit._take(RoundMessage(3, 0.3))
    assert (fit.attributes, fit.n_rounds) == ({"a": 2}, 2)
    assert seen == [(1, 0.5), (2, 0.4), (3, 0.3)]


def test_news_are_followed_until_all_tasks_have_ended(monkeypatch):
    tasks = [task("pending"), task("pending")]
    fit, told = fit_with({"tcp://a": 1, "tcp://b": 1}), []

    def answer(plan, n_taken, ends, address):
        told.append((n_taken, ends, address))
        if len(told) == 3:
            for one in tasks:
                one.status = "finished"
        return [[RoundMessage(1, 0.5)], [RoundMessage(2, 0.4), RoundMessage(3, 0.3)], []][
            len(told) - 1
        ]

    monkeypatch.setattr(fit, "_exchange", answer)
    fit.observe = lambda number, objective: number == 2
    fit._follow(PLAN, tasks, ["tcp://a", "tcp://b"])
    assert told == [(0, False, "tcp://a"), (1, False, "tcp://a"), (3, True, "tcp://a")]


def test_a_task_that_fails_or_a_worker_that_leaves_ends_the_news(monkeypatch):
    for status in ("error", "lost", "cancelled"):
        fit_with()._follow(PLAN, [task("pending"), task(status)], ["tcp://a"])
    with pytest.raises(LostWorkersError, match="A worker of the fit has left the cluster"):
        fit_with()._follow(PLAN, [task("pending")], ["tcp://a", "tcp://b"])


@pytest.mark.parametrize("waits", [True, False])
def test_the_first_worker_is_asked_and_may_not_answer(monkeypatch, waits):
    asked = []

    def run(function, *arguments, workers, on_error):
        asked.append((function, arguments, workers, on_error))
        return {"tcp://a": [RoundMessage(1, 0.5)]}

    plan = FitPlan(RankBoost(), None, None, waits=waits, is_whole=False, fit="f")
    assert fit_with(run=run)._exchange(plan, 4, True, "tcp://a") == [RoundMessage(1, 0.5)]
    pause = 0.0 if waits else _cluster_fit._PAUSE
    arguments = ("f", 4, True, _cluster_fit._PATIENCE, pause)
    assert asked == [(exchange, arguments, ["tcp://a"], "ignore")]
    assert fit_with(run=lambda *_, **__: {})._exchange(plan, 0, False, "tcp://a") == []

    def closed(*_, **__):
        raise OSError("closed")

    monkeypatch.setattr(_cluster_fit, "_PATIENCE", 0.01)
    assert fit_with(run=closed)._exchange(plan, 0, False, "tcp://a") == []


# ---------------------------------------------------------------------------- the end


def test_the_model_is_that_of_all_workers(monkeypatch):
    fit, seen, warned = fit_with(), [], []
    monkeypatch.setattr(_cluster_fit, "warn", lambda *note: warned.append(note))
    fit.observe = lambda number, objective: bool(seen.append(number))
    first = {"a": 1}, "digest", [RoundMessage(7, 0.1)], [("slow", UserWarning)]
    other = None, "digest", [], []
    assert fit._model_of([task(outcome=first), task(outcome=other)]) == {"a": 1}
    assert (seen, warned) == ([7], [("slow", UserWarning)])
    with pytest.raises(RuntimeError, match="ended the fit with different models"):
        fit._model_of([task(outcome=first), task(outcome=(None, "another", [], []))])


def test_an_error_of_a_fit_comes_before_those_of_workers_that_lost_it(monkeypatch):
    monkeypatch.setattr(_cluster_fit, "_FOLLOW", 0.0)
    lost, stopped = task("error", error=PeerLostError("it")), task("error", error=FitStoppedError())
    own = task("error", error=ValueError("own"))
    with pytest.raises(ValueError, match="own"):
        fit_with()._model_of([lost, stopped, own])
    with pytest.raises(LostWorkersError, match="it"):
        fit_with()._model_of([task(), lost])
    with pytest.raises(LostWorkersError, match="A worker of the fit was lost"):
        fit_with()._model_of([task("cancelled")])


def test_a_model_that_is_lost_before_it_is_transferred():
    assert _cluster_fit._outcome_of(task(outcome="model")) == "model"
    with pytest.raises(LostWorkersError, match="lost with its worker: gone"):
        _cluster_fit._outcome_of(task(error=OSError("gone")))
    with pytest.raises(LostWorkersError, match=r"lost with its worker\.$"):
        _cluster_fit._outcome_of(task("lost"))
    slow, calls = task(outcome="model"), []

    def result(timeout):
        calls.append(timeout)
        if len(calls) < 3:
            raise TimeoutError
        return "model"

    slow.result = result
    assert _cluster_fit._outcome_of(slow) == "model"
    assert len(calls) == 3


@pytest.mark.parametrize("statuses", [["finished", "finished"], ["finished", "error"]])
def test_a_fit_that_is_left_frees_workers_and_tracker(statuses, monkeypatch):
    monkeypatch.setattr(_cluster_fit, "_PATIENCE", 0.0)
    called, running = [], iter([{"a": True}, {"a": False}])

    def on_scheduler(function, *arguments, **more):
        called.append((function.__name__, more))

    client = {"cancel": lambda tasks: called.append(("cancel", len(tasks)))}
    client["run"] = lambda *_, **__: next(running)
    fit_with(run_on_scheduler=on_scheduler, **client)._leave(PLAN, [*map(task, statuses)])
    ended = ("stop_tracker", {"ends_turn": True})
    hurried = [("stop_tracker", {})] if "error" in statuses else []
    assert called == [("cancel", 2), *hurried, ended]


def test_partitions_are_placed_on_workers_that_hold_them(monkeypatch):
    monkeypatch.setattr(_cluster_fit, "wait_for_tasks", lambda *_: None)
    parts = [SimpleNamespace(key=key) for key in "xyz"]
    holders = {"x": ["tcp://b"], "y": ["tcp://a", "gone"], "z": ["tcp://b"]}
    fit = fit_with({"tcp://a": 1, "tcp://b": 1}, who_has=lambda _: holders)
    fit.partitions, fit.sizes = parts, [5, 9, 4]
    assert fit._assigned() == {"tcp://a": [parts[1]], "tcp://b": [parts[0], parts[2]]}
    holders["y"] = ["gone"]
    with pytest.raises(LostWorkersError, match="A partition was lost"):
        fit._assigned()


def test_large_partitions_are_placed_first():
    """So that the small ones even the load out, whatever the order of the partitions is."""
    sizes = [1, 1, 1, 1, 4, 4]
    places = assign_workers(sizes, [["a"]] * 6, ["a", "b"])
    load = {one: sum(s for s, p in zip(sizes, places, strict=True) if p == one) for one in "ab"}
    assert load == {"a": 6, "b": 6}
    assert places[4] != places[5]


def test_a_turn_ends_with_its_client():
    removed, stopped = [], threading.Event()

    def remove(name):
        removed.append(name)

    turn = Turn("fit", "mine")
    turn.tracker = SimpleNamespace(stop=lambda patience: removed.append(patience) or stopped.set())
    scheduler = SimpleNamespace(remove_plugin=remove)
    turn.remove_client(scheduler, "another")
    assert removed == []
    turn.remove_client(scheduler, "mine")
    assert stopped.wait(10)
    assert removed == [_cluster_fit._TURN, _cluster_fit._FAREWELL]
    turn.stop_tracker()  # once is enough
    assert len(removed) == 2


# ---------------------------------------------------------------------------- mailbox


def test_a_round_waits_until_the_client_has_taken_it(monkeypatch):
    box = Mailbox(0, waits=True)
    box.begin(lambda: {"n": 1})
    started, check = threading.Event(), box.check
    monkeypatch.setattr(box, "check", lambda: (started.set(), check()))
    client = threading.Thread(target=lambda: (started.wait(10), box.acknowledge(1, True)))
    client.start()
    assert box(1, 0.5)  # the client has ended the fit
    client.join()
    assert box.pending() == []


def test_news_stay_until_they_are_taken():
    box = Mailbox(0, waits=False)
    box.begin(lambda: {"n": 1})
    for number in (1, 2, 3):
        assert not box(number, 1 / number)
    assert [one.round for one in box.pending()] == [1, 2, 3]
    assert sum(one.attributes is not None for one in box.pending()) == 1
    box.acknowledge(2, False)
    assert [one.round for one in box.pending()] == [3]
    box.acknowledge(1, False)  # an answer that comes late
    assert not box(4, 0.1)
    assert [one.round for one in box.pending()] == [3, 4]
    box.is_stopped = True
    with pytest.raises(FitStoppedError, match="The client has ended the fit"):
        box.check()


def test_a_client_that_is_silent_ends_the_fit_on_the_first_worker(monkeypatch):
    boxes = [Mailbox(rank, waits=False) for rank in (0, 1)]
    monkeypatch.setattr(_mailbox, "_CLIENT_SILENCE", -1.0)
    with pytest.raises(PeerLostError, match="The client of the fit does not answer"):
        boxes[0].check()
    boxes[1].check()


def test_news_for_a_client_that_has_died_are_few(monkeypatch):
    monkeypatch.setattr(_mailbox, "_MOST_MESSAGES", 5)
    monkeypatch.setattr(_mailbox, "_BETWEEN_CHECKPOINTS", 0.0)
    box = Mailbox(0, waits=False)
    box.begin(lambda: {"of": "a model"})
    for number in range(1, 21):
        assert not box(number, 1.0)
    assert [one.round for one in box.pending()] == [16, 17, 18, 19, 20]
    assert sum(one.attributes is not None for one in box.pending()) <= 1


def test_fits_are_stopped_and_asked_by_their_names():
    assert asyncio.run(exchange("none", 0, False, 0.0, 0.0)) == []
    with _mailbox.mailbox("f", 0, False) as box, _mailbox.mailbox("g", 0, False) as other:
        box.begin(dict)
        box(1, 0.5)
        found = asyncio.run(exchange("f", 0, True, 5.0, 0.0))
        assert [one.round for one in found] == [1]
        assert box(2, 0.4)
        assert stop_fit("f")
        assert (box.is_stopped, other.is_stopped) == (True, False)
    assert not stop_fit("f")


# ---------------------------------------------------------------------------- tracker


@pytest.fixture
def modules(monkeypatch):
    """Put back the modules that a tracker forbids, after the test."""
    for name in _tracker._SPARED_IMPORTS:
        monkeypatch.setitem(sys.modules, name, sys.modules.get(name))


@pytest.mark.parametrize("patience", ["7\n", ""])
def test_what_the_process_of_a_tracker_does(modules, monkeypatch, capsys, patience):
    called = []

    class Tracker:
        def __init__(self, *arguments, **more):
            called.append((arguments, more))

        def start(self):
            called.append("start")

        def worker_args(self):
            return {"port": 9}

        def wait_for(self, seconds):
            called.append(seconds)

        def free(self):
            called.append("free")

    monkeypatch.setitem(sys.modules, "xgboost.tracker", SimpleNamespace(RabitTracker=Tracker))
    monkeypatch.setattr(sys, "stdin", io.StringIO(f'[2, "127.0.0.1", 30]\n{patience}'))
    _tracker.main()
    assert json.loads(capsys.readouterr().out) == {"port": 9}
    end = [7, "free"] if patience else ["free"]
    assert called == [((2, "127.0.0.1"), {"sortby": "task", "timeout": 30}), "start", *end]
    assert all(sys.modules[name] is None for name in _tracker._SPARED_IMPORTS)


def test_a_tracker_says_why_it_does_not_start(modules, monkeypatch, capsys):
    def fails(*_, **__):
        raise OSError("no port")

    monkeypatch.setitem(sys.modules, "xgboost.tracker", SimpleNamespace(RabitTracker=fails))
    monkeypatch.setattr(sys, "stdin", io.StringIO('[2, "127.0.0.1", 30]\n'))
    _tracker.main()
    assert json.loads(capsys.readouterr().out) == {"error": "OSError: no port"}
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    _tracker.main()
    assert capsys.readouterr().out == ""


# ---------------------------------------------------------------------------- messages


def collectives(monkeypatch, arrays):
    """Return one collective a rank, whose messages are sums of what all ranks have sent."""
    monkeypatch.setattr(_xgboost_collective.collective, "get_world_size", lambda: len(arrays))
    found = []
    for rank in range(len(arrays)):
        monkeypatch.setattr(_xgboost_collective.collective, "get_rank", lambda rank=rank: rank)
        found.append(XGBoostCollective(lambda: None))
    return found


@pytest.mark.parametrize("lengths", [(3, 0, 2), (16, 1, 16), (17, 0, 4), (40, 5, 17), (1,)])
def test_arrays_are_gathered_by_rank(monkeypatch, lengths):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=n) for n in lengths]
    ranks = collectives(monkeypatch, arrays)
    messages = Exchange(ranks, arrays, monkeypatch)
    for found in messages.gathered:
        assert [part.tolist() for part in found] == [one.tolist() for one in arrays]
    assert messages.n_messages == (0 if len(arrays) == 1 else 1 + (max(lengths) > 16))


class Exchange:
    """Runs a gathering in one thread a rank; a message is the sum of what all of them send."""

    def __init__(self, ranks, arrays, monkeypatch):
        self.sent, self.n_messages = [], 0
        self.meet = threading.Barrier(len(ranks), action=self.add)
        self.lock = threading.Lock()
        monkeypatch.setattr(_xgboost_collective.collective, "allreduce", self.send)
        self.gathered = [None] * len(ranks)
        threads = [
            threading.Thread(target=self.gather, args=(rank, one, values))
            for rank, (one, values) in enumerate(zip(ranks, arrays, strict=True))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)

    def gather(self, rank, one, values):
        self.gathered[rank] = one.gather(values)

    def send(self, values, operation):
        with self.lock:
            self.sent.append(values)
        self.meet.wait(10)
        return self.total.copy()

    def add(self):
        self.total, self.sent = np.sum(self.sent, axis=0), []
        self.n_messages += 1


def test_errors_of_messages_are_lost_peers():
    with pytest.raises(PeerLostError), _xgboost_collective.peer_lost():
        raise XGBoostError("collective/comm.cc: connection closed")
