"""Make the pages of the benchmarks of the reports that the scripts have written with --json.

    python benchmarks/make_page.py            # of the reports in docs/benchmarks/
    python benchmarks/make_page.py --draw     # and their figures, where no script draws them

The folder holds one JSON file for each report, the pictures and the pages: one for each report,
one of the targets, and docs/benchmarks.md with a line for each.
"""

import argparse
from html import escape
from pathlib import Path

from _page_texts import GROUPS, PAGES, PICTURES
from _report import Cell, Report, Table, machine_line, shown, table_in_pipes, targets_table

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"

INTRODUCTION = """# Benchmarks

![Where we win and where we lose: for each data set, how many points more of the positives each
model finds before 5 % of the negatives than HistGradientBoosting as it comes, with 95 %
intervals.](benchmarks/as_they_come.png)

**Where we win, where we lose.** On generated loan applications, where the features mostly add up
and the positives are rare, boosted stumps find most, whoever makes them. As they come,
`PNormPushRanker` finds 5 points more of the bad payers than scikit-learn's HistGradientBoosting
before 5 % of the good ones; HistGradientBoosting with trees of depth 1 finds another .8 more (.1 to
1.4), and after the same search the two differ by .4 (-.6 to 1.3). On MAGIC, where features
interact and half a data set is 9,510 rows, our stumps lose by 11 to 13 points and those of
HistGradientBoosting by 20; `BoostedTreesRanker` is level with it as it comes. On Ionosphere the
kernel ranker is first, on breast cancer logistic regression, but on tables so small chance may
decide. Over the whole list (AUC), after an equal search, boosted rankers and boosted classifiers of
the same depth differ in the third decimal. A fit over all pairs costs about as much as a
classifier's: what is counted are rows, not pairs. The targets that were set before measuring,
reached or not, are on
[a page of their own](benchmarks/targets.md).

The pages are made by `benchmarks/make_page.py` from what the scripts in `benchmarks/` have
measured; `benchmarks/README.md` says what each does and how. Times belong to the machine named at
the end of a page: compare ratios, and run the scripts on yours.
"""


def index(reports: dict[str, Report]) -> str:
    """Return the page with a line for each report, and the order of the pages."""
    parts = [INTRODUCTION.strip()]
    for group, names in GROUPS.items():
        lines = [
            f"- [{PAGES[name].title}](benchmarks/{name}.md): {PAGES[name].line}"
            for name in names
            if name in reports
        ]
        parts += [f"## {group}", "\n".join(lines)]
    known = "[Targets](benchmarks/targets.md): figures that were set before measuring"
    parts += ["## Targets", f"- {known}; {reached(reports)}"]
    order = [f"benchmarks/{name}" for name in (*ordered(reports), "targets")]
    parts.append("\n".join(["```{toctree}", ":hidden:", "", *order, "```"]))
    absent = [PAGES[name].title for name in PAGES if name not in reports]
    if absent:
        parts.append(f"Scripts whose reports are not here: {'; '.join(absent)}.")
    return "\n\n".join(parts) + "\n"


def ordered(reports: dict[str, Report]) -> list[str]:
    """Return the names of the reports in the order of the index."""
    return [name for names in GROUPS.values() for name in names if name in reports]


def reached(reports: dict[str, Report]) -> str:
    """Say how many targets are reached."""
    verdicts = [verdict for report in reports.values() for verdict in report.verdicts]
    n_reached = sum(verdict.words == "reached" for verdict in verdicts)
    return f"{n_reached} of {len(verdicts)} are reached"


def targets(reports: dict[str, Report]) -> str:
    """Return the page of the targets, report by report, those that were not reached first."""
    parts = [
        "# Targets",
        "A target is a figure that was set before it was measured. Of the targets of these pages "
        f"{reached(reports)}; those that are not stand first in each section. What claims of "
        "papers, damaged files, soaks and long runs were to reach is on [Testing the papers' "
        "claims](../guide/claims.md) and [How it is tested](../how_it_is_tested.md).",
    ]
    for name in ordered(reports):
        if reports[name].verdicts:
            parts.append(f"## {PAGES[name].title}")
            parts.append(table_in_pipes(measured_first(reports[name])))
    return "\n\n".join(parts) + "\n"


def measured_first(report: Report) -> Table:
    """Return the targets of a report with what was measured in the first column."""
    verdicts = sorted(report.verdicts, key=lambda verdict: verdict.words == "reached")
    rows: list[list[Cell]] = []
    for label, limit, measured, words in targets_table(verdicts).rows:
        is_reached, text = words == "reached", shown(measured)
        if isinstance(measured, float) and not is_reached and text == str(limit).split()[1]:
            text = f"{measured:.7g}"  # it would look like the limit
        rows.append([text, limit, "" if is_reached else f"**{words}**", label])
    return Table("", ["measured", "limit", "", "target"], rows)


