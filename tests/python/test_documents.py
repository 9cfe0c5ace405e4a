"""The documents are true: their code runs, what they name exists, and their links resolve.

Rust blocks are documentation tests: ``src/lib.rs`` includes the documents that have them.
"""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest

from compare import figures, store

ROOT = Path(__file__).parents[2]
NOTES = sorted(ROOT.glob("src/**/README.md"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *NOTES])
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in DOCUMENTS}
# Pages for users. The other pages are for engineers, who have a clone.
USERS = {
    name: text for name, text in TEXTS.items() if name == "README.md" or name.startswith("docs/")
}
# The notes on the sources, and the map that leads to them.
SOURCE_TEXTS = {
    name: text
    for name, text in TEXTS.items()
    if name == "ARCHITECTURE.md" or name.startswith("src/")
}
# Where tests, and the code that the notes name, can be.
CODE = sorted(
    path
    for folder in ("src", "tests", "python", "benches", "examples")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".rs"}
)


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def each(texts: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("name", "text"), texts.items(), ids=texts.keys())


WITH_PYTHON = {name: text for name, text in USERS.items() if blocks(text, "python")}


def test_the_documents_are_found() -> None:
    assert {"README.md", "docs/quick-start.md", "docs/differences.md"} <= WITH_PYTHON.keys()
    assert {"ARCHITECTURE.md", "src/grow/README.md", "src/predict/README.md"} <= SOURCE_TEXTS.keys()


@each(WITH_PYTHON)
def test_python_blocks_run(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order, in one namespace per document."""
    # Examples write files and draw. They must not leave files behind or open windows.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace: dict[str, object] = {}
    for block in blocks(text, "python"):
        exec(compile(block, name, "exec"), namespace)


@each({name: text for name, text in USERS.items() if blocks(text, "rust")})
def test_rust_blocks_are_documentation_tests(name: str, text: str) -> None:
    assert f'#[doc = include_str!("../{name}")]' in (ROOT / "src/lib.rs").read_text()


@each(USERS)
def test_blocks_are_of_languages_that_are_checked(name: str, text: str) -> None:
    languages = re.findall(r"^```(.*)\n(?:.*\n)*?```$", text, flags=re.MULTILINE)
    # Building the site checks the last one.
    assert set(languages) <= {"python", "sh", "rust", "toml", "text", "{toctree}"}


@each(TEXTS)
def test_links_lead_somewhere(name: str, text: str) -> None:
    """To files, and to headings in them."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    targets = re.findall(r"\]\(([^)\s]+)\)", prose)
    for target in targets:
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = unquote(target).partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.exists(), target
        if heading:
            assert heading in anchors(file.read_text(encoding="utf-8")), target


def anchors(text: str) -> set[str]:
    """The anchors of headings, as GitHub and PyPI make them."""
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


@each(TEXTS)
def test_pictures_are_used_and_described(name: str, text: str) -> None:
    for description, target in re.findall(r"!\[([^]]*)\]\(([^)]+)\)", text):
        assert len(description) > 10, f"{target} says nothing to those who can't see it"


def test_no_picture_is_left_over() -> None:
    everything = "".join(TEXTS.values())
    pictures = [path for path in ROOT.glob("docs/pictures/*") if path.name not in everything]
    assert pictures == []


@pytest.mark.parametrize("script", ["criteria.py", "drawings.py", "forest_pictures.py"])
def test_scripts_draw_what_the_documents_show(script: str, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples" / script), str(tmp_path)]
    subprocess.run(command, check=True, timeout=120, capture_output=True)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn
    assert drawn <= {path.name for path in ROOT.glob("docs/pictures/*")}


@each({page: TEXTS[page] for page in sorted({figure.page for figure in figures.FIGURES})})
def test_figures_are_those_of_the_benchmarks(name: str, text: str) -> None:
    """The same run as in docs/benchmarks, to the last digit; `make compare` writes both."""
    run = store.load(ROOT / "docs/benchmarks/results.json")
    assert figures.updated(name, text, run) == text


@each(TEXTS)
def test_commands_exist(name: str, text: str) -> None:
    """The make targets, examples, extras and files that the text names."""
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):.*##", makefile, flags=re.MULTILINE))
    code = "\n".join([*blocks(text, "sh"), *re.findall(r"`([^`\n]+)`", text)])
    named = set(re.findall(r"^\s*make ([a-z-]+)", code, flags=re.MULTILINE))
    assert named <= targets

    files = re.findall(r"\b(?:examples|benches|tests|src)/[\w./-]*\w\.(?:py|rs)\b", code)
    assert [file for file in files if not (ROOT / file).exists()] == []

    extras = set(re.findall(r"splitwood\[([a-z,]+)\]", code))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {extra for names in extras for extra in names.split(",")} <= project[
        "optional-dependencies"
    ].keys()


@each(TEXTS)
def test_tests_that_are_named_exist(name: str, text: str) -> None:
    """Written `test_file.py::test_name` or `file.rs::name`; folders only where they are needed."""
    for file, test in re.findall(r"`([\w/]+\.(?:py|rs))::(\w+)`", text):
        found = [
            path for path in CODE if f"/{path.relative_to(ROOT).as_posix()}".endswith(f"/{file}")
        ]
        assert found, f"{name} names {file}"
        assert any(test in functions(path) for path in found), f"{name} names {file}::{test}"


def functions(path: Path) -> set[str]:
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".rs":
        return set(re.findall(r"\bfn (\w+)", source))
    return {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}


def test_the_notes_name_tests() -> None:
    """Otherwise the test above checks nothing of them."""
    named = {name for name, text in TEXTS.items() if re.search(r"`[\w/]+\.rs::\w+`", text)}
    assert {path.relative_to(ROOT).as_posix() for path in NOTES} <= named


@pytest.mark.parametrize("note", NOTES, ids=lambda path: path.parent.name)
def test_a_note_names_the_files_of_its_folder_and_no_others(note: Path) -> None:
    spans = " ".join(re.findall(r"`([^`\n]+)`", note.read_text(encoding="utf-8")))
    named = set(re.findall(r"[\w/]+\.(?:rs|py)\b", spans))
    own = {path.name for path in note.parent.glob("*.rs")} - {"mod.rs", "tests.rs"}
    assert own - {name.rpartition("/")[2] for name in named} == set()
    roots = [note.parent, ROOT, ROOT / "src", ROOT / "src/criterion", ROOT / "tests/python"]
    assert [name for name in named if not any((root / name).exists() for root in roots)] == []


@each(SOURCE_TEXTS)
def test_names_of_the_sources_exist(name: str, text: str) -> None:
    """`Type::name`, with any number of parts, and `TypeName`: each part is in the sources."""
    code = "".join(path.read_text(encoding="utf-8") for path in CODE)
    spans = re.findall(r"`([A-Za-z_]\w*(?:::\w+)*)`", text)
    parts = {part for span in spans for part in span.split("::") if re.search(r"::|[A-Z]", span)}
    assert {part for part in parts if not re.search(rf"\b{part}\b", code)} == set()
