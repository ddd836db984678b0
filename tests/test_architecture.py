"""The order of imports, public scikit-learn only, light imports, documented names."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import sklearn_rank
from sklearn_rank import objectives

ROOT = Path(sklearn_rank.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"

# Each layer may import itself and the layers below; the names of one layer are siblings, which
# never import each other.
LAYERS = [
    {"cli", "inspection", "__init__"},
    {"tables"},
    {"datasets"},
    {"dask"},
    {"onnx"},
    {"scorecard", "pairs", "clicks", "search_engines"},
    {"plotting"},
    {"ensemble"},
    {"estimators"},
    {"base", "model_selection", "preprocessing", "theory"},
    {"_predictor"},
    {"engines"},
    {"objectives", "models", "solvers", "metrics"},
    {"bins", "pair_sums"},
    {"_validation", "_callbacks"},
    {"_protocols"},
    {"rows"},
    {"_arrays", "_imports", "_parallel", "_versions"},
    {"_release", "_warnings"},
]
DEPTH = {part: depth for depth, layer in enumerate(LAYERS) for part in layer}


def part_of(path):
    """Return the first name below the package: ``metrics`` for ``metrics/_pair_metrics.py``."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def nodes_of(path):
    """Return all nodes of the syntax tree of a file."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def nodes_in(folder, *kinds):
    """Yield (path below the package, node) for the nodes of some kinds in the files of a folder."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        name = str(path.relative_to(ROOT))
        yield from ((name, node) for node in nodes_of(path) if isinstance(node, kinds))


@cache
def imported_names(path):
    """Return the full dotted name of everything that a file imports, however deep inside."""
    package, names = ["sklearn_rank", *path.relative_to(ROOT).parent.parts], []
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            names += [f"{module}.{alias.name}" for alias in node.names]
    return names


def imported_parts(path):
    """Return the parts of this package that a file imports; ``__init__`` for the package itself."""
    names = [name.split(".") for name in imported_names(path)]
    inside = [name[1:] for name in names if name[0] == "sklearn_rank"]
    return {name[0] if name and name[0] in DEPTH else "__init__" for name in inside}


def test_every_source_file_has_a_place_in_the_order():
    assert {part_of(path) for path in SOURCES} <= set(DEPTH)


def wrong_imports(path):
    """Return the parts that a file imports from above its own, or from beside it."""
    own = part_of(path)
    if DEPTH[own] == 0:  # on top: may use everything
        return set()
    return {part for part in imported_parts(path) - {own} if DEPTH[part] <= DEPTH[own]}


def test_imports_only_go_down():
    wrong = {str(path.relative_to(ROOT)): wrong_imports(path) for path in SOURCES}
    assert {path: parts for path, parts in wrong.items() if parts} == {}


def parts_in_strings(path):
    """Return the parts of this package whose modules a file names in strings, to import them."""
    strings = [node.value for node in nodes_of(path) if isinstance(node, ast.Constant)]
    found = [re.fullmatch(r"sklearn_rank\.(\w+)[\w.]*", s) for s in strings if isinstance(s, str)]
    return {match[1] for match in found if match} & set(DEPTH)


def test_nothing_above_is_imported_by_a_string():
    named = {path: parts_in_strings(path) for path in SOURCES if DEPTH[part_of(path)] > 0}
    assert {part_of(path) for path in SOURCES if parts_in_strings(path)} >= {"__init__", "cli"}
    wrong = {
        (str(path.relative_to(ROOT)), part)
        for path, parts in named.items()
        for part in parts - {part_of(path)}
        if DEPTH[part] <= DEPTH[part_of(path)]
    }
    assert wrong == set()


OUTER = ("scorecard", "dask", "onnx", "search_engines", "cli", "plotting")
OF_DASK = {"_meta", "_meta_nonempty"}  # dask's own names for the columns of a collection


def private_uses(path):
    """Yield what a file uses of others that their names call private."""
    own = {node.name for node in nodes_of(path) if isinstance(node, ast.ClassDef)}
    own |= {"self", "cls", "super()", "cls()"}
    for node in nodes_of(path):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) not in own:
            yield node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith("attr"):
            yield ast.literal_eval(node.args[1]) if isinstance(node.args[1], ast.Constant) else ""


def test_the_outer_rooms_use_the_front_door():
    """No method or attribute that a ranker, or another class, calls private."""
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in SOURCES
        if part_of(path) in OUTER
        for name in private_uses(path)
        if name.startswith("_") and not name.endswith("__") and name not in OF_DASK
    }
    assert found == set()