def page(name: str, report: Report) -> str:
    """Return the page of one report: an opening, figures, and tables that open on demand."""
    text = PAGES[name]
    parts = [f"# {text.title}", text.opening]
    parts += [
        f"![{about}.]({picture}.png)"
        for picture, about in PICTURES.get(name, {}).items()
        if (FOLDER / f"{picture}.png").exists()
    ]
    parts.append(report.settings)
    parts += [folded(table) for table in report.tables]
    return "\n\n".join([*parts, *report.notes, machine_line(report.machine)]) + "\n"


def folded(table: Table) -> str:
    """Return a table that a click on its title opens."""
    head = f"<details><summary>{escape(table.title, quote=False)}</summary>"
    return "\n\n".join([head, table_in_pipes(table), *filter(None, [table.note]), "</details>"])


def evidence(report: Report) -> str:
    """Return short tables for the page on choosing a ranker."""
    parts = [f"**{table.title}**\n\n{table_in_pipes(table)}" for table in report.tables]
    return "\n\n".join([*parts, report.settings]) + "\n"


def powers(report: Report) -> str:
    """Return what p does to boosted trees and to a linear model, for the pages that say so."""
    found = next(table for table in report.tables if table.title.startswith("What p does"))
    engine = found.title.rpartition(", ")[2]
    return table_in_pipes(found) + f"\n\nTrees of {engine}. {report.settings}\n"


def sizes(report: Report) -> str:
    """Return what p does to models of different sizes, all data sets in one table."""
    rows = [[found.title, *row] for found in report.tables for row in found.rows]
    joined = Table("", ["data", *report.tables[0].columns], rows)
    return table_in_pipes(joined) + f"\n\n{report.settings}\n"


CARDS = ("small card without pairs", "small card with pairs", "FasterRisk", "full card")
EBM = "EBM, main effects"


def cards(report: Report) -> str:
    """Return AUC and pAUC5 of cards and of EBM in one table."""
    auc, top = (
        next(one for one in report.tables if one.title == f"{name}, mean over the splits")
        for name in ("AUC", "pAUC5")
    )
    columns = (*CARDS, EBM)
    places = [auc.columns.index(name) for name in columns]
    rows: list[list[Cell]] = [
        [one[0], *(f"{one[place]} / {other[place]}" for place in places)]
        for one, other in zip(auc.rows, top.rows, strict=True)
    ]
    table = table_in_pipes(Table("", ["data", *columns], rows))
    return f"{table}\n\n{report.settings}\n"


def counts(report: Report) -> str:
    """Return what the cases of a fuzzing script gave."""
    return table_in_pipes(report.tables[0]) + f"\n\n{report.settings}\n"


def all_tables(report: Report) -> str:
    """Return all tables of a report but that of targets, with their titles, and its settings."""
    tables = "\n\n".join(f"{table.title}:\n\n{table_in_pipes(table)}" for table in report.tables)
    return f"{report.settings}\n\n{tables}\n"


EXCERPTS = {
    "choosing.md": ("as_they_come", evidence),
    "trees_p.md": ("trees_lists", powers),
    "limited_classes_table.md": ("limited_classes", sizes),
    "scorecards_table.md": ("scorecards", cards),
    "fuzz_readers_table.md": ("fuzz_readers", counts),
    "fuzz_models_table.md": ("fuzz_models", counts),
    "soak_table.md": ("soak", all_tables),
    "nightly_table.md": ("nightly", all_tables),
    "quick_runs_table.md": ("quick_runs", all_tables),
}
"""Tables that other pages take: the file, the report it is from, and what makes it."""


def main() -> None:
    """Write the pages, and the tables that other pages take from the reports."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw", action="store_true", help="draw figures (needs matplotlib)")
    options = parser.parse_args()
    files = {name: FOLDER / f"{name}.json" for name in PAGES}
    reports = {name: Report.load(path) for name, path in files.items() if path.exists()}
    if options.draw:
        draw(reports)
    texts = {FOLDER / f"{name}.md": page(name, report) for name, report in reports.items()}
    texts |= {FOLDER.with_suffix(".md"): index(reports), FOLDER / "targets.md": targets(reports)}
    for name, (report, text_of) in EXCERPTS.items():
        source = FOLDER / f"{report}.json"
        if source.exists():
            texts[FOLDER / name] = text_of(Report.load(source))
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
        print(path)


def draw(reports: dict[str, Report]) -> None:
    """Draw the figures of the reports whose scripts don't draw them."""
    from _page_figures import FIGURES

    for name, figure in FIGURES.items():
        if name in reports:
            figure(reports[name], FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
