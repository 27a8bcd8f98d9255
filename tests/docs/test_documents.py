"""The documents are true: every link to a file leads to one, every document is listed, every operation is valid."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from graphql import parse, validate

from gateway.packages import ROOT
from tests.support.schemas import printed

_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_OPERATION = re.compile(r"```graphql\n(.*?)```|\"query\": ?\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def _documents() -> list[Path]:
    examples = [path for path in ROOT.glob("examples/**/*.md") if "node_modules" not in path.parts]
    return [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *examples]


def _anchors(document: Path) -> set[str]:
    """The fragments of a document's headings, as the pages of code hosts make them."""
    titles = (title.replace("`", "").lower() for title in _HEADING.findall(document.read_text()))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def test_every_link_to_a_file_leads_to_one() -> None:
    lost = []
    for document in _documents():
        for link in _LINK.findall(document.read_text()):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (document.parent / parts.path).resolve() if parts.path else document
            is_there = target.exists() and (not parts.fragment or parts.fragment in _anchors(target))
            if not is_there:
                lost.append(f"{document.relative_to(ROOT)}: {link}")
    assert lost == []


def test_every_document_is_listed() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {urlsplit(link).path for link in _LINK.findall(index.read_text())}
    assert {path.name for path in ROOT.glob("docs/*.md")} - {index.name} == listed


def test_every_operation_that_a_document_shows_is_one_of_the_schema() -> None:
    schema = printed()
    wrong, seen = [], 0
    for document in _documents():
        for block, body in _OPERATION.findall(document.read_text()):
            seen += 1
            errors = validate(schema, parse(block or body.replace('\\"', '"')))
            wrong += [f"{document.relative_to(ROOT)}: {error.message}" for error in errors]
    assert wrong == []
    assert seen > 0, "the pattern finds no operations any more"
