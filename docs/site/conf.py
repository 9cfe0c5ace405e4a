"""The settings of Sphinx for the site. `docs/site/build.py` runs it.

The folders of the site are those of the repository, so that a relative link between two documents
leads to the same page in a clone, on a code host and on the site.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any

import splitwood

HERE = Path(__file__).parent
# For gallery.py.
sys.path.insert(0, str(HERE))

project = "splitwood"
author = "The splitwood developers"
project_copyright = author
version = release = splitwood.__version__
# The address of the repository, if it is known: `make docs REPOSITORY=https://…`.
repository = os.environ.get("REPOSITORY", "")

root_doc = "docs/index"
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.githubpages",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
include_patterns = ["*.md", "docs/*.md", "docs/*.rst", "docs/benchmarks/*.md", "docs/api/*.rst"]
include_patterns += ["gallery/**.rst", "src/**/README.md", "python/README.md"]

# ---- guides: Markdown ----------------------------------------------------------------------------

# Headings have the anchors that code hosts give them.
myst_heading_anchors = 4
highlight_language = "none"

# ---- the API reference: docstrings ---------------------------------------------------------------

# sphinx.ext.autosummary looks for a relative path in another folder than Sphinx does.
templates_path = [str(HERE / "templates")]
# The page of a module lists the names of its `__all__`, also those that it imports.
autosummary_ignore_module_all = False
# `name` in a docstring is a link where that name is documented.
default_role = "py:obj"
add_module_names = False
# Types are described in the sections of the docstrings.
autodoc_typehints = "none"
# In the list of a page's sections, a method is listed without its class.
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False


def prepare(_app: Any, _what: str, _name: str, _of: Any, _options: Any, lines: list[str]) -> None:
    """Change a docstring, in place, before numpydoc reads it.

    In `shape (n_features_in_,)` the last underscore would make a link. Docstrings of methods that
    scikit-learn defines refer to sections and terms of its own documentation.
    """
    for i, line in enumerate(lines):
        line = re.sub(r"\bshape \((\w+_)\b", r"shape (``\1``", line)
        lines[i] = re.sub(r":(?:ref|term):`([^`<]+?)\s*(?:<[^`]*>)?`", r"\1", line)


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", prepare, priority=100)


# ---- examples ------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    # A check of wheels, the program of `make demo`, and the drawings of one page.
    "ignore_pattern": r"wheel_smoke|demo|drawings",
    "image_scrapers": ("gallery.pictures",),
    "reset_argv": "gallery.arguments",
    "image_srcset": ["2x"],
    "backreferences_dir": "docs/api/examples",
    "doc_module": ("splitwood",),
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    # What a block prints is shown, the value of its last line is not.
    "capture_repr": (),
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (560, 392),
}

# ---- the look ------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "splitwood"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["root"]
html_copy_source = False
html_show_sphinx = False
html_use_index = False
html_show_sourcelink = False
# The prompts of docstrings are not copied.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
html_theme_options = {
    "logo": {"text": "splitwood"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "icon_links": [{"name": "Repository", "url": repository, "icon": "fa-solid fa-code-branch"}]
    if repository
    else [],
}
# Pages without neighbours need no list of them.
html_sidebars = {"docs/index": [], "docs/benchmarks/README": []}
