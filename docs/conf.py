"""Sphinx settings: `docs/README.md` has the command that builds the pages."""

import os
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import sklearn

import sklearn_rank

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "sklearn-rank"
author = "The sklearn-rank developers"
copyright = f"2026, {author}"
version = release = sklearn_rank.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",  # the source of each public name, on the site itself
    "sphinx-mathjax-offline",  # equations without the network
    "numpydoc",
    "sphinx_copybutton",
    "myst_parser",
    "sphinxcontrib.bibtex",
    "sphinx_gallery.gen_gallery",
    "api_reference",
    "command_line",
    "thumbnails",
]
INCLUDED = ("choosing", "trees_p", "*_table")
"""Tables in docs/benchmarks/ that stand on other pages."""
exclude_patterns = [
    *("_build", "README.md", "examples/README.txt", "pictures"),
    *(f"benchmarks/{name}.md" for name in INCLUDED),
]
templates_path = ["_templates"]
nitpicky = True

# --- pages ---------------------------------------------------------------------------------------

myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "attrs_block"]
myst_heading_anchors = 3
smartquotes = False  # it would turn the dashes of --option and quotes of defaults into others
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold functions
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "keys"  # of the extension api_reference
bibtex_reference_style = "author_year"

# --- reference -----------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
autodoc_inherit_docstrings = True
toc_object_entries_show_parents = "hide"  # the column has no room for them
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# --- gallery -------------------------------------------------------------------------------------

os.environ["SPHINX_GALLERY_BUILD"] = "1"
for module in ("__main__", "sklearn_rank", r"sklearn\b"):  # __main__: the example
    warnings.filterwarnings("error", module=module)

GALLERY = [
    "p_and_roc",
    "pair_contributions",
    "margins",
    "scorecard",
    "scorecard_sql",
    "clicks",
    "million_rows",
    "ensemble",
    "trees_million_rows",
    "cluster",
    "losses",
    "kernel_ring",
    "calibration",
    "queries",
    "leakage",
    "list_length",
    "own_model",
]
"""The examples in the order of the index; others come last."""


class GalleryOrder:
    """What sphinx-gallery sorts file names by."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, file_name):
        name = file_name.removeprefix("plot_").removesuffix(".py")
        return (GALLERY.index(name) if name in GALLERY else len(GALLERY), name)


def start_afresh(gallery_conf, file_name):
    """Give every example the same look, and no other example's settings."""
    plt.style.use(HERE / "gallery.mplstyle")
    sklearn.set_config(enable_metadata_routing=False)


sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": False,  # a warning, which -W makes an error; the others still run
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "plot_gallery": True,
    "matplotlib_animations": False,
    "reference_url": {"sklearn_rank": None},
    "doc_module": ("sklearn_rank",),
    "backreferences_dir": "gallery/backreferences",
    "within_subsection_order": GalleryOrder,
    "reset_modules": ("matplotlib", start_afresh),
    "image_srcset": ["2x"],
    "image_scrapers": ("thumbnails.scrape",),
    "thumbnail_size": (360, 240),
    "default_thumb_file": None,
}

PLAIN = (
    *("index", "getting_started", "choosing", "installation", "command_line"),
    *("how_it_is_tested", "changelog", "glossary", "coming_from"),
)
"""Pages of their own, that need no side bar of neighbours."""

copybutton_prompt_text = r">>> |\.\.\. |\$ "  # not copied; nor is what an example prints
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
copybutton_selector = ", ".join(
    f".highlight-{language} pre" for language in ("python", "console", "sh", "default")
)

# --- look ----------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system has it
html_title = f"sklearn-rank {release}"
html_sidebars = {name: [] for name in PLAIN}
html_static_path = ["_static"]
html_favicon = "_static/logo.svg"
html_css_files = ["sklearn_rank.css", "gallery.css"]
html_copy_source = True
html_show_sourcelink = True
html_sourcelink_suffix = ""
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "logo": {
        "text": f"sklearn-rank {release}",
        "alt_text": "sklearn-rank, to the first page",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo-dark.svg",
    },
    "secondary_sidebar_items": ["page-toc", "sourcelink"],
}
