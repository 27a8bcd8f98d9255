"""What files are found to be: by their bytes, never by what their sender says alone."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from providers.content_types import SHOWN, sniffed

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
KINDS: dict[bytes, str] = {
    b"%PDF-1.7\n%\xe2\xe3": "application/pdf",
    PNG: "image/png",
    b"\xff\xd8\xff\xe0\0\x10JFIF\0": "image/jpeg",
    b"GIF89a\1\0\1\0": "image/gif",
    b"RIFF\x24\0\0\0WEBPVP8 ": "image/webp",
    b"hello": "text/plain",
    "\ufeffÜber\r\n\tx".encode(): "text/plain",
    b"<!DOCTYPE html><p>": "text/html",
    b"  \n<HTML><body>": "text/html",
    b"a comment <script>alert(1)</script>": "text/html",
    b'<?xml version="1.0"?>\n<svg xmlns="x">': "image/svg+xml",
    b"<svg/onload=alert(1)>": "image/svg+xml",
    b"<?xml version='1.0'?><root/>": "application/xml",
    b"PK\x03\x04\x14\0\0\0": "application/zip",
    b"\0\1\2\3": "application/octet-stream",
    b"\x1b[31mred": "text/plain",
    b"text\0more": "application/octet-stream",
    b"\xffnot UTF-8": "application/octet-stream",
    b"MZ\x90\0\3": "application/vnd.microsoft.portable-executable",
    b"\0\0\0\x18ftypmp42\0\0\0\0": "video/mp4",
}
POLYGLOTS: dict[bytes, str] = {
    b"GIF89a/*<script>*/=1;//": "image/gif",
    b"%PDF-1.4\n<html><script>alert(1)</script>": "application/pdf",
    PNG + b"<html><script>": "image/png",
    b"<html>%PDF-1.4": "text/html",
    b"\n%PDF-1.4 text": "text/plain",
    b"<!-- --><svg onload=x>": "image/svg+xml",
    b"x" * 70_000 + b"<script>": "text/plain",
}


def test_kinds() -> None:
    found = {data: sniffed(data[:65_536], data[-1_024:]) for data in [*KINDS, *POLYGLOTS]}
    assert found == KINDS | POLYGLOTS


def test_what_the_sender_says_counts_among_what_it_may_be() -> None:
    for said in ("text/csv", "application/json", "text/markdown"):
        assert sniffed(b"a,b", b"a,b", f"{said.upper()}; charset=x") == said
        assert sniffed(b"<html>", b"<html>", said) == "text/html"
        assert sniffed(PNG, PNG, said) == "image/png"
    for said in ("text/html", "image/svg+xml", "application/javascript", "image/png", "x"):
        assert sniffed(b"text", b"text", said) == "text/plain"
        assert sniffed(b"\0\1", b"\0\1", said) == "application/octet-stream"
    docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    assert sniffed(b"PK\x03\x04\x14\0", b"x", docx) == docx
    assert sniffed(b"PK\x03\x04\x14\0", b"x", "text/html") == "application/zip"


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["", "text/html", "image/svg+xml", "image/png", "text/csv"]))
def test_nothing_is_shown_that_a_browser_would_run(data: bytes, said: str) -> None:
    kind = sniffed(data, data[-1_024:], said)
    assert "\r" not in kind
    assert "\n" not in kind
    if kind in SHOWN and kind != "text/plain":
        assert data.startswith((b"%PDF-", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"RIFF"))
    if b"<script>" in data:
        assert kind != "text/plain"


@given(st.text(max_size=200).map(lambda text: text.encode("utf-8", "ignore")), st.integers(0, 3))
def test_text_cut_within_a_character_is_text(data: bytes, cut: int) -> None:
    printable = bytes(byte for byte in data if byte >= 0x20 and byte != 0x7F)
    text = "é日😀" * 10
    whole = text.encode()
    head = whole[: len(whole) - cut]
    assert sniffed(head, whole[-40 + cut :]) == "text/plain"
    assert sniffed(printable, b"") != ""
