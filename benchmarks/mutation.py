"""Planted faults: how many of a random sample of them the quick tests notice.

    pip install -e ".[test,dev]"
    python benchmarks/mutation.py map FOLDER             # which test runs which lines, minutes
    python benchmarks/mutation.py run FOLDER             # 400 faults, some seconds each
    python benchmarks/mutation.py report FOLDER --output docs/benchmarks/mutation.json \\
        --page docs/benchmarks/mutation_table.md

The report of `--group core --seed 4 --count 204` is mutation.json; those of `--group further` with
`--seed 2` and `--seed 4` are mutation_third.json and mutation_fourth.json.

The operators of cosmic-ray plant one fault at a time in the modules that every ranker relies
on, or with `--group further` in those made of rankers: a comparison, an operator, a number or a
condition is another one. The sample is spread over the files in proportion to their lines; in a
file each line that can be changed is as likely as any other. `--packages` takes some of its
packages, for which `--tests` may name fewer tests.

A fault is tried in a forked process that has all tests loaded: functions take the faulty code
before the tests start. A fault outside of functions, or in one that no test calls (some run
while their file is imported), is written to the file, and a new interpreter runs the tests: so
work in a copy of the repository, never in the one that you edit.
Chosen are tests that run the line, in turns over the test functions, quick ones that run little
else first, as many as take `--budget` seconds together (of the map: fewer without its tracing);
where none runs it, those of the file and those that look at every file. A fault that makes them
take more than 120 seconds counts as noticed.

With `--slow`, `map` and `run` take the slow tests, and try what the quick ones have left, but for
faults that are known to be equivalent.

`FOLDER/verdicts.json` says of faults that survived, by their key, what `VERDICTS` lists: why they
change nothing that can be seen ("equivalent: ..."), or which test was written ("test: ..."). The
report joins them.
"""

import argparse
import ast
import gc
import inspect
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
GROUPS = {
    "core": ["pair_sums", "objectives", "rows", "bins", "solvers", "metrics"],
    "further": [
        "models", "engines", "model_selection", "estimators", "ensemble", "scorecard", "pairs",
        "clicks", "search_engines", "onnx", "dask", "cli",
    ],
}  # fmt: skip
OF_THE_REPOSITORY = [
    "test_benchmark_*", "test_docs_pages", "test_installed", "test_paper_tables",
    "test_printed_numbers", "test_quoted_figures", "test_readme",
]  # fmt: skip
OF_ALL_FILES = {
    "tests/test_architecture.py::test_dataclasses_of_arrays_are_not_compared_by_their_fields",
    "tests/test_architecture.py::test_other_dataclasses_are_frozen",
    "tests/test_reference.py::test_defaults_are_those_of_the_docstrings",
    "tests/test_reference.py::test_numbers_are_allowed_in_the_ranges_of_the_docstrings",
}
"""Tests that look at every file, though they call nothing in it."""
TURN = 0.5
"""Seconds of a test function's cases that run in one turn, if not a single case takes longer."""

LIMIT = 120
OPEN = ["open: no quick test of these runs the line", "open"]
SLOW = "slow: "
VERDICTS = {
    "equivalent": "it changes nothing that can be seen",
    "slow": "a slow test notices it",
    "there": "a quick test notices it that was not among those chosen",
    "test": "a quick test that notices it was written, or made of a slow one",
    "open": "no test notices it",
}
NORMAL_95 = 1.959964
Mutant = dict[str, Any]


# --- the files and the places in them ------------------------------------------------------------


def files_of(package: str) -> list[Path]:
    """Return the modules of one package."""
    return sorted((ROOT / "sklearn_rank" / package).rglob("*.py"))


def package_of(file: str) -> str:
    """Return the package a file belongs to."""
    return Path(file).parts[1]


def files_of_group(group: str) -> list[Path]:
    """Return the modules of all packages of a group."""
    return list(chain.from_iterable(map(files_of, GROUPS[group])))


def files_of_tests() -> list[str]:
    """Return the files of tests, but those of pages and reports."""
    names = {path.stem for path in (ROOT / "tests").glob("test_*.py")}
    return sorted(name for name in names if not any(map(Path(name).match, OF_THE_REPOSITORY)))


