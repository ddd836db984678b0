"""A plugin of pytest for `nightly.py`: leaves out tests that are done, and notes those that end.

The file that ``SKLEARN_RANK_DONE`` names has a line of JSON for each test that has ended, or for a
whole file of tests. The texts of failures are beside it, in a file that ends in .txt.
"""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

DONE = "SKLEARN_RANK_DONE"


def known(path: Path) -> dict[str, dict[str, Any]]:
    """Return what is noted of each test; of one that was run again, the last."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {one["test"]: one for one in map(json.loads, lines)}


class Notes:
    """Notes the outcome of each test, from its three phases."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a phase, and after the last one the test."""
        note = self._open.setdefault(report.nodeid, {"outcome": "passed", "seconds": 0.0})
        note["seconds"] += report.duration
        if report.outcome != "passed" and note["outcome"] != "failed":
            note["outcome"] = report.outcome
        if report.failed:  # a run that its time ends prints none
            with self._path.with_suffix(".txt").open("a", encoding="utf-8") as file:
                file.write(f"{report.nodeid}\n{report.longreprtext}\n\n")
        if report.when == "teardown":
            line = json.dumps({"test": report.nodeid, **self._open.pop(report.nodeid)})
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Note outcomes in the process that hears of all tests."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Notes(Path(os.environ[DONE])))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that have passed or been skipped, and files that have as many as then."""
    noted = known(Path(os.environ[DONE]))
    sizes = Counter(item.nodeid.partition("::")[0] for item in items)

    def is_done(item: pytest.Item) -> bool:
        file = item.nodeid.partition("::")[0]
        if file in noted:
            return noted[file].get("passed", 0) + noted[file].get("skipped", 0) == sizes[file]
        return noted.get(item.nodeid, {"outcome": "failed"})["outcome"] != "failed"

    config.hook.pytest_deselected(items=[item for item in items if is_done(item)])
    items[:] = [item for item in items if not is_done(item)]
