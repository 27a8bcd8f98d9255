"""python-pptx below its documented surface: the XML elements behind its objects, for what it has no words for."""

from typing import Any, TypeAlias

Part: TypeAlias = Any  # the library's own types are partial, and those of charts are wrong
"""A slide, or something on it."""
Element: TypeAlias = Any  # lxml has no types
"""The XML behind a part."""


def element_of(shape: Part) -> Element:
    """The XML element of a shape, a picture or a plot."""
    return shape._element


def paragraph_properties(paragraph: Part) -> Element:
    """The XML element of a paragraph's properties, made where there is none."""
    return paragraph._p.get_or_add_pPr()


def describe(picture: Part, text: str) -> None:
    """Give a picture the text that stands for it."""
    picture._element.nvPicPr.cNvPr.set("descr", text)


def to_front(shape: Part) -> None:
    """Put a shape above all others of its slide."""
    element = shape._element
    element.getparent().append(element)
