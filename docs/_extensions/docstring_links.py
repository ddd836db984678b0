"""Citations and links in docstrings that are written to be read in a terminal, without Sphinx."""

import re

from docstring_checks import public_names

LITERAL = re.compile(r"(``.*?``|:\w[\w:]*:`[^`]*`)")
"""Spans that stay as they are: code, and what has a role already."""

FITTED = re.compile(r"(?<![`\\\w])([A-Za-z]\w{2,})_(?=[,.;:)\s]|$)")
"""A name with an underscore at its end, which reStructuredText takes for a link."""

AT = re.compile(r"(?<=\w)@(?=\w)")
"""In the name of a metric, "ndcg@10", which reStructuredText takes for an address."""

BACKTICKS = re.compile(r"(?<![`:\w])`([A-Za-z_][\w.]*)`(?![`_\w])")


def linked(lines: list[str], keys: set[str]) -> list[str]:
    """Turn keys of the bibliography into citations, and names in backticks into links."""
    homes = {}
    for name, (module, _) in public_names().items():
        full = f"{module}.{name}"
        homes |= dict.fromkeys((name, full, full.removeprefix("sklearn_rank.")), full)
    key = re.compile(rf"(?<![\w<{{])({'|'.join(sorted(keys))})\b(?!}})")

    def refer(found: re.Match[str]) -> str:
        word = found[1]
        return f":obj:`{word} <{homes[word]}>`" if word in homes else f"``{word}``"

    def edit(text: str) -> str:
        text = AT.sub(r"\@", FITTED.sub(r"\1\\_", text))
        return BACKTICKS.sub(refer, key.sub(r":cite:t:`\1`", text))

    done, in_example = [], False
    for line in lines:
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        # Every second part is literal.
        parts = ["", line] if in_example else LITERAL.split(line)
        done.append("".join(part if n % 2 else edit(part) for n, part in enumerate(parts)))
    return done
