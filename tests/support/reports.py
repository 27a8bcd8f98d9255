"""The content of a report, as it may be stored: whole, or with some of it changed."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from PIL import Image

from reports.content import Content
from reports.reading import content_of

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 40"><defs><linearGradient id="g"><stop offset="0"'
    ' stop-color="#0b7285"/></linearGradient></defs><rect width="40" height="40" rx="8" fill="url(#g)"/></svg>'
)
NASTY = "a\x00b\x1f\ud800\uffff\u202eevil\u2028 =1+1 #set page(width: 1pt) $x$ @ref \\ <b>&amp; _x0041_ *"


def data_uri(data: bytes | str, kind: str = "image/svg+xml") -> str:
    """The image as the edit takes it."""
    raw = data.encode() if isinstance(data, str) else data
    return f"data:{kind};base64,{base64.b64encode(raw).decode()}"


def png(width: int = 40, height: int = 20) -> bytes:
    """A picture of that size."""
    made = BytesIO()
    Image.new("RGB", (width, height), "#aa3300").save(made, "PNG")
    return made.getvalue()


def stored(**changed: Any) -> dict[str, Any]:
    """The arguments of `content_of`."""
    return {
        "company": "Meridian Outfitters",
        "domain": "meridian.example",
        "score": 62,
        "factors": [
            {
                "name": "Contact channels",
                "score": 82,
                "weight": 3,
                "finding": "Telephone and chat on every page.",
                "evidence_url": "https://meridian.example/contact",
            },
            {"name": "Hours of service", "score": 31, "weight": 1, "finding": "Nobody answers at the weekend."},
            {"name": "Consent", "score": None, "weight": 1, "finding": "Could not be read."},
        ],
        "copy_blobs": {
            "headline": "A service that customers like once they reach it.",
            "executive_summary": "It answers well.\n\nIt answers on weekdays only.",
            "strengths": ["Free returns", "A broad help centre"],
            "gaps": ["No weekend cover"],
            "recommendations": "Cover the weekend.\n\n- A team of four\n- A pilot first",
            "next_steps": ["A workshop"],
            "risks": "None that are known.",
        },
        "analysis": {
            "findings": [{"title": "Chat is closed", "detail": "From Friday on.", "severity": "high"}, "A second one"],
            "benchmarks": [{"name": "Sector median", "score": 58}],
            "pages": {"read": 14, "partly": True},
        },
        "brand": {
            "company": "Meridian",
            "colors": {"primary": "#0b3b46", "secondary": "#0b7285", "accent": "#12b886"},
            "logo": data_uri(SVG),
        },
        "bpo_prefix": "Northgate Services",
        "revision": 3,
        "generated_at": datetime(2026, 11, 21, 9, 30, tzinfo=UTC),
    } | changed


def content(**changed: Any) -> Content:
    """The content of these arguments."""
    return content_of(**stored(**changed))


_SCRIPTS = (
    "日本語の文章です。中文文本。한국어 텍스트. हिन्दी पाठ। ไทย. עברית. Ελληνικά, Кириллица, አማርኛ 😀👩‍👩‍👧‍👦🇩🇪 𓀀 ∑"
)
CASES: dict[str, dict[str, Any]] = {
    "whole": {},
    "picture": {"brand": {"logo": data_uri(png(), "image/png")}},
    "empty": {
        "company": "",
        "domain": None,
        "score": None,
        "factors": [],
        "copy_blobs": {},
        "analysis": {},
        "brand": {},
        "bpo_prefix": "",
    },
    "null": {"score": 0, "factors": None, "copy_blobs": None, "analysis": None, "brand": None, "bpo_prefix": None},
    "many": {
        "factors": [
            {"name": f"Signal {i}", "score": i % 101, "weight": i % 7, "finding": "Something was found. " * (i % 9)}
            for i in range(500)
        ]
    },
    "long": {
        "company": "Extraordinarilylongcompanyname" * 6,
        "copy_blobs": {
            "headline": "word " * 3_000,
            "executive_summary": "W" * 20_000,
            "strengths": ["long point " * 300] * 40,
            "gaps": "A sentence that goes on. " * 700,
        }
        | {f"slot {i}": "text" for i in range(50)},
        "bpo_prefix": "Q" * 80,
    },
    "scripts": {
        "company": "شركة النور للتجارة",
        "domain": "例え.jp",
        "copy_blobs": {
            "headline": "نص عربي مع English و 123",
            "executive_summary": _SCRIPTS,
            "strengths": ["عنصر أول", "עניין שני", "第三", "😀 four"],
            "gaps": [_SCRIPTS],
            "العنوان": "قيمة",
        },
        "analysis": {"findings": ["نتيجة", {"title": "发现", "detail": "詳細", "severity": "high"}]},
        "brand": {"company": "شركة النور"},
        "bpo_prefix": "株式会社",
    },
    "nasty": {
        "company": NASTY,
        "domain": NASTY,
        "copy_blobs": {
            NASTY: NASTY,
            "executive_summary": NASTY,
            "headline": "\u200b",
            "strengths": ["", "\x00", NASTY],
        },
        "analysis": {NASTY: {NASTY: [NASTY, 1, None, True]}, "findings": [NASTY, {}], "benchmarks": [{}]},
        "factors": [{"name": NASTY, "finding": NASTY, "weight": 1}],
        "brand": {"company": NASTY},
        "bpo_prefix": '=HYPERLINK("http://x")',
    },
    "white": {"brand": {"colors": {"primary": "#fff", "secondary": "#ffff00", "accent": "#fefefe"}}},
}
"""What a merge patch may have made of a report; all of it renders."""
