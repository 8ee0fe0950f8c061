"""Strict XML: elements with line numbers, and nothing that expands, hides or overflows.

Expat does the parsing. Refused are document types and entities, NUL bytes, unknown encodings, and
documents that are too large, too deep or have too many elements. Numbers are matched in full and
must be finite.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from mozzi.errors import ModelError
from mozzi.loaders.source import Notes, Place, read_bytes, shorten
from mozzi.model.frames import LARGEST

__all__ = ["Element", "number", "parse_xml", "read_xml"]

MAX_DEPTH = 100
MAX_ELEMENTS = 200_000
MAX_NUMBER = 400  # characters

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ENCODING = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_ENCODINGS = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "ascii",
    "ascii": "ascii",
    "iso-8859-1": "latin-1",
    "latin-1": "latin-1",
    "latin1": "latin-1",
    "windows-1252": "cp1252",
}
_UTF16 = {"utf-16", "utf16", "utf-16le", "utf-16be"}
_BLANKS = " \t\r\n"
_WORD = re.compile(f"[^{_BLANKS}]+")


@dataclass(slots=True, eq=False)
class Element:
    """An element of an XML file that knows where it stands."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    children: list[Element]
    text: str = ""
    owner: Element | None = None
    """The nearest element around it that has a name."""

    def __iter__(self) -> Iterator[Element]:
        return iter(self.children)

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(self.file, self.line)

    @property
    def thing(self) -> str:
        """How errors call this element."""
        name = self.attributes.get("name")
        if name:
            return f"{self.tag} {shorten(name)!r}"
        return f"<{self.tag}> of {self.owner.thing}" if self.owner else f"<{self.tag}>"

    def error(self, fact: str, remedy: str, thing: str | None = None) -> ModelError:
        return self.place.error(thing or self.thing, fact, remedy)

    def all(self, tag: str) -> list[Element]:
        """The children with this tag."""
        return [child for child in self.children if child.tag == tag]

    def find(self, tag: str) -> Element | None:
        """The only child with this tag, or None; two of them are an error, since readers disagree
        on which counts.
        """
        found = self.all(tag)
        if len(found) > 1:
            raise found[1].error(
                f"{self.thing} has {len(found)} of them", "keep one", thing=f"<{tag}>"
            )
        return found[0] if found else None

    def need(self, tag: str) -> Element:
        """The only child with this tag."""
        found = self.find(tag)
        if found is None:
            raise self.error(f"has no <{tag}>", "add one")
        return found

    def string(self, attribute: str) -> str:
        """A non-empty attribute."""
        value = self.attributes.get(attribute)
        if value is None:
            raise self.error(f"has no attribute {attribute!r}", "add it")
        if not value.strip(_BLANKS):
            raise self.error(f"attribute {attribute!r} is empty", "fill it in")
        return value

    def numbers(self, attribute: str, count: int) -> tuple[float, ...]:
        """An attribute of exactly ``count`` numbers."""
        return self._parse(self.string(attribute), count, f"{attribute}=")

    def number(self, attribute: str, *, limit: bool = False) -> float:
        """An attribute that is one number; a limit may be as large as it likes."""
        value = self.attributes.get(attribute)
        if value and _NUMBER.fullmatch(value):
            return number(value, self, f"{attribute}=", limit=limit)
        return self._parse(self.string(attribute), 1, f"{attribute}=", limit=limit)[0]

    def content(self, count: int, *, limit: bool = False) -> tuple[float, ...]:
        """The text of this element as exactly ``count`` numbers (SDF writes them so)."""
        return self._parse(self.text, count, "", limit=limit)

    def _parse(
        self, text: str, count: int, prefix: str, *, limit: bool = False
    ) -> tuple[float, ...]:
        words = text.split() if text.isascii() else _WORD.findall(text)
        if len(words) != count:
            shown = shorten(text)
            plural = "number" if count == 1 else "numbers"
            raise self.error(f"{prefix}{shown!r} has {len(words)} words", f"give {count} {plural}")
        return tuple(number(word, self, prefix, limit=limit) for word in words)


def number(word: str, element: Element, prefix: str = "", *, limit: bool = False) -> float:
    """A decimal number, matched in full, finite; not so large that products overflow, but for
    limits.
    """
    if len(word) > MAX_NUMBER or not _NUMBER.fullmatch(word):
        remedy = "write a decimal number such as -1.5e-3"
        if "," in word:
            remedy = "write a decimal point, not a comma"
        elif "${" in word or "$(" in word:
            remedy = "expand the xacro file first: load(path, xacro=True)"
        raise element.error(f"{prefix}{shorten(word)!r} is not a finite number", remedy)
    value = float(word)
    if math.isinf(value):
        raise element.error(
            f"{prefix}{shorten(word)!r} is not a finite number", "write a finite number"
        )
    if abs(value) > LARGEST and not limit:
        fact = f"{prefix}{shorten(word)!r} is too large"
        raise element.error(fact, f"give numbers of a mechanism, {LARGEST:g} at most")
    return value


