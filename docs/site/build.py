"""Build the site: `python docs/site/build.py FOLDER` writes its pages to FOLDER/html.

Sphinx gets a copy of the documents, because the gallery and the API reference add pages to its
source folder. A warning is an error. With a second argument, `quick`, no example runs.
"""

import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

ROOT = Path(__file__).parents[2]


def stage(source: Path) -> None:
    """Copy what pages are made of, and all files at the top, to which documents may link."""
    shutil.rmtree(source, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("docs", "examples"):
        shutil.copytree(ROOT / folder, source / folder, ignore=ignored)
    notes = [*ROOT.glob("src/**/README.md"), *ROOT.glob("python/README.md")]
    for file in [*(path for path in ROOT.iterdir() if path.is_file()), *notes]:
        copy = source / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy)


def main(folder: str, *options: str) -> int:
    source, html = Path(folder) / "source", Path(folder) / "html"
    stage(source)
    shutil.rmtree(html, ignore_errors=True)
    settings = ["-D", "plot_gallery=0"] if "quick" in options else []
    command = ["--builder", "html", "--conf-dir", str(source / "docs/site"), *settings]
    command += ["--doctree-dir", str(Path(folder) / "doctrees"), "--fresh-env", "--quiet"]
    status: int = sphinx([*command, "--fail-on-warning", str(source), str(html)])
    if status == 0:
        print(html / "index.html")
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
