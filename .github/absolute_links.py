"""Name the repository in the packages' metadata, and make README's links absolute.

Package indexes show README.md without the repository around it, where relative links lead nowhere.
In the repository they stay relative, so that they lead to the same version in every clone and fork.
`make links REPOSITORY=…` runs this on a checkout from which packages are built.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
# An image or a link of Markdown. The text of a link may be an image.
IMAGE = re.compile(r"(!\[[^\]]*\])\(([^)\s]+)\)")
LINK = re.compile(r"((?<!!)\[(?:[^][]|!\[[^\]]*\]\([^)]*\))*\])\(([^)\s]+)\)")


def absolute(text: str, repository: str, tag: str) -> str:
    """Make relative links lead to the files of a tag; pictures need the file and not its page."""

    def lead(view: str) -> object:
        def replace(match: re.Match[str]) -> str:
            shown, target = match.groups()
            if target.startswith("#") or "://" in target:
                return match[0]
            file, hash_sign, anchor = target.partition("#")
            if not (ROOT / file).exists():
                raise SystemExit(f"README.md: there is no {file}")
            return f"{shown}({repository}/{view}/{tag}/{file}{hash_sign}{anchor})"

        return replace

    return LINK.sub(lead("blob"), IMAGE.sub(lead("raw"), text))


def main(repository: str) -> None:
    if not repository.startswith("https://"):
        raise SystemExit(f"REPOSITORY must be an address such as https://…, not {repository!r}")
    cargo, python, readme = (ROOT / name for name in ("Cargo.toml", "pyproject.toml", "README.md"))
    manifest = cargo.read_text(encoding="utf-8")
    package = tomllib.loads(manifest)["package"]
    if "repository" in package:
        raise SystemExit("the repository is named already")
    tag = f"v{package['version']}"
    cargo.write_text(
        manifest.replace("[package]\n", f'[package]\nrepository = "{repository}"\n', 1),
        encoding="utf-8",
    )
    with python.open("a", encoding="utf-8") as file:
        file.write(
            "\n[project.urls]\n"
            f'Repository = "{repository}"\n'
            f'Documentation = "{repository}/tree/{tag}/docs"\n'
            f'Changelog = "{repository}/blob/{tag}/CHANGELOG.md"\n'
            f'Issues = "{repository}/issues"\n'
        )
    text = readme.read_text(encoding="utf-8")
    readme.write_text(absolute(text, repository, tag), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
