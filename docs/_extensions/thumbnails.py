"""Sphinx extension: thumbnails of the gallery that can be read.

A whole figure at a third of its size has letters of five pixels. A thumbnail here is one panel of a
figure, drawn anew at the size that the index shows, with the letters of the figure.
"""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from PIL import Image
from sphinx.application import Sphinx
from sphinx_gallery.scrapers import matplotlib_scraper

SIZE = (3.6, 2.4)
"""Inches."""
DPI = 150
FONT = 13
"""Points, of the text of a scorecard."""
LONG = 25
"""Letters of a label that do not fit beside so small a panel."""
PANELS = {
    "plot_p_and_roc": (1, 0),
    "plot_kernel_ring": (0, 1),
    "plot_own_model": (0, 1),
    "plot_list_length": (0, 1),
    "plot_queries": (1, 0),
    "plot_trees_million_rows": (0, 1),
    "plot_clicks": (0, 1),
    "plot_scorecard": (0, 3),
    "plot_scorecard_sql": (0, 2),
}
"""Which figure of an example, and which of its panels; otherwise the first of the first."""
BARS = ("plot_scorecard", "plot_scorecard_sql")
"""Examples whose panels have columns of small text beside the bars."""


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save figures as always; then make the thumbnail of the example of one of them."""
    figures = [plt.figure(number) for number in plt.get_fignums()]
    saved = matplotlib_scraper(block, block_vars, gallery_conf)
    source = Path(block_vars["src_file"])
    seen = block_vars["example_globals"].setdefault("__thumbnails__", [])
    wanted, panel = PANELS.get(source.stem, (0, 0))
    if len(seen) <= wanted < len(seen) + len(figures):
        folder = Path(gallery_conf["src_dir"], "gallery", "panels")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{source.stem}.png"
        figure = figures[wanted - len(seen)]
        if source.stem in BARS:
            only_bars(figure.axes[panel])
        draw(figure, panel, path)
    seen += figures
    return str(saved)


def only_bars(axes: Any) -> None:
    """Remove the columns beside the bars of a scorecard, and enlarge its other text."""
    for text in list(axes.texts):
        if text.xy[0] == 1.0 and text.xycoords != "data":
            text.remove()
        else:
            text.set_fontsize(FONT)
    labels = [label.get_text().split(" (")[0] for label in axes.get_yticklabels()]
    axes.set_yticks(axes.get_yticks(), labels, fontsize=FONT)


def draw(figure: Any, panel: int, path: Path) -> None:
    """Save one panel of a figure, without the others."""
    kept = figure.axes[panel]
    kept.set_aspect("auto")
    first = figure.axes[0]
    if panel and kept.get_shared_y_axes().joined(first, kept):  # the first has the labels of both
        kept.set_ylabel(first.get_ylabel())
        kept.tick_params(labelleft=True)
    for axes in figure.axes:
        if axes is not kept:
            axes.remove()
    legends = [*figure.legends, kept.get_legend()]
    for legend in filter(None, legends):
        legend.remove()
    figure.suptitle("")
    kept.set_title("")
    if len(kept.get_ylabel()) > LONG:
        kept.set_ylabel("")
    if len(kept.get_xlabel()) > LONG + 10:
        kept.set_xlabel("")
    kept.set_subplotspec(figure.add_gridspec(1, 1)[0])
    figure.set_size_inches(*SIZE)
    figure.savefig(path, dpi=DPI)


def replace(app: Sphinx) -> None:
    """Put the panels where the gallery has its thumbnails."""
    folder = Path(app.srcdir, "gallery")
    for path in sorted((folder / "panels").glob("*.png")):
        with Image.open(path) as panel:
            target = folder / "images" / "thumb" / f"sphx_glr_{path.stem}_thumb.png"
            panel.convert("RGB").save(target)


def setup(app: Sphinx) -> dict[str, Any]:
    """Replace thumbnails once the gallery has made its own."""
    app.connect("builder-inited", replace, priority=900)
    return {"parallel_read_safe": True}