def test_the_import_test_sees_imports():
    """Guard against a parser that finds nothing and so allows everything."""
    pairs = {(part_of(path), part) for path in SOURCES for part in imported_parts(path)}
    assert {("estimators", "base"), ("_predictor", "metrics"), ("base", "rows")} <= pairs
    assert {("models", "_protocols"), ("__init__", "estimators")} <= pairs


def file_of(name):
    """Return the file of a module of this package, or None."""
    target = ROOT.joinpath(*name.split(".")[1:])
    files = (target.with_suffix(".py"), target / "__init__.py")
    inside = name.startswith("sklearn_rank.")
    return next((file for file in files if inside and file.is_file()), None)


@cache
def files_imported(path):
    """Return the files of this package that a file imports, modules or names in them."""
    names = imported_names(path)
    found = {file_of(name) or file_of(name.rpartition(".")[0]) for name in names}
    return found - {None, path}


def test_no_circle_of_imports():
    graph = {path: files_imported(path) for path in SOURCES}
    assert sum(map(len, graph.values())) > 200  # guard against a parser that finds nothing
    order = list(TopologicalSorter(graph).static_order())  # CycleError names the circle
    assert len(order) == len(SOURCES)


# The folders of scorecard/ and the files beside them, from the top: as LAYERS, one level deeper.
CARD_LAYERS = [
    {"__init__"},
    {"scorecard"},
    {"exports"},
    {"changes"},
    {"explaining", "fitting", "pages"},
    {"forms", "monitoring", "risk", "search"},
    {"_adverse", "_card_checks", "_input", "_log", "_owner", "_texts"},
    {"card"},
    {"terms"},
]
CARD_DEPTH = {part: depth for depth, layer in enumerate(CARD_LAYERS) for part in layer}
BASICS = CARD_DEPTH["_owner"]  # files, not folders: these may import each other


def part_of_card(path):
    """Return the first name below scorecard/: ``search`` for ``search/_folds.py``."""
    return path.relative_to(ROOT / "scorecard").parts[0].removesuffix(".py")


def test_imports_between_the_folders_of_scorecard_only_go_down():
    files = [path for path in SOURCES if part_of(path) == "scorecard"]
    assert {part_of_card(path) for path in files} == set(CARD_DEPTH)
    uses = {
        (part_of_card(path), part_of_card(file))
        for path in files
        for file in files_imported(path)
        if part_of(file) == "scorecard"
    }
    assert {("fitting", "search"), ("changes", "pages"), ("_owner", "_input")} <= uses
    wrong = {
        (own, part)
        for own, part in uses
        if own != part and CARD_DEPTH[own] >= CARD_DEPTH[part]
        if not CARD_DEPTH[own] == CARD_DEPTH[part] == BASICS
    }
    assert wrong == set()


UNDERSCORE_IMPORTS = 3
"""At most so many modules with an underscore are imported by another folder."""


def test_modules_with_an_underscore_stay_in_their_folder():
    crossing = {
        f"{path.relative_to(ROOT)}: {file.relative_to(ROOT)}"
        for path in SOURCES
        for file in files_imported(path)
        if file.parent != ROOT and part_of(file) != part_of(path)
        if any(re.match("_(?!_)", part) for part in file.relative_to(ROOT).parts[1:])
    }
    assert len(crossing) <= UNDERSCORE_IMPORTS, crossing


