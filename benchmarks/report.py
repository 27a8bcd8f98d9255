"""The figures as a table for people and as JSON for programs."""

from __future__ import annotations

import platform
import sys
import sysconfig
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.asking import FASTAPI, FLOOR, GATEWAY, IDIOMATIC, MERCURIUS


class Target(NamedTuple):
    """A goal against a contestant at 32 connections on PostgreSQL."""

    rate: Mapping[str, float]
    """At least so many times the requests per second of a contestant."""
    processor: float | None = None
    """At most so many times the processor time that Mercurius and PostgreSQL take together."""


_LISTED = Target({FLOOR: 0.6})
_PAGE_OF_20 = Target({MERCURIUS: 0.9}, 1.1)
_STAGED = Target({MERCURIUS: 0.3}, 3.5)
_MOVED = Target({MERCURIUS: 0.3})
_POSTED = Target({FLOOR: 0.3})
TARGETS: Mapping[str, Target] = {
    "meetings_200": Target({IDIOMATIC: 18, FLOOR: 0.75, MERCURIUS: 2.5}, 0.5),
    "meetings_20": Target({IDIOMATIC: 9, FLOOR: 0.5, MERCURIUS: 0.9}, 1.1),
    "meetings_filtered": _PAGE_OF_20,
    "meetings_filtered_literal": _PAGE_OF_20,
    "deals_200": _LISTED,
    "deals_200_owned": _LISTED,
    "deal_detail": Target({IDIOMATIC: 16, FLOOR: 0.5, MERCURIUS: 1.0}, 1.0),
    "dashboard": Target({IDIOMATIC: 14, FLOOR: 0.45, MERCURIUS: 1.2}, 0.9),
    "rest_meetings_200": Target({FASTAPI: 6.4, FLOOR: 0.75}),
    "deal_move": _MOVED,
    "deal_move_literal": _MOVED,
    "deal_create": Target({IDIOMATIC: 2.5, FLOOR: 0.25}),
    "deal_create_staged": _STAGED,
    "deal_create_staged_literal": _STAGED,
    "rest_deal_create": _POSTED,
    "rest_deal_create_staged": _POSTED,
}
DECIDING = ("postgresql", 32)
_NOISE = 0.1
"""The share of the machine that others may take before it is worth a word."""

Figures = Mapping[str, Mapping[str, Mapping[int, Mapping[str, Mapping[str, Any]]]]]
"""By dialect, work, connections and contestant."""


def python() -> str:
    """Returns which Python ours run on, and whether it says that it is optimized. Debian's is and does not say so."""
    says_so = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
    known = "optimized" if says_so else "perhaps not optimized"
    return f"Python {platform.python_version()} ({sys.executable}), {known}"


def head(conditions: Mapping[str, Any], console: Console) -> None:
    """Print under which conditions is measured, and who does not take part."""
    console.print(f"{conditions['cores']}\n{conditions['python']}")
    for name, reason in conditions["left_out"].items():
        console.print(f"{name} is left out: {reason}")
    if conditions["others_busy"] > _NOISE:
        console.print(f"The cores are {conditions['others_busy']:.0%} busy with something else: expect noise.")


def table(figures: Figures, console: Console) -> None:
    """Print everything: one table for each database and number of connections."""
    for dialect, works in figures.items():
        for connections in sorted({c for by_connections in works.values() for c in by_connections}):
            console.print(_table(dialect, connections, works))


_FORMATS = {
    "requests/s": ("requests_per_second", ",.0f"),
    "p50 ms": ("p50_ms", ".2f"),
    "p99 ms": ("p99_ms", ".2f"),
    "server ms": ("server_ms", ".2f"),
    "PostgreSQL ms": ("database_ms", ".2f"),
    "sum": ("processor_ms", ".2f"),
    "MiB": ("memory_mib", ".0f"),
    "bytes": ("bytes", ",d"),
    "its core": ("contestant_core_busy", ".0%"),
    "load's": ("load_core_busy", ".0%"),
}
"""The columns of the table: their heads, which figures they show and how."""


def _table(dialect: str, connections: int, works: Mapping[str, Mapping[int, Any]]) -> Table:
    made = Table(title=f"{dialect}, {connections} connection{'s' * (connections > 1)}", title_justify="left")
    for name in ("work", "contestant"):
        made.add_column(name, no_wrap=True)
    for name in (*_FORMATS, "gateway is", "its sum is"):
        made.add_column(name, justify="right")
    for work, by_connections in works.items():
        rows = by_connections.get(connections, {})
        target = TARGETS.get(work) if (dialect, connections) == DECIDING else None
        for name, row in rows.items():
            figures = (format(row[key], how) for key, how in _FORMATS.values())
            made.add_row(work if name == GATEWAY else "", name, *figures, *_verdict(name, rows[GATEWAY], target))
        made.add_section()
    return made


def _verdict(name: str, ours: Mapping[str, Any], target: Target | None) -> tuple[str, str]:
    """How the gateway stands to the contestant by rate and by processor time, with the targets where there are some."""
    if name == GATEWAY:
        return "", ""
    rate, processor = ours["rate_against"][name], ours["processor_against"][name]
    texts = [f"{rate:.2f}×", f"{processor:.2f}×"]
    if target is not None and name in target.rate:
        texts[0] += f" ≥ {target.rate[name]:g} {_mark(rate >= target.rate[name])}"
    if target is not None and target.processor is not None and name == MERCURIUS:
        texts[1] += f" ≤ {target.processor:g} {_mark(processor <= target.processor)}"
    return texts[0], texts[1]


def _mark(reached: bool) -> str:
    return "✓" if reached else "✗"


def document(figures: Figures, conditions: Mapping[str, Any]) -> dict[str, Any]:
    """The works at 32 connections on PostgreSQL under `works`, all under `all`."""
    dialect, connections = DECIDING
    deciding = {work: each[connections] for work, each in figures.get(dialect, {}).items() if connections in each}
    return {
        "works": {work: {**rows[GATEWAY], "contestants": rows} for work, rows in deciding.items()},
        "all": figures,
        "conditions": {
            **conditions,
            "machine": platform.platform(),
            "libraries": {
                name: version(name)
                for name in ("strawberry-graphql", "sqlmodel", "sqlalchemy", "fastapi", "uvicorn", "asyncpg", "orjson")
            },
        },
    }
