"""Nothing is measured unless the answers are equal; ratios are of one round; processor time is of a whole family."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from benchmarks import node, report
from benchmarks.asking import FLOOR, GATEWAY, MERCURIUS, Request, Work
from benchmarks.baselines.floor import making
from benchmarks.contestants import Contestant
from benchmarks.cores import TICKS, processor_seconds, ticks_of
from benchmarks.measure import Different, Load, Refused, compare, per_request, ratios


class Saying:
    """A contestant that has its answers ready."""

    def __init__(self, *answers: Any, status: int = 200) -> None:
        self._answers, self._status = iter(answers), status

    def ask(self, _request: Request) -> tuple[int, bytes]:
        return self._status, json.dumps(next(self._answers)).encode()


def compared(ours: Sequence[Any], theirs: Saying, *, dropped: str = "") -> dict[str, list[int]]:
    requests: dict[str, Sequence[Request]] = {name: [Request("GET", "/")] * len(ours) for name in (GATEWAY, MERCURIUS)}
    contestants = cast(dict[str, Contestant], {GATEWAY: Saying(*ours), MERCURIUS: theirs})
    return compare(Work("work", lambda *_: requests, dropped=frozenset({dropped})), requests, contestants)


def test_equal_answers_give_the_lengths_that_the_load_expects() -> None:
    ours = {"data": {"deal": {"id": "1"}}, "extensions": {}}
    assert compared([ours], Saying({"data": {"deal": {"id": "1"}}})) == {
        GATEWAY: [len(json.dumps(ours))],
        MERCURIUS: [len('{"data": {"deal": {"id": "1"}}}')],
    }


@pytest.mark.parametrize(
    ("theirs", "where"),
    [
        (
            {"data": {"deal": {"id": "1", "tags": ["a", "c"]}}},
            r"request 1: at \.tags\[1\] gateway says 'b', mercurius 'c'",
        ),
        ({"data": {"deal": {"id": "1"}}}, "request 1: at the top"),
        ({"data": {"deal": None}, "errors": [{"message": "no"}]}, "request 1: at the top"),
    ],
)
def test_one_other_answer_ends_it_and_says_where(theirs: Any, where: str) -> None:
    ours = {"data": {"deal": {"id": "1", "tags": ["a", "b"]}}}
    with pytest.raises(Different, match=where):
        compared([ours, ours], Saying(ours, theirs))


def test_another_status_ends_it_even_with_equal_answers() -> None:
    with pytest.raises(Different, match="mercurius answered 500"):
        compared([{"id": "1"}], Saying({"id": "1"}, status=500))


def test_what_differs_by_nature_is_not_compared() -> None:
    compared([{"id": "1", "name": "x"}], Saying({"id": "2", "name": "x"}), dropped="id")


def test_whoever_answers_otherwise_under_load_is_named() -> None:
    commands, results = StringIO(), StringIO('{"failure": "expected 5 bytes"}\n')
    contestant = Contestant(MERCURIUS, os.getpid(), 80)
    with pytest.raises(Refused, match="mercurius: expected 5 bytes"):
        Load(commands, results).measure(contestant, [b"GET"], [5], 200, seconds=1)
    assert json.loads(commands.getvalue())["lengths"] == [5]


def figures(rate: float, processor: float) -> dict[str, float]:
    return {"requests_per_second": rate, "processor_ms": processor}


def test_ratios_are_taken_within_rounds_and_then_their_median() -> None:
    """Medians of each alone would be 1.0: the second round was slow for both."""
    ours = [figures(100, 1.0), figures(20, 5.0), figures(300, 1.0)]
    theirs = [figures(200, 2.0), figures(10, 20.0), figures(100, 4.0)]
    assert ratios({GATEWAY: ours, FLOOR: theirs}) == {
        "rate_against": {FLOOR: 2.0},
        "processor_against": {FLOOR: 0.25},
    }


def test_processor_time_per_request_is_the_servers_and_the_databases() -> None:
    spent = per_request((1.0, 10.0), (1.5, 10.25), 1000)
    assert spent == pytest.approx({"server_ms": 0.5, "database_ms": 0.25, "processor_ms": 0.75})


def test_what_took_less_than_a_tick_is_counted_as_one() -> None:
    assert per_request((1.0, 0.0), (1.0, 0.0), 10)["processor_ms"] == pytest.approx(1000 / TICKS / 10)


def test_ticks_are_those_in_the_process_in_the_kernel_and_of_children_that_ended() -> None:
    fields = ["S", *map(str, range(4, 14)), "100", "20", "3", "4", "20", "0"]
    assert ticks_of(f"7 (a name (with) 9 9 9) {' '.join(fields)}") == 127


def test_a_childs_time_counts_while_it_runs_and_when_it_has_ended() -> None:
    burn = "import os, time\nwhile time.process_time() < 0.3: pass\n"
    parent = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}]); print('ended', flush=True); input()"
    )
    before = processor_seconds(os.getpid())
    with subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"ended\n"
        assert processor_seconds(process.pid) >= 0.25  # the system counts in hundredths, and rounds each part down
        assert processor_seconds(os.getpid()) > before
        process.stdin.write(b"\n")


def test_nobody_has_the_time_of_a_process_that_is_not_there() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    with pytest.raises((FileNotFoundError, ProcessLookupError)):
        processor_seconds(process.pid)


def test_without_node_mercurius_is_left_out_and_the_report_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    reason = node.missing()
    assert "not installed" in reason
    conditions = {"cores": "one", "python": report.python(), "others_busy": 0.0, "left_out": {MERCURIUS: reason}}
    report.head(conditions, Console(file=(said := StringIO()), width=200))
    assert f"mercurius is left out: {reason}" in said.getvalue()


def test_an_old_node_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("node", "npm"):
        (tmp_path / name).write_text("#!/bin/sh\necho v18.20.0\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert "v18.20.0" in node.missing()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("'--enable-optimizations' '--with-lto'", "optimized"),
        ("'--enable-shared'", "perhaps not optimized"),
        (None, "perhaps not optimized"),
    ],
)
def test_the_report_says_how_python_was_built(monkeypatch: pytest.MonkeyPatch, options: str | None, said: str) -> None:
    monkeypatch.setattr("sysconfig.get_config_var", lambda _name: options)
    assert report.python().endswith(f"), {said}")


def row(rate: float, **more: Any) -> dict[str, Any]:
    columns = dict.fromkeys((key for key, _ in report._FORMATS.values()), 1)
    return {**columns, "requests_per_second": rate, **more}


def test_the_table_shows_ratios_beside_their_targets() -> None:
    ours = row(500, rate_against={MERCURIUS: 0.75, FLOOR: 0.8}, processor_against={MERCURIUS: 0.5, FLOOR: 2.0})
    shown = {"postgresql": {"meetings_200": {32: {GATEWAY: ours, FLOOR: row(625), MERCURIUS: row(667)}}}}
    report.table(shown, Console(file=(said := StringIO()), width=220))
    text = said.getvalue()
    assert "0.75× ≥ 2.5 ✗" in text
    assert "0.50× ≤ 0.5 ✓" in text
    assert "0.80× ≥ 0.75 ✓" in text
    assert report.document(shown, {})["works"]["meetings_200"]["rate_against"] == {MERCURIUS: 0.75, FLOOR: 0.8}


def test_the_floor_makes_records_of_rows() -> None:
    make = making("id account { id health { score factors* } } contacts* metadata?")
    assert make([1, 2, 3, None, None, None]) == {
        "id": 1,
        "account": {"id": 2, "health": {"score": 3, "factors": []}},
        "contacts": [],
        "metadata": None,
    }
    assert make([1, None, None, None, None, None])["account"] is None
