"""The reference is complete: what it demands of a docstring, and that all papers are listed."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
from test_architecture import modules

from sklearn_rank._core.validation import Number

ROOT = Path(__file__).parents[1]
EXTENSIONS = ROOT / "docs" / "_extensions"
KEY = re.compile(r"\b[A-Z][A-Za-z]+(?:19|20)\d\d\b")
KEYS = {"Efron1993", "Rudin2009", "RudinSchapire2009"}


def load(name):
    """Import a module from where Sphinx finds it; those loaded here need no Sphinx."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXTENSIONS)
        return importlib.import_module(name)


checks, links = load("docstring_checks"), load("docstring_links")


def keys_of(*folders_and_endings):
    files = [file for name, end in folders_and_endings for file in (ROOT / name).rglob(end)]
    assert files
    return set(KEY.findall("\n".join(file.read_text(encoding="utf-8") for file in files)))


BIBLIOGRAPHY = checks.bibliography_keys(ROOT / "docs" / "references.bib")


def docstring(formula="", references="", example="    >>> 1 + 1\n    2\n"):
    text = f"Do it.\n\n{formula}\n\n"
    if references:
        text += f"References\n----------\n{references}\n\n"
    return text + f"Examples\n--------\n{example}" if example else text


def gaps(**parts):
    return list(checks.docstring_gaps(docstring(**parts), KEYS))


@pytest.mark.slow
def test_every_public_docstring_is_complete():
    assert checks.gaps(BIBLIOGRAPHY) == []


def test_the_check_sees_the_public_names():
    names = {f"{module}.{name}" for name, (module, _) in checks.public_names().items()}
    assert {"sklearn_rank.RankBoost", "sklearn_rank.metrics.auc_score"} <= names
    assert "sklearn_rank.objectives.PairLoss" in names
    assert len(names) > 60


def documented_defaults():
    """Yield the name of each parameter with its default and what the docstring says of it."""
    for name, (_, thing) in checks.public_names().items():
        parameters = inspect.signature(thing).parameters if callable(thing) else {}
        for line in re.finditer(
            r"^(\w+) : .*?default=(.+?)\.?$", inspect.getdoc(thing) or "", re.M
        ):
            if line[1] in parameters and not re.fullmatch("[A-Z_]+", line[2]):  # a constant
                yield f"{name}: {line[1]}", parameters[line[1]].default, line[2]


def test_defaults_are_those_of_the_docstrings():
    found = list(documented_defaults())
    assert len(found) > 100
    for name, default, text in found:
        is_number = isinstance(default, float)
        same = float(text) == default if is_number else text in (repr(default), f'"{default}"')
        assert same, name


RANGE = re.compile(r"(int|float) (?:in ([\[(]\S+, \S+[\])])|>= ([\d.]+)|> ([\d.]+))")
SEVERAL = {"BoostedTreesRanker._allowed: p"}
"""Infinity is refused with a sentence of its own."""


def things_in(module):
    """Return the classes and functions that a module defines."""
    things = vars(module).values()
    return [
        one
        for one in things
        if (inspect.isclass(one) or inspect.isfunction(one)) and one.__module__ == module.__name__
    ]


def allowed_numbers(module):
    """Yield the place, name and constraint of each parameter that must be a number."""
    for of in (module, *filter(inspect.isclass, things_in(module))):
        for place, table in vars(of).items():
            for name, constraint in table.items() if isinstance(table, dict) else ():
                if isinstance(constraint, Number):
                    yield f"{of.__name__}.{place}: {name}", name, constraint


def documented_ranges(module, name):
    """Return the ranges that the docstrings of a module give a parameter."""
    things = [*things_in(module)]
    things += [one for thing in things if inspect.isclass(thing) for one in vars(thing).values()]
    texts = [inspect.getdoc(one) or "" for one in things if callable(one)]
    lines = [line for text in texts for line in re.findall(rf"(?m)^{name} : (.*)$", text)]
    found = [match for line in lines if (match := RANGE.search(line))]
    ranges = [one[2] or (f"[{one[3]}, inf)" if one[3] else f"({one[4]}, inf)") for one in found]
    return {f"{one[1]} in {text}" for one, text in zip(found, ranges, strict=True)}


def test_numbers_are_allowed_in_the_ranges_of_the_docstrings():
    every, n_documented = list(modules()), 0
    for module in every:
        package = module.__name__.rpartition(".")[0]
        siblings = [one for one in every if one.__name__.rpartition(".")[0] == package]
        for place, name, constraint in allowed_numbers(module):
            told = documented_ranges(module, name)
            told = told or set().union(*(documented_ranges(one, name) for one in siblings))
            allowed = re.sub("^an? ", "", str(constraint)).partition(" or ")[0]
            if told and place not in SEVERAL:
                n_documented += 1
                assert allowed in told, place
    assert n_documented > 50