def skipped_lines(tree: ast.AST) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the spans of annotations, imports and ``__all__``."""
    spans: list[ast.AST] = []
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Assign(targets=[ast.Name(id="__all__")]):
                spans.append(node)
            case ast.arg(annotation=ast.AST() as annotation):
                spans.append(annotation)
            case ast.AnnAssign():
                spans.append(node.annotation)
            case ast.FunctionDef(returns=ast.AST() as annotation):
                spans.append(annotation)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                spans.append(node)
    return [((s.lineno, s.col_offset), (s.end_lineno, s.end_col_offset)) for s in spans]


def statement_lines(tree: ast.Module, line: int) -> range:
    """Return the lines of the innermost statement at a line, without the body of a compound one."""
    found = range(line, line + 1)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno:
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno
            if line <= max(last, node.lineno):
                found = range(node.lineno, max(last, node.lineno) + 1)
    return found


def in_function(tree: ast.Module, line: int) -> bool:
    """Say whether a line belongs to the body of a function."""
    return any(
        isinstance(node, ast.FunctionDef) and node.body[0].lineno <= line <= node.end_lineno
        for node in ast.walk(tree)
    )


# --- the faults ----------------------------------------------------------------------------------


def operators() -> dict[str, Any]:
    """Return cosmic-ray's operators that need no arguments."""
    from cosmic_ray.operators.provider import OperatorProvider

    provider = OperatorProvider()
    return {name: provider[name]() for name in provider if not provider[name].arguments()}


def places(source: str) -> dict[int, list[tuple[str, int, int, int]]]:
    """Return, by line, all (operator, node, variant, column) that can be changed."""
    from cosmic_ray.ast import ast_nodes, get_ast

    skipped = skipped_lines(ast.parse(source))
    found = defaultdict(list)
    nodes = list(ast_nodes(get_ast(source)))
    for name, operator in operators().items():
        for number, node in enumerate(nodes):
            for variant, (start, _) in enumerate(operator.mutation_positions(node)):
                if not any(low <= tuple(start) < high for low, high in skipped):
                    found[start[0]].append((name, number, variant, start[1]))
    return found


def faulty(source: str, name: str, number: int, variant: int) -> str | None:
    """Return the source with one fault, or None where the operator cannot plant it."""
    from cosmic_ray.ast import ast_nodes, get_ast

    tree = get_ast(source)
    node = next(node for i, node in enumerate(ast_nodes(tree)) if i == number)
    parent = node.parent
    try:
        changed = operators()[name].mutate(node, variant)
        parent.children = [
            new for child in parent.children
            if (new := changed if child is node else child) is not None
        ]  # fmt: skip
        text: str = tree.get_code()
        compile(text, "mutant", "exec")
    except (AssertionError, SyntaxError, ValueError, AttributeError):
        return None
    return None if ast.dump(ast.parse(text)) == ast.dump(ast.parse(source)) else text


def sample(count: int, seed: int, group: str, packages: Sequence[str]) -> list[Mutant]:
    """Return faults in random order, spread over the files in proportion to their lines.

    Those of some packages are the same that the sample of all packages of the group has.
    """
    files = files_of_group(group)
    sizes = [len(path.read_text().splitlines()) for path in files]
    quotas = [count * size / sum(sizes) for size in sizes]
    numbers = [math.floor(quota) for quota in quotas]
    rest = sorted(range(len(files)), key=lambda i: numbers[i] - quotas[i])
    for i in rest[: count - sum(numbers)]:
        numbers[i] += 1
    wanted = set(chain.from_iterable(map(files_of, packages)))
    chosen = [
        mutant
        for path, number in zip(files, numbers, strict=True)
        if path in wanted
        for mutant in drawn(path, number, random.Random(f"{seed} {path.relative_to(ROOT)}"))
    ]
    random.Random(seed).shuffle(chosen)
    return chosen