def test_no_two_files_have_one_name():
    names = Counter(path.name for path in SOURCES if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_estimators_ask_parts_what_they_can_do():
    """No isinstance of an objective, a model or a loss, but only of strings among parameters."""
    calls = [
        (path, ast.unparse(node))
        for path, node in nodes_in("estimators", ast.Call)
        if getattr(node.func, "id", "") == "isinstance"
    ]
    assert calls
    assert [call for call in calls if not call[1].endswith(", str)")] == []


def test_every_objective_has_one_sign():
    """All have `value_and_gradient`; nothing returns masses where it means minus the gradient."""
    kinds = [thing for thing in vars(objectives).values() if inspect.isclass(thing)]
    functions_of_scores = [k for k in kinds if hasattr(k, "slope") or hasattr(k, "by_block")]
    states = {thing for thing in kinds if thing.__name__.endswith("State")}
    assert len(functions_of_scores) >= 8
    for kind in set(functions_of_scores) - states:
        assert callable(kind.value), kind
        assert callable(kind.value_and_gradient), kind
    names = [node.name for _, node in nodes_in(".", ast.FunctionDef)]
    assert [name for name in names if "and_masses" in name] == []


def test_no_private_import_from_other_packages():
    private = [
        (str(path.relative_to(ROOT)), name)
        for path in SOURCES
        for name in imported_names(path)
        if name.partition(".")[0] not in ("sklearn_rank", "__future__") and "._" in name
    ]
    assert private == []


OPTIONAL = [
    "pandas",
    "polars",
    "matplotlib",
    "rich",
    "skops",
    "pyarrow",
    "onnx",
    "skl2onnx",
    "openpyxl",
    "dask",
    "distributed",
    "jinja2",
    "array_api_compat",
    "torch",
]


def run_python(script):
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_ranker_imports_nothing_but_this_package_beside_scikit_learn():
    """What takes time: benchmarks/start.py. This counts modules, which a busy machine does too."""
    script = """
import sys
from sklearn.ensemble import HistGradientBoostingClassifier
before = set(sys.modules)
from sklearn_rank import RankBoost
new = set(sys.modules) - before
print(len(new), *sorted(name for name in new if not name.startswith("sklearn_rank")))
assert not any(name.startswith(("sklearn_rank.metrics", "sklearn_rank.theory")) for name in new)
"""
    count, *others = run_python(script).split()
    assert int(count) <= 95
    assert {name.partition(".")[0] for name in others} <= {"sklearn", "scipy", "numpy", "joblib"}


def test_the_help_of_the_command_does_not_wait_for_scikit_learn():
    script = """
import contextlib, io, sys
from sklearn_rank.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(["--help"])
print(*{"numpy", "scipy", "sklearn"} & set(sys.modules))
"""
    assert run_python(script) == ""


@pytest.mark.slow
def test_importing_loads_no_optional_dependency():
    """None, that is, besides those that scikit-learn loads on its own where they are installed.

    `sklearn_rank.export.onnx` is the exception: to import it is to register converters.
    """
    script = f"""
import importlib, sys, sklearn.datasets, sklearn.model_selection
before = set(sys.modules)
for module in ("sklearn_rank", "sklearn_rank.datasets", "sklearn_rank.cli"):
    importlib.import_module(module)
    print(module, sorted(set({OPTIONAL}) & set(sys.modules) - before))
"""
    assert run_python(script).splitlines() == [
        "sklearn_rank []",
        "sklearn_rank.datasets []",
        "sklearn_rank.cli []",
    ]


@pytest.mark.slow
def test_rankers_work_without_any_optional_dependency():
    script = f"""
import sys, warnings
class Absent:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] in {OPTIONAL}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
import sklearn.exceptions, sklearn_rank, sklearn_rank.datasets, sklearn_rank.cli
warnings.simplefilter("ignore", sklearn.exceptions.ConvergenceWarning)
data = sklearn_rank.datasets.make_queries(n_queries=3, random_state=0)
for name in sklearn_rank.__all__:
    ranker = getattr(sklearn_rank, name)(relevance="graded")
    ranker.fit(data.data, data.target, qid=data.qid).score(data.data, data.target, qid=data.qid)
from sklearn_rank.scorecard import Scorecard
Scorecard(p=1).fit(data.data, data.target > 0).predict_risk(data.data)
print("done")
"""
    assert run_python(script) == "done"


# Parts that meet inside an estimator, and the entry point of the command: no user calls them, so
# they are documented without an example.
INNER = ("rows.", "bins.", "pair_sums.", "solvers.", "models.", "cli.")


def modules():
    """Yield every module of the package."""
    yield sklearn_rank
    for info in pkgutil.walk_packages([str(ROOT)], "sklearn_rank."):
        if not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


def public_objects():
    """Return name -> object for every name in an ``__all__``, constants left out."""
    listing = [module for module in modules() if hasattr(module, "__all__")]
    named = {f"{m.__name__}.{name}": getattr(m, name) for m in listing for name in m.__all__}
    return {
        name: thing for name, thing in named.items() if inspect.isroutine(thing) or is_own(thing)
    }


def is_own(thing):
    """Whether something is a class of this package, and not an alias of types."""
    return inspect.isclass(thing) and thing.__module__.startswith("sklearn_rank")


def test_public_names_are_documented_with_an_example():
    for name, thing in public_objects().items():
        docstring = inspect.cleandoc(thing.__doc__ or "")
        assert docstring, name
        # A line continued in a raw string: no tool can dedent it.
        assert "\\\n" not in docstring, name
        if not name.removeprefix("sklearn_rank.").startswith(INNER):
            assert "\n>>> " in docstring.partition("\nExamples\n--------\n")[2], name


def test_every_name_of_the_package_is_there():
    assert [name for name in dir(sklearn_rank) if not hasattr(sklearn_rank, name)] == []
    assert {"rows", "bins", "RankBoost"} <= set(dir(sklearn_rank))


def test_the_estimators_are_among_the_public_names():
    assert {f"sklearn_rank.{name}" for name in sklearn_rank.__all__} <= set(public_objects())


def test_warnings_are_raised_by_the_helper_that_points_at_the_user():
    calls = [
        path
        for path, node in nodes_in(".", ast.Call)
        if getattr(node.func, "attr", "") == "warn" and ast.unparse(node.func) == "warnings.warn"
    ]
    assert calls == ["_warnings.py"]


# --- size ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def anatomy():
    """The script of the benchmarks that counts lines and calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        return importlib.import_module("anatomy")


def test_lines_of_code_are_counted(anatomy):
    source = (
        '"""About.\n\nMore."""\n\nx = """a\nb"""  # c\n# d\ndef f():\n    "Doc."\n    return x\n'
    )
    assert anatomy.code_lines(source) == 4


ON_TOP = {"scorecard", "cli", "tables", "dask", "onnx", "plotting", "theory", "datasets"} | {
    "clicks",
    "pairs",
    "search_engines",
}
"""Folders that no ranker imports: each is read on its own."""


def test_the_package_fits_a_head(anatomy):
    lines = anatomy.lines_by_folder()
    below = lines.total() - sum(lines[folder] for folder in ON_TOP)
    assert below <= 18_000
    assert max(lines[folder] for folder in ON_TOP - {"scorecard"}) <= 2_000
    assert lines["scorecard"] <= 6_500
    assert lines.total() <= 33_700


def test_a_default_fit_goes_through_little(anatomy):
    found = anatomy.anatomy_of("PNormPushRanker")
    # With scikit-learn 1.8 one class more is our own: it has no callbacks.
    limits = {"files": 23, "calls a round": 56, "frames": 10, "classes": 11, "own": 6}
    assert {name: found[name] for name in limits if not 2 < found[name] <= limits[name]} == {}


CHANGING = {
    *("FitTask", "CurvatureChange", "ClusterFit", "RankingObjective", "Bags", "History"),
    *("EarlyStopping", "Progress", "ListProblem", "Coefficients", "TreeDescent", "OnePart"),
    *("SmoothMarginStep", "RegularisedProblem", "OnlineDescent"),
}
"""Dataclasses that gather what a fit finds; displays keep what they have drawn."""


def test_other_dataclasses_are_frozen():
    changing = set()
    for _, node in nodes_in(".", ast.ClassDef):
        made = [ast.unparse(one) for one in node.decorator_list]
        if any("dataclass" in one and "frozen=True" not in one for one in made):
            changing.add(node.name)
    assert {name for name in changing if not name.endswith("Display")} == CHANGING


ARRAYS = re.compile(r"\b(Floats|Indices|Mask|Values|ndarray)\b")


def test_dataclasses_of_arrays_are_not_compared_by_their_fields():
    """Arrays can't say in one word whether they are equal: such objects are equal to themselves."""
    compared, n_made = set(), 0
    for _, node in nodes_in(".", ast.ClassDef):
        types = (ast.unparse(one.annotation) for one in node.body if isinstance(one, ast.AnnAssign))
        fields = [one for one in types if "Callable" not in one]
        made = [ast.unparse(one) for one in node.decorator_list]
        if any("dataclass" in one for one in made) and any(map(ARRAYS.search, fields)):
            n_made += 1
            compared |= {node.name for one in made if "dataclass" in one and "eq=False" not in one}
    assert n_made > 80
    assert compared == set()


def test_few_classes_are_called_rows():
    classes = [node.name for _, node in nodes_in(".", ast.ClassDef)]
    assert sum(name.endswith("Rows") for name in classes) <= 3


def test_docstrings_say_what_is_returned():
    """Guard the words: "Return the ...", where "Return what ..." says nothing."""
    kinds = (ast.FunctionDef, ast.ClassDef, ast.Module)
    texts = [ast.get_docstring(node, clean=False) for _, node in nodes_in(".", *kinds)]
    assert len(texts) > 2000
    assert [text for text in texts if text and text.startswith("Return what")] == []


def test_only_rows_and_dask_ask_how_many_processes_there_are():
    """Everybody else asks rows for totals, which on one process are those of the rows here."""
    words = re.compile(r"collective|is_shared_list|\.is_alone|ONE_PROCESS", re.IGNORECASE)
    outside = [path for path in SOURCES if part_of(path) not in ("rows", "dask")]
    inside = [path for path in SOURCES if part_of(path) in ("rows", "dask")]
    found = [path.name for path in outside if words.search(path.read_text(encoding="utf-8"))]
    assert found == []
    assert any(words.search(path.read_text(encoding="utf-8")) for path in inside)