def read_xml(
    path: Path | str, notes: Notes, *, max_depth: int = MAX_DEPTH, place: Place | None = None
) -> Element:
    """The root element of a file."""
    return parse_xml(read_bytes(path, place=place), str(path), notes, max_depth=max_depth)


def parse_xml(data: bytes, file: str, notes: Notes, *, max_depth: int = MAX_DEPTH) -> Element:
    """The root element of a document given as bytes; ``file`` names it in errors."""
    text = _decode(data, file)
    skipped = 0
    if not text.strip(_BLANKS):
        raise Place(file).error("file", "is empty", "give a robot description")
    blanks = len(text) - len(text.lstrip(_BLANKS))
    if blanks and text.startswith("<?xml", blanks):
        notes.add(Place(file), "file", "has blanks before the XML declaration")
        skipped = text.count("\n", 0, blanks)
        text = text[blanks:]
    return _Parser(file, skipped, max_depth).parse(text)


def _decode(data: bytes, file: str) -> str:
    """Text from bytes: UTF-8 unless a byte order mark or the declaration says otherwise."""
    place = Place(file)
    remedy = "save the file as UTF-8"
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise place.error("file", "is in UTF-32", remedy)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif data.startswith(b"<\0"):
        encoding = "utf-16-le"
    elif data.startswith(b"\0<"):
        encoding = "utf-16-be"
    else:
        data = data.removeprefix(codecs.BOM_UTF8)
        match = _ENCODING.match(data.lstrip())
        declared = match.group(1).decode("ascii").lower() if match else "utf-8"
        if declared in _UTF16:
            fact = f"declares encoding {declared!r} and is not written in it"
            raise place.error("file", fact, f"{remedy}, with encoding='utf-8'")
        if declared not in _ENCODINGS:
            raise place.error("file", f"declares the encoding {declared!r}", remedy)
        encoding = _ENCODINGS[declared]
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Place(file, line).error("file", f"is not valid {encoding.upper()}", remedy) from None
    nul = text.find("\0")
    if nul >= 0:
        line = text.count("\n", 0, nul) + 1
        raise Place(file, line).error(
            "file", "contains a NUL character", "remove it; this is not a text file"
        )
    return text


class _Parser:
    """Builds the elements; refuses what has no business in a robot description."""

    def __init__(self, file: str, skipped: int, max_depth: int) -> None:
        self.file, self.skipped, self.max_depth = file, skipped, max_depth
        self.root: Element | None = None
        self.stack: list[Element] = []
        self.text: list[str] = []
        self.count = 0
        self.expat = expat.ParserCreate()
        self.expat.buffer_text = True
        self.expat.StartElementHandler = self.start
        self.expat.EndElementHandler = self.end
        self.expat.CharacterDataHandler = self.characters
        self.expat.StartDoctypeDeclHandler = self.doctype
        self.expat.EntityDeclHandler = self.doctype
        self.expat.ExternalEntityRefHandler = self.doctype

    def parse(self, text: str) -> Element:
        try:
            self.expat.Parse(text, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            fact = f"is not well-formed XML: {reason} at column {error.offset + 1}"
            raise Place(self.file, error.lineno + self.skipped).error(
                "file", fact, "correct it"
            ) from None
        except UnicodeEncodeError:
            raise Place(self.file).error(
                "file", "contains a lone surrogate", "save the file as UTF-8"
            ) from None
        assert self.root is not None
        return self.root

    def place(self) -> Place:
        return Place(self.file, self.expat.CurrentLineNumber + self.skipped)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS:
            raise self.place().error(
                "file", f"has more than {MAX_ELEMENTS:,} elements", "split the file"
            )
        if len(self.stack) >= self.max_depth:
            fact = f"is nested more than {self.max_depth} elements deep"
            raise self.place().error(f"<{shorten(tag)}>", fact, "flatten the file")
        line = self.expat.CurrentLineNumber + self.skipped
        element = Element(tag, attributes, self.file, line, [])
        if self.stack:
            parent = self.stack[-1]
            element.owner = parent if "name" in parent.attributes else parent.owner
            parent.children.append(element)
        else:
            self.root = element
        self.stack.append(element)
        self.text.clear()

    def end(self, tag: str) -> None:
        element = self.stack.pop()
        if not element.children:  # text between elements means nothing in these formats
            element.text = "".join(self.text)
        self.text.clear()

    def characters(self, text: str) -> None:
        self.text.append(text)

    def doctype(self, *_: object) -> int:
        raise self.place().error(
            "<!DOCTYPE>", "document types and entities are not read", "remove it"
        )
