"""Sphinx extension: commands and their options, read from the command line itself.

``command`` describes a command and its own options, ``shared-options`` those that several commands
have, once. Neither can go stale: both read what ``sklearn-rank COMMAND --help`` prints.
"""

from collections.abc import Iterable
from typing import Any

import click
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from sklearn_rank.cli._parser import commands  # noqa: PLC2701 - what --help prints

SEVERAL = 3
"""An option of this many commands is described once for all of them."""


def options_of(command: str) -> list[click.Option]:
    """Return the options of a command."""
    return [one for one in commands.commands[command].params if isinstance(one, click.Option)]


def shared() -> dict[tuple[str, str], list[str]]:
    """Return the commands of each option, by its name and help, where they are several."""
    homes: dict[tuple[str, str], list[str]] = {}
    for command in commands.commands:
        for option in options_of(command):
            homes.setdefault((option.opts[-1], option.help or ""), []).append(command)
    return {key: found for key, found in homes.items() if len(found) >= SEVERAL}


def usage(command: str) -> str:
    """Return the words of a command: its arguments, and the options that it needs."""
    words = ["sklearn-rank", command]
    for one in commands.commands[command].params:
        if isinstance(one, click.Argument):
            name = (one.name or "").upper()
            words.append(name if one.required else f"[{name}]")
        elif one.required:
            words.append(f"{one.opts[0]} {one.metavar}")
    return " ".join([*words, "[options]"])


def paragraphs(text: str) -> list[nodes.paragraph]:
    """Return the help of a command; what follows the word Example is code."""
    found = []
    for block in text.split("\n\n"):
        before, example, code = " ".join(block.split()).partition("Example: ")
        found.append(nodes.paragraph("", before + example))
        if example:
            found[-1] += nodes.literal(code, code)
    return found


def described(options: Iterable[tuple[click.Option, list[str]]]) -> nodes.definition_list:
    """Return a list of options, each with its help and, where given, its commands."""
    items = nodes.definition_list()
    for option, homes in options:
        words = ", ".join(option.opts) + (f" {option.metavar}" if option.metavar else "")
        term = nodes.term("", "", nodes.literal(words, words))
        if homes:
            term += nodes.Text(" ")
            term += nodes.emphasis("", ", ".join(homes))
        about = (option.help or "") + (" Required." if option.required else "")
        definition = nodes.definition("", nodes.paragraph("", about))
        items += nodes.definition_list_item("", term, definition)
    return items


class Command(Directive):
    """What a command does, its usage, and the options that it alone has."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the description."""
        name = self.arguments[0]
        apart = shared()
        own = [one for one in options_of(name) if (one.opts[-1], one.help or "") not in apart]
        words = usage(name)
        parts: list[nodes.Node] = [nodes.literal_block(words, words, language="none")]
        parts += paragraphs(commands.commands[name].help or "")
        return [*parts, described((one, []) for one in own)] if own else parts


class SharedOptions(Directive):
    """The options of several commands, and which these are."""

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        found = {
            (one.opts[-1], one.help or ""): one
            for name in commands.commands
            for one in options_of(name)
        }
        return [described((found[key], homes) for key, homes in shared().items())]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives."""
    app.add_directive("command", Command)
    app.add_directive("shared-options", SharedOptions)
    return {"parallel_read_safe": True}