def drawn(path: Path, count: int, rng: random.Random) -> Iterator[Mutant]:
    """Draw the faults of one file: a line, then one of the changes that are possible there."""
    source = path.read_text()
    lines = places(source)
    taken: set[str] = set()
    for _ in range(50 * count):
        if len(taken) == count or not lines:
            return
        line = rng.choice(sorted(lines))
        name, number, variant, column = rng.choice(lines[line])
        key = f"{path.relative_to(ROOT)}:{line}:{column}:{name}:{variant}"
        text = None if key in taken else faulty(source, name, number, variant)
        if text is not None:
            taken.add(key)
            before, after = source.splitlines(), text.splitlines()
            yield {
                "key": key, "file": str(path.relative_to(ROOT)), "line": line, "text": text,
                "before": next(a for a, b in zip(before, after, strict=False) if a != b).strip(),
                "after": next(b for a, b in zip(before, after, strict=False) if a != b).strip(),
            }  # fmt: skip


# --- which test runs which lines -----------------------------------------------------------------


def arguments(options: argparse.Namespace) -> list[str]:
    """Return the command line of pytest that collects the quick tests, examples of code too."""
    tests = [f"tests/{name}.py" for name in options.tests or files_of_tests()]
    if not options.tests:
        tests += [str(path.relative_to(ROOT)) for path in files_of_group(options.group)]
    return [
        "-q", "-n", "0", "-m", options.marked, "-p", "no:cacheprovider", "-p", "no:randomly",
        *tests,
    ]  # fmt: skip


class Map:
    """Notes the lines, seconds and outcome of every test."""

    def __init__(self, group: str) -> None:
        import coverage

        self.coverage = coverage.Coverage(
            data_file=None, config_file=False, include=[str(path) for path in files_of_group(group)]
        )
        self.tests: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        started = time.process_time()
        self.coverage.switch_context(item.nodeid)
        result = yield
        self.coverage.switch_context("")
        self.tests.setdefault(item.nodeid, {})["seconds"] = time.process_time() - started
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        entry = self.tests.setdefault(report.nodeid, {"passed": True})
        entry["passed"] = entry.get("passed", True) and report.passed


def make_map(folder: Path, options: argparse.Namespace) -> None:
    """Run the quick tests once, and write which lines each of them runs."""
    plugin = Map(options.group)
    plugin.coverage.start()
    pytest.main(arguments(options), plugins=[plugin])
    plugin.coverage.stop()
    data = plugin.coverage.get_data()
    lines: dict[str, dict[int, list[str]]] = {}
    for path in files_of_group(options.group):
        contexts = data.contexts_by_lineno(str(path))
        lines[str(path.relative_to(ROOT))] = {
            line: [name for name in names if name and plugin.tests[name]["passed"]]
            for line, names in contexts.items()
        }
    folder.mkdir(parents=True, exist_ok=True)
    seconds = {name: entry["seconds"] for name, entry in plugin.tests.items()}
    (folder / options.map).write_text(json.dumps({"lines": lines, "seconds": seconds}))


class Choice:
    """Chooses tests for a fault from the map."""

    def __init__(self, path: Path, budget: float) -> None:
        data = json.loads(path.read_text())
        self.lines, self.seconds, self.budget = data["lines"], data["seconds"], budget
        self.breadth = Counter(
            name for lines in self.lines.values() for names in lines.values() for name in names
        )
        self.trees: dict[str, ast.Module] = {}

    def running(self, file: str, line: int) -> set[str]:
        """Return the tests that run a line of a function, none for other lines."""
        if file not in self.trees:
            self.trees[file] = ast.parse((ROOT / file).read_text())
        tree, lines = self.trees[file], self.lines[file]
        if not in_function(tree, line):
            return set()
        return set(chain.from_iterable(lines.get(str(n), []) for n in statement_lines(tree, line)))

    def of_file(self, file: str) -> set[str]:
        """Return the tests that run a file, and those that look at every file."""
        of_all = OF_ALL_FILES & self.seconds.keys()
        return of_all.union(*self.lines[file].values())

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the chosen tests in the order in which they run."""
        found = self.running(mutant["file"], mutant["line"]) or self.of_file(mutant["file"])
        order = sorted(found, key=lambda name: (self.seconds[name] + 0.02) * self.breadth[name])
        turns: dict[str, list[list[str]]] = defaultdict(lambda: [[]])
        for name in order:
            of_function = turns[name.partition("[")[0]]
            if of_function[-1] and self.cost([*of_function[-1], name]) > TURN:
                of_function.append([])
            of_function[-1].append(name)
        chosen: list[str] = []
        for names in filter(None, chain.from_iterable(zip_longest(*turns.values()))):
            if chosen and self.cost([*chosen, *names]) > self.budget:
                break
            chosen += names
        return chosen

    def cost(self, names: list[str]) -> float:
        """Return the seconds that some tests take together."""
        return sum(self.seconds[name] for name in names)


# --- one fault in a process of its own -----------------------------------------------------------


def codes(code: CodeType) -> Iterator[CodeType]:
    """Return a code object and all that it contains."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def by_name(found: Sequence[CodeType]) -> dict[tuple[str, int], CodeType]:
    """Name code objects by their qualified name and its turn in the file."""
    named, seen = {}, Counter[str]()
    for code in sorted(found, key=lambda code: code.co_firstlineno):
        named[code.co_qualname, seen[code.co_qualname]] = code
        seen[code.co_qualname] += 1
    return named