def documented_parameters():
    """Yield the name of what is public with its parameters and those of its docstring."""
    for name, (_, thing) in checks.public_names().items():
        is_class = inspect.isclass(thing)
        methods = vars(thing).items() if is_class else ()
        for of, one in [("", thing), *((f".{key}", one) for key, one in methods if key[0] != "_")]:
            text = inspect.getdoc(one) if callable(one) else ""
            section = re.search(r"(?ms)^Parameters\n-+\n(.*?)(?:\n\n\w.*\n--|\Z)", text or "")
            if section:
                heads = re.findall(r"^(\S.*?) : ", section[1], re.M)
                told = [word.strip().lstrip("*") for head in heads for word in head.split(",")]
                yield name + of, [k for k in inspect.signature(one).parameters if k != "self"], told


def test_the_parameters_of_the_docstrings_are_those_there_are():
    found = list(documented_parameters())
    assert len(found) > 100
    for name, parameters, told in found:
        assert sorted(told) == sorted(parameters), name


def test_a_gap_is_reported_with_its_name(monkeypatch):
    def lacking():
        r"""Return the square, :math:`x^2`."""

    monkeypatch.setattr(checks, "public_names", lambda: {"lacking": ("module", lacking)})
    assert checks.gaps(KEYS) == [
        "module.lacking: no example",
        "module.lacking: a formula, but no source",
    ]


@pytest.mark.slow
def test_a_constant_needs_a_text_below_it(monkeypatch):
    assert "`MarginLoss`" in checks.constant_docstring("MARGIN_LOSSES")
    assert checks.constant_docstring("NO_SUCH_NAME") == ""
    monkeypatch.setattr(checks, "public_names", lambda: {"NO_SUCH_NAME": ("module", 3)})
    assert checks.gaps(KEYS) == ["module.NO_SUCH_NAME: no text below it"]


def test_an_empty_docstring_is_reported():
    assert "no docstring" in list(checks.docstring_gaps("", KEYS))


FORMULA = "The square, :math:`x^2`."
UNPLACED = ["Rudin2009 is cited, but not where in it"]
PLACES = ["sec. 2", "eq. (3.7)", "eq. 12", "Theorem 1", "Figure 1", "Tables 1 and 2", "Appendix C"]
GAPS = [
    ({}, []),
    ({"example": ""}, ["no example"]),
    ({"example": "    See `fit`.\n"}, ["no example"]),
    ({"formula": FORMULA}, ["a formula, but no source"]),
    ({"formula": ".. math:: x^2"}, ["a formula, but no source"]),
    ({"formula": FORMULA, "references": "Efron1993 (the square)."}, []),
    ({"formula": FORMULA, "references": "Defined here."}, []),
    ({"references": "Rudin2009 (what)."}, UNPLACED),
    ({"references": "Rudin2009 (what). RudinSchapire2009, eq. 12 (step)."}, UNPLACED),
    ({"references": "Rudin2009, text not at hand (what)."}, []),
    *(({"references": f"Rudin2009, {place} (what)."}, []) for place in PLACES),
]


@pytest.mark.parametrize(("parts", "expected"), GAPS)
def test_examples_sources_and_places_are_asked_for(parts, expected):
    assert gaps(**parts) == expected
    assert gaps(formula=FORMULA, references="Somebody, *A paper*, 1993.") != []


@pytest.mark.parametrize("description", ["As in `fit`.", "As there.", "Rows, as in `fit`."])
def test_a_parameter_is_described_where_it_stands(description):
    text = f"Return it.\n\nParameters\n----------\nx : int, default=1\n    {description}\n"
    assert list(checks.docstring_gaps(text, KEYS)) == [
        "no example",
        f"described elsewhere: {description}",
    ]


def test_every_key_that_is_cited_is_in_the_bibliography():
    cited = keys_of(("sklearn_rank", "*.py"), ("docs/guide", "*.md"))
    assert "Rudin2009" in cited
    assert cited <= BIBLIOGRAPHY


def test_every_entry_of_the_bibliography_is_cited_in_the_package():
    assert keys_of(("sklearn_rank", "*.py")) >= BIBLIOGRAPHY


RANK_BOOST = ":obj:`RankBoost <sklearn_rank.RankBoost>`"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Rudin2009, sec. 2 (sum).", ":cite:t:`Rudin2009`, sec. 2 (sum)."),
        ("RudinSchapire2009, eq. 12.", ":cite:t:`RudinSchapire2009`, eq. 12."),
        ("As in `RankBoost`.", f"As in {RANK_BOOST}."),
        ("See `metrics.heights`.", "See :obj:`metrics.heights <sklearn_rank.metrics.heights>`."),
        ("A `tol` of one's own", "A ``tol`` of one's own"),
        ("The attribute coef_, fitted", r"The attribute coef\_, fitted"),
        ('such as "ndcg@10"', r'such as "ndcg\@10"'),
        ("``Rudin2009 coef_ a@b`` stays", "``Rudin2009 coef_ a@b`` stays"),
        (":math:`f_i` and :class:`RankBoost`", ":math:`f_i` and :class:`RankBoost`"),
    ],
)
def test_docstrings_are_linked(line, expected):
    assert links.linked([line], KEYS) == [expected]


def test_examples_stay_as_they_are():
    example = [">>> 'coef_ '", "'coef_ '", "Rudin2009", ""]
    done = links.linked([*example, "Rudin2009"], KEYS)
    assert done == [*example, ":cite:t:`Rudin2009`"]
