"""Sphinx settings: `docs/README.md` has the command that builds the pages."""

import os
import sys
import warnings
from pathlib import Path

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
    "sphinx-mathjax-offline",  # equations without the network
    "numpydoc",
    "myst_parser",
    "sphinxcontrib.bibtex",
    "sphinx_gallery.gen_gallery",
    "api_reference",
]
exclude_patterns = ["_build", "README.md", "examples/README.txt", "pictures"]
templates_path = ["_templates"]
nitpicky = True

# --- pages ---------------------------------------------------------------------------------------

myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "attrs_block"]
myst_heading_anchors = 3
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
warnings.filterwarnings("error", module="sklearn_rank")
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": False,  # a warning, which -W makes an error; the others still run
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
    "plot_gallery": True,
    "matplotlib_animations": False,
    "reference_url": {"sklearn_rank": None},
    "doc_module": ("sklearn_rank",),
    "backreferences_dir": "gallery/backreferences",
    "within_subsection_order": "FileNameSortKey",
    "image_srcset": ["2x"],
    "default_thumb_file": None,
}

# --- look ----------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "sklearn-rank"
html_static_path = ["_static"]
html_css_files = ["sklearn_rank.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "show_toc_level": 2,
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
