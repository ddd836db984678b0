"""Scripts that run for hours: what is done is not done again, and is counted."""

import ctypes
import gc
import json
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("scripts")


def one(outcome, seconds=1.0):
    return {"outcome": outcome, "seconds": seconds}


def test_the_last_note_of_a_test_counts(tmp_path):
    from _resumed_tests import known

    path = tmp_path / "notes"
    assert known(path) == {}
    lines = [{"test": "a", **one("failed")}, {"test": "b", **one("passed")}]
    lines.append({"test": "a", **one("passed", 2.0)})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert {name: found["outcome"] for name, found in known(path).items()} == {
        "a": "passed",
        "b": "passed",
    }
    assert known(path)["a"]["seconds"] == 2.0


def test_a_file_of_tests_that_is_done_is_kept_as_numbers():
    from nightly import report_of, summed_up

    run = {"files": {}, "planned": {"x.py": 3, "y.py": 2, "z.py": 1}}
    run["tests"] = {"x.py::a": one("passed"), "x.py::b": one("skipped"), "x.py::c": one("passed")}
    run["tests"] |= {"y.py::a": one("passed"), "z.py::a": one("failed")}
    summed_up(run)
    assert run["files"] == {"x.py": {"passed": 2, "skipped": 1, "seconds": 3.0}}
    assert set(run["tests"]) == {"y.py::a", "z.py::a"}
    report = report_of({"7": run})
    assert report.tables[0].rows == [["7", 6, 5, 3, 1, 1, "0.00"]]
    assert report.tables[1].rows == [["7", "z.py::a"]]
    assert [verdict.measured for verdict in report.verdicts] == [1, 1]


def test_more_cores_help_as_far_as_waits_and_memory_allow():
    from threads import CORES, on_paper

    waits = dict.fromkeys(CORES, 1e-5)
    alone = on_paper({"one": 1.0, "two": 1.0, "waits": 0.0}, waits, 0.0)
    assert alone == dict.fromkeys(CORES, 1.0)
    # All of it is shared, but for ten waits.
    found = on_paper({"one": 1.0, "two": 0.5 + 1e-4, "waits": 10.0}, waits, 0.1)
    assert found[4] == pytest.approx(0.25 + 1e-4)
    assert found[64] == 0.1


def test_quick_runs_are_counted():
    from quick_runs import FAILED, PASSED, report_of

    text = "ERROR tests/a.py::x - boom\nFAILED tests/a.py::y[1]\n1 failed, 2 passed, 1 error in 3 s"
    failed = FAILED.findall(text)
    assert failed == ["tests/a.py::x", "tests/a.py::y[1]"]
    assert PASSED.search(text)[1] == "2"
    good = {"commit": "a", "exit_code": 0, "passed": 5, "failed": [], "seconds": 9.0}
    bad = {"commit": "b", "exit_code": 1, "passed": 2, "failed": failed, "seconds": 3.2}
    runs = {"1": good, "2": bad, "3": good}
    report = report_of(runs, {}, 2)
    assert report.tables[0].rows == [[3, 2, 2, "4 to 5", "3 to 9"]]
    assert report.tables[1].rows == [["2", "tests/a.py::x, tests/a.py::y[1]"]]
    assert [verdict.measured for verdict in report.verdicts] == [1]
    assert len(report_of({"1": good}, {}, 2).tables) == 1


def test_a_soak_is_counted_by_what_happened_to_a_worker():
    from soak import report_of

    memory = {"scheduler": 100.0, "worker": 200.0, "client": 300.0, "scheduler_ended": False}
    log = [
        {"event": event, "outcome": outcome, "minute": minute, "seconds": seconds, **memory}
        for event, outcome, minute, seconds in (
            ("kill", "same model", 0.5, 70.0),
            ("kill", "refused", 9.5, 2.0),
            ("none", "another model", 5.0, 1.0),
        )
    ]
    report = report_of(log, 10.0, 0)
    assert report.tables[0].rows == [
        ["none", 0, 0, 1, 0, 0, 0, 1.0, 1.0],
        ["kill", 1, 0, 0, 1, 0, 1, 36.0, 70.0],
    ]
    assert [row[:2] for row in report.tables[1].rows] == [[1, 1], [6, 1], [10, 1]]
    assert [verdict.measured for verdict in report.verdicts] == [1, 0, 0]


def test_what_is_in_use_is_told_for_each_tenth():
    if sys.platform == "win32" or not hasattr(ctypes.CDLL(None), "mallinfo2"):
        pytest.skip("glibc from 2.33 on tells what is in use")
    pytest.importorskip("dask")
    from _soak_preload import in_use
    from soak import IN_USE, table_of_blocks

    gc.collect()
    before, held = in_use(), [np.ones(1_000_000), [object() for _ in range(50_000)]]
    after = in_use()
    assert after[0] - before[0] == pytest.approx(8.0, abs=1.0)
    assert after[1] - before[1] == pytest.approx(50, abs=5)
    assert len(held) == 2
    log = [{"minute": m, **dict.fromkeys(IN_USE, x)} for m, x in ((0.1, 1), (0.2, 3), (5, 4))]
    assert table_of_blocks(log, 10).rows == [[1, *[2] * 6], [6, *[4] * 6]]