def functions() -> dict[str, list[FunctionType]]:
    """Return the functions that there are, by the file of their code."""
    found = defaultdict(list)
    gc.unfreeze()  # else what conftest.py has frozen is not among the objects
    for function in gc.get_objects():
        if type(function) is FunctionType:
            found[function.__code__.co_filename].append(function)
    return found


def plant(mutant: Mutant, functions: dict[str, list[FunctionType]]) -> None:
    """Give all functions of a module the code of the faulty source."""
    path = str(ROOT / mutant["file"])
    old = by_name(list(codes(compile(Path(path).read_text(), path, "exec"))))
    with warnings.catch_warnings():  # of "is" beside a text, which is no end of this process
        warnings.simplefilter("ignore", SyntaxWarning)
        new = by_name(list(codes(compile(mutant["text"], path, "exec"))))
    names = {(code.co_qualname, code.co_firstlineno): name for name, code in old.items()}
    for function in functions[path]:
        code = function.__code__
        function.__code__ = new[names[code.co_qualname, code.co_firstlineno]]


def results_of(path: Path) -> list[Mutant]:
    """Return what was found of each fault, none where there is no file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return list({(record := json.loads(line))["key"]: record for line in lines}.values())


def verdicts_of(folder: Path) -> dict[str, str]:
    """Return what is known of faults that survived."""
    path = folder / "verdicts.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}


class Trial:
    """Tries faults instead of running the tests once."""

    def __init__(
        self, folder: Path, mutants: list[Mutant], choice: Choice, options: argparse.Namespace
    ) -> None:
        self.mutants, self.choice, self.marked = mutants, choice, options.marked
        self.until = time.time() + 60 * options.minutes
        self.results = folder / options.results

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        found = functions()
        gc.freeze()  # a child then copies less memory
        done = {record["key"] for record in results_of(self.results)}
        for mutant in self.mutants:
            if mutant["key"] in done or time.time() > self.until:
                continue
            started = time.time()
            chosen = [name for name in self.choice.tests(mutant) if name in items]
            outcome, by = "" if chosen else "survived", ""
            if chosen and self.choice.running(mutant["file"], mutant["line"]):
                chosen = [name for name in chosen if not uses_polars(items[name])]
                outcome, by = forked(mutant, [items[name] for name in chosen], found)
            if not outcome:
                outcome, by = in_interpreter(mutant, chosen, self.marked)
            record = {name: mutant[name] for name in ("key", "file", "line", "before", "after")}
            record |= {"tests": len(chosen), "outcome": outcome, "by": by}
            record["seconds"] = round(time.time() - started, 1)
            with self.results.open("a") as file:
                file.write(json.dumps(record) + "\n")
        return True


def uses_polars(item: pytest.Item) -> bool:
    """Whether a test uses polars, whose threads a fork does not inherit."""
    function = getattr(item, "function", None)
    source = inspect.getsource(function) if function else ""
    return "polars" in item.nodeid or re.search(r"\bpl\.", source) is not None


def forked(
    mutant: Mutant, items: list[pytest.Item], found: dict[str, list[FunctionType]]
) -> tuple[str, str]:
    """Try a fault in a fork of this process; return the outcome and the test that noticed it.

    The outcome is empty where the fork waits, maybe for a thread that it has not inherited.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        silence()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, LIMIT)
        plant(mutant, found)
        os.write(write, first_failure(items).encode())
        os._exit(0)
    os.close(write)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.alarm(2 * LIMIT)
    with os.fdopen(read) as pipe:
        failed = pipe.read()
    _, status = os.waitpid(child, 0)
    signal.alarm(0)
    if status and os.WTERMSIG(status) == signal.SIGKILL:
        return "", ""
    if status:
        return "killed", f"ended by signal {os.WTERMSIG(status)}"
    return ("killed", failed) if failed else ("survived", "")


