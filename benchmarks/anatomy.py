"""How large the package is, and how much of it one default fit goes through.

    python benchmarks/anatomy.py             # lines by folder, and one fit of each ranker
    python benchmarks/anatomy.py --lines     # the lines only

It counts, and measures no time, so that a busy machine changes nothing.

*Lines of code* are neither blank nor a comment nor part of a string that is a statement, such as a
docstring.

The other figures are of `Ranker().fit(X, y)` on 200 generated rows of two classes with five
features, in one thread and after a first fit that loads what is loaded once. Only functions
written in this package count: neither those of other packages nor bodies of modules and classes.

files
    Files of the package in which a function ran during the fit.
calls a round
    Functions entered in one more round: the difference between two fits that differ in their number
    of rounds, divided by that number. Comprehensions and generator expressions count where they
    have frames of their own, and a generator counts each time that it is resumed.
frames
    Own functions on the stack, from `fit` to the innermost one, at the deepest place that every
    round reaches.
classes, own
    Length of the ranker's method resolution order, and those of it that are defined here.
"""

import argparse
import ast
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from _data import draw_two_classes
from _report import Table, table_in_pipes
from sklearn.exceptions import ConvergenceWarning

import sklearn_rank

ROOT = Path(sklearn_rank.__file__).parent
ROWS, FEATURES = 200, 5
ROUNDS = (4, 8)
"""Numbers of rounds whose fits are compared."""


# --- lines ---------------------------------------------------------------------------------------


def code_lines(source: str) -> int:
    """Return the number of lines that are neither blank, comment nor a string as a statement."""
    strings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                strings.update(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(map(str.strip, source.split("\n")), start=1)
    return sum(1 for n, line in lines if line and line[0] != "#" and n not in strings)


def lines_by_folder() -> Counter[str]:
    """Return the lines of code of each folder, and of the files beside them as ``.``."""
    found: Counter[str] = Counter()
    for path in ROOT.rglob("*.py"):
        folder = path.relative_to(ROOT).parts[0] if path.parent != ROOT else "."
        found[folder] += code_lines(path.read_text(encoding="utf-8"))
    return found


# --- one fit -------------------------------------------------------------------------------------


@dataclass
class Trace:
    """What one fit went through: files, functions entered, and how deep each entry was."""

    files: set[str] = field(default_factory=set)
    entries: Counter[int] = field(default_factory=Counter)
    depth: int = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Take one event of `sys.setprofile`."""
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(f"{ROOT}/"):
            return
        if event == "return":
            self.depth -= 1
        else:
            self.depth += 1
            self.entries[self.depth] += 1
            self.files.add(code.co_filename)


def trace(call: Callable[[], Any]) -> Trace:
    """Return what a call goes through in this thread."""
    found, before = Trace(), sys.getprofile()
    sys.setprofile(found)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def with_rounds(name: str, n_rounds: int) -> Any:
    """Return the ranker with its defaults, but for the number of rounds and of threads."""
    ranker = getattr(sklearn_rank, name)()
    limit = "n_estimators" if hasattr(ranker, "n_estimators") else "max_iter"
    return ranker.set_params(**{limit: n_rounds, "n_jobs": 1})


def anatomy_of(name: str) -> dict[str, Any]:
    """Return the figures of the ranker of a name."""
    X, y = draw_two_classes(ROWS, n_features=FEATURES, n_informative=3)
    few, many = (with_rounds(name, n) for n in ROUNDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        few.fit(X, y)
        traces = [trace(lambda ranker=ranker: ranker.fit(X, y)) for ranker in (few, many)]
    more = traces[1].entries - traces[0].entries
    rounds = np.ravel(many.n_iter_)[0] - np.ravel(few.n_iter_)[0]
    mro = type(few).__mro__
    return {
        "ranker": name,
        "files": len(traces[0].files),
        "calls a round": round(sum(more.values()) / rounds, 1),
        "frames": max(depth for depth, n in more.items() if n >= rounds),
        "classes": len(mro),
        "own": sum(kind.__module__.startswith("sklearn_rank") for kind in mro),
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", action="store_true", help="the lines of code only")
    lines = lines_by_folder()
    rows = [[folder, n] for folder, n in [*lines.most_common(), ("all", lines.total())]]
    tables = [Table("Lines of code", ["folder", "lines"], rows)]
    if not parser.parse_args().lines:
        figures = [anatomy_of(name) for name in sorted(sklearn_rank.__all__)]
        rows = [list(of_ranker.values()) for of_ranker in figures]
        tables.append(Table("One default fit", list(figures[0]), rows))
    for table in tables:
        print(f"{table.title}\n\n{table_in_pipes(table)}\n")


if __name__ == "__main__":
    main()
