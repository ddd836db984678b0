"""How a table is read, and the roles of its columns.

A line of a docstring that begins with two dashes describes the field of that name, as an option of
the command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """How the text of a file is read.

    --decimal MARK  Decimal mark of numbers, . or , (default: found in the file).
    --sep MARK  What separates cells, such as ; or the word tab; default: found in the file.
    --encoding NAME  Encoding of text, such as latin-1.
    --no-header  The first line holds data; columns are called c1, c2, and so on.
    --missing VALUE  Text or number that means missing, such as unknown or -999.
    --skip-unlabelled  Leave out rows that need a target and have none.
    """

    decimal: str | None = None
    sep: str | None = None
    encoding: str | None = None
    no_header: bool = False
    missing: Sequence[str] = ()
    skip_unlabelled: bool = False


@dataclass(frozen=True)
class TableOptions:
    """A table to learn from, and the roles of its columns.

    --target COL  Column that says what belongs on top.
    --qid COL  Column with the query of each row; default: one list.
    --weight COL  Column of row weights for fitting, 2 being the row twice; metrics count rows once.
    --positive VALUE  Class that belongs on top; default: the one whose name
        says so (fraud, yes, 1, ...), else the greater, with a note.
    --relevance KIND  binary (default): two classes; graded: numbers of which more is better.
    --drop COL,...  Columns not to use.
    --keep COL,...  Columns to use that would be left out, such as row numbers.
    --category COL,...  Columns of numbers that are codes, not amounts.
    --time COL  Column of dates or numbers: folds are periods, each tested on models of earlier
        rows. It is not a feature unless --keep names it.
    --embargo N  Rows up to N before a period are not learned from; of dates in days; default: 0.
    --group COL  Column of customers or the like, whose rows stay in one fold. It is not a feature
        unless --keep names it.
    --seed N  Random seed; default: 0.
    """

    data: str | None = None
    target: str | None = None
    qid: str | None = None
    weight: str | None = None
    positive: str | None = None
    relevance: str = "binary"
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()
    category: Sequence[str] = ()
    time: str | None = None
    embargo: float = 0.0
    group: str | None = None
    reading: Reading = Reading()
    seed: int = 0