def silence() -> None:
    """Send what the tests print nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


class Failure:
    """Keeps the name of the first test that fails."""

    def __init__(self) -> None:
        self.name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.name = self.name or (report.nodeid if report.failed else "")


def first_failure(items: list[pytest.Item]) -> str:
    """Run tests up to the first that fails, and return its name.

    Through all hooks, of which one sees to the marks that ignore warnings.
    """
    failure, config = Failure(), items[0].config
    config.pluginmanager.register(failure)
    for item, following in zip_longest(items, items[1:]):
        try:
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        except BaseException:
            return item.nodeid
        if failure.name:
            break
    return failure.name


def in_interpreter(mutant: Mutant, chosen: list[str], marked: str) -> tuple[str, str]:
    """Try a fault outside of functions: write the file, and run a new interpreter."""
    path = ROOT / mutant["file"]
    text, status = path.read_text(), path.stat()
    path.write_text(mutant["text"])
    command = [
        sys.executable, "-B", "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider",
        "-m", marked, *chosen,
    ]  # fmt: skip
    try:
        run = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=5 * LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return "killed", "took too long"
    finally:
        path.write_text(text)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    if run.returncode == 0:
        return "survived", ""
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "killed", failed[0][:200] if failed else f"exit code {run.returncode}"


def try_all(folder: Path, options: argparse.Namespace) -> None:
    """Try the faults of the sample that have no result yet."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # a file that is changed is put back
    mutants = sample(
        options.count, options.seed, options.group, options.packages or GROUPS[options.group]
    )
    planned = folder / "planned.json"
    earlier = json.loads(planned.read_text()) if planned.exists() else []
    keys = {mutant["key"] for mutant in mutants}
    planned.write_text(json.dumps(sorted(keys.union(earlier))))
    if options.slow:
        quick, known = results_of(folder / "results.jsonl"), verdicts_of(folder)
        left = {
            record["key"]
            for record in quick
            if record["outcome"] == "survived"
            and not known.get(record["key"], "").startswith("equivalent")
        }
        mutants = [mutant for mutant in mutants if mutant["key"] in left]
    choice = Choice(folder / options.map, options.budget)
    pytest.main(arguments(options), plugins=[Trial(folder, mutants, choice, options)])


# --- the report ----------------------------------------------------------------------------------


def interval(part: int, whole: int) -> tuple[float, float]:
    """Return the 95 % interval of Wilson for a share."""
    p, z = part / whole, NORMAL_95
    centre = p + z * z / (2 * whole)
    width = z * math.sqrt(p * (1 - p) / whole + z * z / (4 * whole * whole))
    return (centre - width) / (1 + z * z / whole), (centre + width) / (1 + z * z / whole)


def counted(results: Sequence[Mutant], *, slow: bool = False) -> list[str | float | int | None]:
    """Return tried, killed, survived, equivalent, the share killed and its interval.

    With `slow` also what the slow tests killed of the rest, and the share with these.
    """
    killed, by_slow, equivalent = (
        sum(r.get("verdict", r["outcome"]).startswith(kind) for r in results)
        for kind in ("killed", SLOW, "equivalent")
    )
    changing = len(results) - equivalent
    found = [len(results), killed, changing - killed, equivalent, *share(killed, changing)]
    return [*found, by_slow, *share(killed + by_slow, changing)] if slow else found


