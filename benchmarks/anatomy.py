"""How large the package is, and how much of it a fit and a command go through.

    python benchmarks/anatomy.py             # lines by subject, files of fits, modules of `compare`
    python benchmarks/anatomy.py --lines     # the lines only

It counts and does not measure time, so the load of the machine does not matter. Lines of code are
neither blank, nor comments, nor part of a string statement such as a docstring. Files of a fit are
those in which a function of this package runs in `Ranker().fit(X, y)`, after a first fit that loads
what is loaded once.
"""

import argparse
import ast
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path
from types import FrameType
from typing import Any

from _report import Cell, Table, table_in_pipes

import sklearn_rank

ROOT = Path(sklearn_rank.__file__).parent

SUBJECTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "scorecard, its display, `card`": (
        2_300,
        ("scorecard/*", "plotting/_scorecard*", "cli/_card*", "cli/_tables/card*"),
    ),
    "cli, tables": (1_900, ("cli/*",)),
    "dask": (1_400, ("dask/*",)),
    "rows": (
        780,
        (
            *("_core/given_pairs.py", "_core/preferences.py", "_core/rows.py"),
            *("_core/selected.py", "_core/sums.py"),
        ),
    ),
    "metrics": (1_600, ("metrics/*",)),
    "pair_sums": (1_860, ("_pair_sums/*",)),
    "models, bins": (1_950, ("models/*", "_bins/*")),
    "solvers": (1_300, ("solvers/*",)),
    "estimators": (2_900, ("estimators/*",)),
    "engines": (800, ("engines/*",)),
    "ensemble": (650, ("ensemble/*",)),
    "plotting": (550, ("plotting/*",)),
    "clicks": (800, ("clicks/*",)),
    "pairs": (470, ("pairs/*",)),
    "export": (1_050, ("export/*",)),
    "objectives": (1_100, ("objectives/*",)),
    "model_selection, theory, datasets": (1_340, ("model_selection/*", "theory/*", "datasets/*")),
    "top level": (1_250, ("*",)),
}
"""The ceiling of each subject, and its files: each counts in the first that it matches.

A ceiling may only be lowered.
"""

CEILING = 24_000
"""Of all together, less than the sum of the ceilings."""

FITS = {
    "PNormPushRanker": 22,
    "RankBoost": None,
    "SmoothMarginRanker": None,
    "KernelPairwiseSGDRanker": 23,
    "ListNetLinear": 19,
    "BoostedTreesRanker": 32,
    "Scorecard": 42,
}
"""The most files that a fit may go through, where there is a limit."""

MODULES = 150
"""The most modules of the package that `sklearn-rank compare` may load."""


def code_lines(source: str) -> int:
    """Return the number of lines that are neither blank, comment nor a string as a statement."""
    strings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                strings.update(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(map(str.strip, source.split("\n")), start=1)
    return sum(1 for n, line in lines if line and line[0] != "#" and n not in strings)


def lines_by_file() -> dict[str, int]:
    """Return the lines of code of each file, by its path within the package."""
    return {
        path.relative_to(ROOT).as_posix(): code_lines(path.read_text(encoding="utf-8"))
        for path in sorted(ROOT.rglob("*.py"))
    }


def lines_by_folder() -> Counter[str]:
    """Return the lines of code of each folder, and of the files beside them as ``.``."""
    found: Counter[str] = Counter()
    for name, lines in lines_by_file().items():
        found[name.partition("/")[0] if "/" in name else "."] += lines
    return found


def lines_by_subject() -> Counter[str]:
    """Return the lines of code of each subject."""
    found: Counter[str] = Counter()
    for name, lines in lines_by_file().items():
        fitting = (
            subject
            for subject, (_, patterns) in SUBJECTS.items()
            if any(fnmatch(name, pattern) for pattern in patterns)
        )
        found[next(fitting)] += lines
    return found


def files_of_fit(name: str) -> int:
    """Return the number of files of the package in which a function runs in a default fit."""
    from _data import draw_two_classes
    from sklearn.exceptions import ConvergenceWarning

    from sklearn_rank.scorecard import Scorecard

    files: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        is_function = code.co_name[0] != "<"  # no body of a module, no comprehension
        if event == "call" and is_function and code.co_filename.startswith(f"{ROOT}/"):
            files.add(code.co_filename)

    if name == "Scorecard":
        model: Any = Scorecard(max_terms=3, cv=2)
    else:
        model = getattr(sklearn_rank, name)(n_jobs=1)
        model.set_params(**{"n_estimators" if hasattr(model, "n_estimators") else "max_iter": 4})
    X, y = draw_two_classes(200, n_features=5, n_informative=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            model.fit(X, y)
        finally:
            sys.setprofile(before)
    return len(files)


def modules_of_compare() -> int:
    """Return the number of modules of the package that `sklearn-rank compare` loads."""
    script = """
import sys
from sklearn_rank.cli import main
words = "compare t.csv --target y --rankers RankBoost --cv 2 --param n_estimators=2"
assert not main(words.split())
print(sum(name.partition(".")[0] == "sklearn_rank" for name in sys.modules))
"""
    rows = ["a,b,y", *(f"{i % 7},{i * i % 11},{i % 3 % 2}" for i in range(60))]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "t.csv").write_text("\n".join(rows), encoding="utf-8")
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", action="store_true", help="the lines of code only")
    options = parser.parse_args()
    found = lines_by_subject()
    rows: list[list[Cell]] = [
        [name, found[name], most, max(0, found[name] - most)]
        for name, (most, _) in SUBJECTS.items()
    ]
    rows.append(["all", found.total(), CEILING, max(0, found.total() - CEILING)])
    tables = [Table("Lines of code", ["subject", "lines", "at most", "above"], rows)]
    if not options.lines:
        counts: list[list[Cell]] = [[name, files_of_fit(name), most] for name, most in FITS.items()]
        tables.append(Table("Files of one fit", ["model", "files", "at most"], counts))
        counts = [["sklearn-rank compare", modules_of_compare(), MODULES]]
        tables.append(Table("Modules loaded", ["command", "modules", "at most"], counts))
    for table in tables:
        print(f"{table.title}\n\n{table_in_pipes(table)}\n")


if __name__ == "__main__":
    main()
