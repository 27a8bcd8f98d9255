"""What Prometheus itself says of `/metrics` and of the alert rules: its own tool reads both."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from time import monotonic, sleep

import httpx
import pytest
import yaml

from tests.support.service import Service

PROMTOOL = shutil.which("promtool")
RULES = Path(__file__).parents[2] / "examples" / "operations" / "alerts.yaml"

pytestmark = pytest.mark.skipif(PROMTOOL is None, reason="needs promtool, of Debian's package prometheus")


def _promtool(*arguments: str, given: str = "") -> str:
    """What it says; a failure is one of the test."""
    assert PROMTOOL is not None
    done = subprocess.run([PROMTOOL, *arguments], input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [(), pytest.param(("--workers", "2"), marks=pytest.mark.long)])
def test_the_metrics_are_as_prometheus_wants_them(arguments: tuple[str, ...], tmp_path: Path) -> None:
    with Service(tmp_path, "--demo", *arguments) as service:
        headers = {"Authorization": f"Bearer {service.value('Token')}"}
        assert httpx.get(f"{service.address}/deals", headers=headers).status_code == 200
        text = httpx.get(f"{service.address}/metrics").text
        service.end()
    assert _promtool("check", "metrics", given=text) == ""
    families = Counter(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
    assert set(families.values()) == {1}
    expected = {"process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"}
    assert {*expected, "crm_statement_seconds", "crm_webhooks_oldest_undelivered_seconds"} <= families.keys()
    processes = re.findall(r"^process_resident_memory_bytes(\S*) ", text, re.MULTILINE)
    assert len(processes) >= (2 if arguments else 1)  # and of their workers those that have begun
    assert len(set(processes)) == len(processes)


def test_what_is_wrong_is_found() -> None:
    assert PROMTOOL is not None
    wrong = "# TYPE crm_thing counter\ncrm_thing 1\n"
    assert subprocess.run([PROMTOOL, "check", "metrics"], input=wrong, capture_output=True, text=True).returncode != 0


def test_the_alert_rules_are_as_prometheus_wants_them() -> None:
    assert "SUCCESS" in _promtool("check", "rules", str(RULES))


def test_the_alarm_fires_once_the_worker_is_stopped(tmp_path: Path) -> None:
    """Both figures are scraped: while the worker runs, and of the same service once no worker does."""
    with Service(tmp_path) as service:
        # A busy machine's first look may come before the worker's first beat, and is kept for a while.
        until = monotonic() + 60
        while (running := _workers(service)) == 0 and monotonic() < until:
            sleep(1)
        service.end()
    with Service(tmp_path, "--no-worker") as service:
        stopped = _workers(service)
        service.end()
    assert (running, stopped) == (1.0, 0.0)
    assert _fires(tmp_path, f"{running}x5 {stopped}x5", "9m", "CrmNoWorker")
    assert not _fires(tmp_path, f"{running}x10", "9m", "CrmNoWorker")


def _workers(service: Service) -> float:
    text = httpx.get(f"{service.address}/metrics").text
    [found] = re.findall(r"^crm_workers (\S+)$", text, re.MULTILINE)
    return float(found)


def _fires(folder: Path, values: str, moment: str, name: str) -> bool:
    """Whether the documented rule fires then, on a series with a value for each minute."""
    [rule] = [one for one in yaml.safe_load(RULES.read_text())["groups"][0]["rules"] if one["alert"] == name]
    expected = {"exp_labels": rule["labels"], "exp_annotations": rule["annotations"]}
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": 'crm_workers{job="crm"}', "values": values}],
                "alert_rule_test": [{"eval_time": moment, "alertname": name, "exp_alerts": [expected]}],
            }
        ],
    }
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump(test))
    assert PROMTOOL is not None
    done = subprocess.run([PROMTOOL, "test", "rules", str(file)], capture_output=True, text=True)
    assert done.returncode == 0 or "got:[]" in done.stdout + done.stderr, done.stdout + done.stderr
    return done.returncode == 0
