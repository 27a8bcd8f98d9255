"""The figures as a table for people and as JSON for programs."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.works import GATEWAY, WORKS

TARGETS: dict[str, tuple[float, float]] = {
    "meetings_200": (18, 0.75),
    "meetings_20": (9, 0.5),
    "deal_detail": (16, 0.5),
    "dashboard": (14, 0.45),
    "rest_meetings_200": (6.4, 0.75),
    "deal_create": (2.5, 0.25),
}
"""What is wanted against the idiomatic baseline and against the floor, at 32 connections on PostgreSQL."""
DECIDING = ("postgresql", 32)

Figures = Mapping[str, Mapping[str, Mapping[int, Mapping[str, Mapping[str, Any]]]]]
"""By dialect, work, connections and contestant."""


def table(figures: Figures, console: Console) -> None:
    """Print everything: one table for each database and number of connections."""
    for dialect, works in figures.items():
        for connections in sorted({c for by_connections in works.values() for c in by_connections}):
            console.print(_table(dialect, connections, works))


def _table(dialect: str, connections: int, works: Mapping[str, Mapping[int, Any]]) -> Table:
    made = Table(title=f"{dialect}, {connections} connection{'s' * (connections > 1)}", title_justify="left")
    for name in ("work", "contestant"):
        made.add_column(name)
    for name in ("requests/s", "p50 ms", "p99 ms", "CPU ms", "MiB", "kB", "its core", "load's", "gateway is"):
        made.add_column(name, justify="right")
    for work, by_connections in works.items():
        if connections not in by_connections:
            continue
        rows = by_connections[connections]
        for name, row in rows.items():
            made.add_row(
                work if name == GATEWAY else "",
                name,
                f"{row['requests_per_second']:,.0f}",
                f"{row['p50_ms']:.2f}",
                f"{row['p99_ms']:.2f}",
                f"{row['processor_ms']:.2f}",
                f"{row['memory_mib']:.0f}",
                f"{row['bytes'] / 1000:.1f}",
                f"{row['contestant_core_busy']:.0%}",
                f"{row['load_core_busy']:.0%}",
                _verdict(work, name, rows[GATEWAY], deciding=(dialect, connections) == DECIDING),
            )
        made.add_section()
    return made


def _verdict(work: str, name: str, ours: Mapping[str, Any], *, deciding: bool) -> str:
    """How the gateway stands to the contestant, with the target where there is one."""
    if name == GATEWAY:
        return ""
    against_floor = name == "floor"
    ratio = ours["vs_floor" if against_floor else "vs_idiomatic"]
    text = f"{ratio:.2f}×"
    if deciding and work in TARGETS:
        target = TARGETS[work][against_floor]
        text += f" of {target:g}× {'✓' if ratio >= target else '✗'}"
    return text


def document(figures: Figures, conditions: Mapping[str, Any]) -> dict[str, Any]:
    """The works at 32 connections on PostgreSQL under `works`, what has no target under `extra`, all under `all`."""
    extra = {work.name for work in WORKS if work.extra}
    entries = dict(_entries(figures))
    return {
        "works": {name: entry for name, entry in entries.items() if name not in extra},
        "extra": {name: entry for name, entry in entries.items() if name in extra},
        "all": figures,
        "conditions": {
            **conditions,
            "python": platform.python_version(),
            "machine": platform.platform(),
            "libraries": {
                name: version(name)
                for name in ("strawberry-graphql", "sqlmodel", "sqlalchemy", "fastapi", "uvicorn", "asyncpg", "orjson")
            },
        },
    }


def _entries(figures: Figures) -> Iterator[tuple[str, dict[str, Any]]]:
    dialect, connections = DECIDING
    for work, by_connections in figures.get(dialect, {}).items():
        rows = by_connections.get(connections)
        if rows is not None:
            yield work, {**rows[GATEWAY], "contestants": rows}
