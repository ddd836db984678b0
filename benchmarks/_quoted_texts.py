"""What of README, pages and docstrings looks like a measured figure, and what is left out."""

import ast
import functools
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCANNED = (
    *("README.md", "docs/*.md", "docs/guide/*.md", "docs/examples/*.py", "sklearn_rank/**/*.py"),
    *("benchmarks/_page_texts.py", "benchmarks/make_page.py"),
)
MADE = ("docs/benchmarks.md", "docs/README.md", "docs/changelog.md")
"""Made of `make_page.py`, without figures, and the history of the package."""

MARKUP = re.compile(
    r"^ *(?P<fence>```|~~~).*?^ *(?P=fence) *$"
    r"|<!--.*?-->|<pre.*?</pre>"
    r"|\$\$.*?\$\$|\$[^$]{1,300}?\$"
    r"|``[^`]*``|`[^`]{0,200}`"
    r"|(?<=\])\([^)]*\)"
    r"|^\.\. (?:math|code-block|image|plot)::.*?(?=^\S|\Z)"
    r"|^(?:References|Examples)\n-+\n.*?(?=^\S[^\n]*\n-+\n|\Z)"
    r"|^ *(?:>>>|\.\.\. ).*?(?=\n\s*\n|\Z)",
    re.M | re.S,
)
"""Code, formulas, addresses, references and examples: what the doc tests run, or no figures."""


def spaced(words: str) -> str:
    """Return a pattern of words between which there may be any white space."""
    return r"\s+".join(re.escape(word) for word in words.split(" "))


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text.replace(" ", r"\s+"))


NUMBER = r"(?:\d[\d,]*\d|\d)?(?:\.\d+|(?<=\d))(?:e-?\d+)?"
UNIT = (
    r"(?:%|percent|per cent|[mµn]?s|(?:micro|milli|nano)?seconds?|minutes?|hours?|days?"
    r"|[kMG]i?B|bytes|times|points?|±)"
)
COUNTED = r"(?:\d|(?:two|three|four|five|six|seven|eight|nine|ten|twelve|twenty)\b)"
RATIO = (
    r"(?:twice|half|(?:a|one|two) (?:third|quarter|fifth|sixth|seventh|eighth|ninth|tenth|twelfth"
    r"|twentieth|hundredth)s?|(?:two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty"
    r"|fifty|seventy|hundred|thousand) times)"
)
TRIED = r"(?:cases|tests|faults|findings|defects|failures|crashes)"
COST = r"(?:time|times|long|longer|fast|faster|slow|slower|memory|processor|costs?|seconds)"
SPAN = (
    r"(?:(?:half|about|under|over) an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve"
    r"|fifteen|twenty|thirty|forty|fifty|sixty) (?:(?:milli|micro)?seconds?|minutes?|hours?)"
)
FIGURE = _pattern(
    rf"(?<![\w.,/^])[-+−±]?(?:"
    rf"(?:\d[\d,]*)?\.\d+(?:e-?\d+)?|\d+e-?\d+"
    rf"|{NUMBER}(?=\s*{UNIT}(?![\w]))"
    rf"|{NUMBER}(?=(?: to |[-–]){NUMBER}\s*{UNIT}(?![\w]))"
    rf"|\d[\d,]*(?= of (?:the |its |our |all |){COUNTED})"
    rf"|(?<=\|\x20)\d[\d,]*(?=\x20\|)"
    rf"|\d[\d,]*(?= (?:planned |other |quick |nightly |slow )?{TRIED}\b)"
    rf")(?![\w]|\.\d)"
    rf"|\b{RATIO}(?= (?:(?:as|the|of|that|its|more|less) ){{0,2}}(?:\w+ )?{COST}\b"
    rf"| (?:of (?:it|that|theirs)|(?:or|and) (?:less|more))\b)"
    rf"|\b{SPAN}\b"
)
"""A number with a decimal point, a power of ten, a unit, or a whole that it is a part of; a number
alone in the cell of a table; a number of tests, cases or faults; a ratio in words beside words of
time or memory; minutes in words."""

