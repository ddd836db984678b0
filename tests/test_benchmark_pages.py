"""The pages of the benchmarks are those that their reports make."""

from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
FOLDER = DOCS / "benchmarks"

pytestmark = pytest.mark.usefixtures("scripts")


@pytest.fixture
def reports(scripts):
    from _page_texts import PAGES
    from _report import Report

    files = {name: FOLDER / f"{name}.json" for name in PAGES}
    return {name: Report.load(path) for name, path in files.items() if path.exists()}


def test_pages_are_made_of_the_reports(reports):
    import make_page
    from _report import Report

    assert len(reports) > 10
    made = {f"{name}.md": make_page.page(name, report) for name, report in reports.items()}
    made |= {
        name: text_of(Report.load(FOLDER / f"{report}.json"))
        for name, (report, text_of) in make_page.EXCERPTS.items()
    }
    made |= {"targets.md": make_page.targets(reports), "../benchmarks.md": make_page.index(reports)}
    assert [name for name, text in made.items() if (FOLDER / name).read_text("utf-8") != text] == []


def test_every_report_has_its_place_and_a_figure(reports):
    from _page_texts import GROUPS, PAGES, PICTURES

    assert sorted(name for names in GROUPS.values() for name in names) == sorted(PAGES)
    shown = {picture for name in reports for picture in PICTURES.get(name, {})}
    assert {name for name in reports if name not in PICTURES} <= {
        "stump_defaults",
        "tree_defaults",
        "table_3_first_rows",
        "trees_queries",
        "trees_speed",
    }
    assert [name for name in shown if not (FOLDER / f"{name}.png").exists()] == []


def test_differences_are_read_from_tables():
    from _page_figures import line_of

    assert line_of("a", "-0.0012 (-0.0108 to +0.0084)") == ("a", -0.0012, -0.0108, 0.0084)
    assert line_of("a", "+0.6 [+0.3, +0.9]") == ("a", 0.6, 0.3, 0.9)
    assert line_of("a", "-0.0045") == ("a", -0.0045, -0.0045, -0.0045)
    assert line_of("a", "–") is line_of("a", "") is None
