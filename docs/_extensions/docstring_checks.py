"""What the reference demands of the docstring of a public name, without Sphinx.

A docstring needs a description, an example and, where it shows a formula, a source. The section
References names it: a key of the bibliography, for the papers of `WITH_NUMBERS` with the place
("Rudin2009, sec. 2"), or the words "text not at hand" where the paper could not be read. Nobody has
to invent one. A formula that stands in no paper says "defined here" or "derived here". A constant
needs no more than a text below it. Parameters and attributes are described where they stand, not
by a reference ("As in ...") to another docstring.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import sklearn_rank

PACKAGE = Path(sklearn_rank.__file__).parent

MODULES = {
    "sklearn_rank": "Rankers",
    "sklearn_rank.clicks": "Clicks",
    "sklearn_rank.ensemble": "Ensembles",
    "sklearn_rank.metrics": "Metrics",
    "sklearn_rank.model_selection": "Splitting and selecting",
    "sklearn_rank.pairs": "Pairs",
    "sklearn_rank.plotting": "Displays",
    "sklearn_rank.inspection": "Notes on columns",
    "sklearn_rank.preprocessing": "Preprocessing",
    "sklearn_rank.datasets": "Data sets",
    "sklearn_rank.objectives": "Objectives",
    "sklearn_rank.solvers": "Solvers",
    "sklearn_rank.models.stumps": "Stumps",
    "sklearn_rank.engines": "Engines",
    "sklearn_rank.scorecard": "Scorecards",
    "sklearn_rank.export.onnx": "ONNX",
    "sklearn_rank.export.search_engines": "Models for search engines",
    "sklearn_rank.dask": "Dask",
    "sklearn_rank.theory": "Theory",
}
"""Public modules: `sklearn_rank._pair_sums` is not one, objectives have what a user needs of it."""

WITH_NUMBERS = ("Chen2012", "Freund2003", "Rudin2009", "RudinSchapire2009", "Tewari2015")
"""The papers that the package rests on: whoever cites one says where in it."""

PLACE = re.compile(
    r"\b(?:eqs?\.|secs?\.|Theorem|Lemma|Prop\.|Corollary|Tables?|Figure|Algorithm|Appendix)"
    r"\s*\(?[\dA-Z]|\btext not at hand\b"
)
OWN = re.compile(r"\b(?:defined|derived) here\b", re.I)
ELSEWHERE = re.compile(r"^ {4,}(?:As there\b|.*\b[Aa]s in `).*", re.M)
"""A line of a parameter's description that sends the reader to another docstring."""
SECTION = re.compile(r"^References\n-{3,}\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)", re.M | re.S)


def public_names() -> dict[str, tuple[str, Any]]:
    """Return each public name with its module and what it stands for."""
    found: dict[str, tuple[str, Any]] = {}
    for module in MODULES:
        imported = importlib.import_module(module)
        for name in imported.__all__:
            found.setdefault(name, (module, getattr(imported, name)))
    return found


def has_docstring(thing: Any) -> bool:
    """Whether something is a class or a function, and no constant."""
    return inspect.isclass(thing) or inspect.isroutine(thing)


def bibliography_keys(path: Path) -> set[str]:
    """Return the keys of a BibTeX file."""
    return set(re.findall(r"^@\w+\{(\w+),", path.read_text(encoding="utf-8"), re.M))


def constant_docstring(name: str) -> str:
    """Return the text below the assignment of a constant, where the package makes it."""
    for file in sorted(PACKAGE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        body = ast.parse(text).body if name in text else []
        for made, below in pairwise(body):
            targets = getattr(made, "targets", [getattr(made, "target", None)])
            if [name] != [getattr(target, "id", None) for target in targets]:
                continue
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                return inspect.cleandoc(str(below.value.value))
    return ""


def gaps(keys: set[str]) -> list[str]:
    """Say what is missing from the docstrings of public names."""
    missing = []
    for name, (module, thing) in public_names().items():
        if has_docstring(thing):
            found = list(docstring_gaps(inspect.getdoc(thing) or "", keys))
        else:
            found = [] if constant_docstring(name) else ["no text below it"]
        missing += [f"{module}.{name}: {gap}" for gap in found]
    return missing


def docstring_gaps(text: str, keys: set[str]) -> Iterator[str]:
    """Yield what is missing from one docstring, given the keys of the bibliography."""
    if not text:
        yield "no docstring"
    if not re.search(r"^Examples\n-{3,}\n", text, re.M) or ">>> " not in text:
        yield "no example"
    for line in ELSEWHERE.findall(text):
        yield f"described elsewhere: {line.strip()}"
    section = SECTION.search(text)
    references = section[1] if section else ""
    # Key, what follows it up to the next key, key, ...
    _, *parts = re.split(rf"\b({'|'.join(sorted(keys))})\b", references)
    cited = dict.fromkeys(parts[::2], "")
    for key, said in zip(parts[::2], parts[1::2], strict=True):
        cited[key] += said
    shows_formula = ".. math::" in text or ":math:" in text
    if shows_formula and not cited and not OWN.search(references):
        yield "a formula, but no source"
    for key, said in cited.items():
        if key in WITH_NUMBERS and not PLACE.search(said):
            yield f"{key} is cited, but not where in it"
