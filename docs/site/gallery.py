"""Which pictures the page of an example shows: the files that the example writes, or its figures.

An example that takes a folder for its pictures as argument gets a temporary one. The page shows
what it wrote there, animations included. All other examples leave figures of matplotlib open.
"""

import shutil
from pathlib import Path
from typing import Any

from matplotlib import pyplot
from sphinx_gallery.scrapers import figure_rst, matplotlib_scraper


def folder(conf: dict[str, Any]) -> Path:
    return Path(conf["src_dir"]) / "drawn"


def arguments(conf: dict[str, Any], _variables: dict[str, Any]) -> list[str]:
    """The arguments of the next example: an empty folder."""
    shutil.rmtree(folder(conf), ignore_errors=True)
    folder(conf).mkdir()
    return [str(folder(conf))]


def pictures(block: Any, variables: dict[str, Any], conf: dict[str, Any]) -> str:
    """Move the files to the site, and give them as reStructuredText, one below the other."""
    files = sorted(folder(conf).iterdir(), key=lambda file: file.stat().st_mtime_ns)
    if not files:
        return matplotlib_scraper(block, variables, conf)
    # Else the figures of which these are copies would be those of the next example, too.
    pyplot.close("all")
    shown = []
    for file in files:
        path = Path(variables["image_path_iterator"].next()).with_suffix(file.suffix)
        shutil.move(file, path)
        shown.append(figure_rst([path], conf["src_dir"], file.stem.replace("-", " ")))
    return "".join(shown)