LEFT_OUT = {
    "versions": _pattern(
        r"(?:Python|scikit-learn|NumPy|SciPy|pandas|LightGBM|XGBoost|CatBoost|PMML|version|opset)"
        r" \d[\d.]*(?: (?:to|or|and) \d[\d.]*)?"
    ),
    "dates, laws and guidelines": _pattern(
        r"\d{4}-\d\d(?:-\d\d)?|\b(?:CFR )?(?:1002|1607)\.\d+(?:\(\w\))*"
    ),
    "equations, theorems, sections, tables and figures of papers": _pattern(
        r"(?:sec\.|eq\.|Eq\.|Lemmas?|Theorems?|Prop\.|Proposition|Corollary|Tables?|Figures?"
        r"|numbers) \(?\d[\d.]*\)?(?:,?\s*(?:to|and|,) \(?\d[\d.]*\)?)*|\(\d\.\d+\)"
    ),
    "levels of intervals": _pattern(
        r"95 % (?:confidence )?intervals?|intervals? of 95 %|nominal 95 %|confidence of 0\.95"
    ),
    "where the top of a list ends": _pattern(
        r"(?:5|10|1) % of (?:the |all )?(?:negatives|good|list|rows|applications)\w*"
        r"|(?:false positive )?rate of (?:5 %|0\.1)|partial AUC (?:up to|at|of) (?:5|10) %"
        r"|area up to 5 %|@0\.\d+"
    ),
}
"""What is no measured figure, by kind; further phrases of a page stand in its file as `given`.

Integers without a unit are left out too unless they stand alone in a cell, are a part of another or
count tests: most are parameters, numbers of rows and ranks.
"""
OF_DOCSTRINGS = {
    "ranges and defaults of parameters": _pattern(
        r"(?:float|int|str|scalar)[^.]{0,60} in [\[(][^\])]*[\])]|default=\([^)]*\)"
        r"|default=[^\s,;]+|[\[(]-?[\d.]+, (?:-?[\d.]+|inf)[\])]"
    ),
}
"""What else is left out in docstrings, where no interval is quoted in brackets."""


def pages() -> list[str]:
    """Return the files that are looked at."""
    found = {
        path.relative_to(ROOT).as_posix() for pattern in SCANNED for path in ROOT.glob(pattern)
    }
    return sorted(found - set(MADE))


@functools.cache
def texts(name: str) -> list[str]:
    """Return the texts of a file: a page, docstrings, or the words that make pages."""
    text = (ROOT / name).read_text(encoding="utf-8")
    if not name.endswith(".py"):
        return [text]
    tree = ast.parse(text)
    if name.startswith("benchmarks/"):
        strings = [one.value for one in ast.walk(tree) if isinstance(one, ast.Constant)]
        return [one for one in strings if isinstance(one, str) and " " in one]
    found = [_unindented(one) for one in _docstrings(tree)]
    if name.startswith("docs/"):  # the text of the gallery
        found += ["\n".join(re.findall(r"^# ?(.*)$", one, re.M)) for one in _cells(text)]
    return found


def _cells(text: str) -> list[str]:
    """Return the blocks of comments of a script of the gallery."""
    return re.findall(r"^# %%.*\n((?:#.*\n)+)", text, re.M)


def _docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield docstrings, those of attributes too."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for one in body if isinstance(body, list) else []:
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                yield str(one.value.value)


def _unindented(docstring: str) -> str:
    first, _, rest = docstring.partition("\n")
    return f"{first.lstrip()}\n{textwrap.dedent(rest)}"


def prose(text: str) -> str:
    """Return a text of equal length in which blanks stand for code, formulas and examples."""
    return MARKUP.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def candidates(name: str) -> Iterator[tuple[int, str, re.Match[str]]]:
    """Yield what looks like a measured figure: the number of its text, the text and the match."""
    for index, text in enumerate(texts(name)):
        words = prose(text)
        kinds = LEFT_OUT | (OF_DOCSTRINGS if name.endswith(".py") else {})
        out = [one.span() for kind in kinds.values() for one in kind.finditer(words)]
        for found in FIGURE.finditer(words):
            if not any(low <= found.start() and found.end() <= high for low, high in out):
                yield index, text, found