def share(part: int, whole: int) -> tuple[str, str]:
    """Return a share with its interval, as text."""
    low, high = interval(part, whole)
    return f"{100 * part / whole:.1f} %", f"{100 * low:.1f} to {100 * high:.1f} %"


def report(folder: Path, output: Path | None, page: Path | None) -> None:
    """Join the results with the verdicts, and publish them."""
    from _harness import describe_machine
    from _report import Report, Table

    results, slow = (results_of(folder / name) for name in ("results.jsonl", "slow_results.jsonl"))
    by_slow = {
        record["key"]: record["by"].rpartition(".py::")[2].partition("[")[0]
        for record in slow
        if record["outcome"] == "killed"
    }
    known = verdicts_of(folder)
    for record in results:
        if record["outcome"] == "survived":
            verdict = known.get(record["key"], OPEN[bool(record["tests"])])
            if record["key"] in by_slow and not verdict.startswith("equivalent"):
                kind, _, what = verdict.partition(": ")
                quick = f"; now the quick {what}" if kind == "test" else ""
                verdict = SLOW + by_slow[record["key"]] + quick
            record["verdict"] = verdict
    names = chain.from_iterable(GROUPS.values())
    packages = {name: [r for r in results if package_of(r["file"]) == name] for name in names}
    columns = ["modules", "faults", "killed", "survived", "equivalent", "share killed", "95 %"]
    if slow:
        columns += ["killed by slow tests", "share with these", "95 % with these"]
    packages = {name: found for name, found in packages.items() if found} | {"all": results}
    rows = [[name, *counted(found, slow=bool(slow))] for name, found in packages.items()]
    tables = [Table("Planted faults", columns, rows)]
    survivors = [r for r in results if r["outcome"] == "survived"]
    kinds = Counter(r["verdict"].partition(":")[0] for r in survivors)
    tables.append(
        Table(
            "Verdicts on those that the first run left",
            ["verdict", "faults", "meaning"],
            [[kind, kinds[kind], meaning] for kind, meaning in VERDICTS.items()],
        )
    )
    tables.append(
        Table(
            "Faults that the first run left, and the verdict on each",
            ["place", "before", "after", "verdict"],
            [
                [f"{r['file'].removeprefix('sklearn_rank/')}:{r['line']}", r["before"], r["after"],
                 r["verdict"]]
                for r in sorted(survivors, key=lambda r: (r["file"], r["line"]))
            ],
        )
    )  # fmt: skip
    planned = json.loads((folder / "planned.json").read_text())
    settings = f"{len(results)} of {len(planned)} planned faults"
    name = "mutation" if output is None else output.stem
    Report(name, settings, describe_machine(), tables).publish(output)
    if page is not None:
        page.write_text("\n".join(map(markdown, tables)), encoding="utf-8")


def markdown(table: Any) -> str:
    """Return a table for a page of the documentation."""
    rows = [[str(cell).replace("|", "\\|") for cell in row] for row in table.rows]
    if "before" in table.columns:  # code
        rows = [
            [a, f"`{b}`" if b else "(without its decorator)", f"`{c}`", d] for a, b, c, d in rows
        ]
    lines = [table.columns, ["---"] * len(table.columns), *rows]
    return f"{table.title}:\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["map", "run", "report"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--group", default="core", choices=list(GROUPS))
    parser.add_argument("--tests", nargs="+", help="files of tests, for a quick look")
    parser.add_argument("--packages", nargs="+", choices=list(chain(*GROUPS.values())))
    parser.add_argument("--slow", action="store_true", help="slow tests on what the quick left")
    parser.add_argument("--count", type=int, default=408, help="some files have fewer places")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=40, help="seconds of tests for each fault")
    parser.add_argument("--minutes", type=float, default=600, help="no new fault after these")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--page", type=Path, help="a file of Markdown for the two tables")
    options = parser.parse_args()
    options.marked = "slow and not nightly" if options.slow else "not slow"
    options.map, options.results = (
        f"slow_{name}" if options.slow else name for name in ("map.json", "results.jsonl")
    )
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    folder = options.folder.resolve()
    if options.part == "map":
        make_map(folder, options)
    elif options.part == "run":
        try_all(folder, options)
    else:
        report(folder, options.output, options.page)


if __name__ == "__main__":
    main()
