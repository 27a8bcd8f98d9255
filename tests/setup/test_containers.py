"""Dockerfile and compose.yaml, as far as they can be tried without containers."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.settings import Settings
from gateway.shown_settings import variable_of
from tests.support.service import SCRIPT, Service, environment

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
LINES = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE)).splitlines()


def _instructions(name: str) -> list[str]:
    return [line.partition(" ")[2].strip() for line in LINES if line.startswith(f"{name} ")]


def _settings() -> set[str]:
    return {variable_of(name) for name in Settings.model_fields} | {"DATABASE_URL"}


def _copied() -> list[str]:
    sources = [source for line in _instructions("COPY") for source in line.split()[:-1]]
    return [source for source in sources if not source.startswith(("--from", "/"))]


def test_what_is_copied_is_there_and_let_through() -> None:
    admitted = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert set(_copied()) == admitted
    assert all((ROOT / source).exists() for source in _copied())
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert set(packages["packages"]) < set(_copied())


def test_the_image_is_small_locked_and_ordinary() -> None:
    assert _instructions("FROM") == ["python:3.13-slim AS build", "python:3.13-slim"]
    installs = [line for line in _instructions("RUN") if "pip install" in line]
    assert all("--require-hashes" in line or line.endswith("--no-build-isolation .") for line in installs)
    assert all("--no-deps" in line for line in installs)
    assert _instructions("USER") == ["crm"]
    assert LINES.index("USER crm") > max(i for i, line in enumerate(LINES) if line.startswith(("RUN", "COPY")))
    for word in ("PASSWORD", "SECRET", "TOKEN", "API_KEY", "://"):
        assert word not in DOCKERFILE.replace("http://127.0.0.1", "")
    [variables] = [line for line in _instructions("ENV") if "CRM_DATA_DIR" in line]
    names = {part.partition("=")[0] for part in shlex.split(variables)}
    assert names - _settings() == {"PATH", "PYTHONUNBUFFERED"}


@pytest.mark.long
def test_the_distribution_of_what_is_copied_runs(tmp_path: Path) -> None:
    source, installed = tmp_path / "source", tmp_path / "installed"
    source.mkdir()
    for name in _copied():
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)], cwd=source, check=True
    )
    [wheel] = tmp_path.glob("*.whl")
    shutil.unpack_archive(wheel, installed, "zip")
    code = "import gateway, sys; assert gateway.__file__.startswith(sys.path[0]); from gateway.cli import main; main()"

    def run(*arguments: str) -> str:
        words = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(installed)!r}); {code}", *arguments]
        result = subprocess.run(words, check=False, cwd=tmp_path, env=environment(tmp_path), capture_output=True)
        assert result.returncode == 0, result.stderr
        return result.stdout.decode()

    assert run("version") == "0.0.1\n"
    assert run("schema", "print") == (ROOT / "schema" / "schema.graphql").read_text()
    run("migrate")


def test_the_health_check_asks_the_service(tmp_path: Path) -> None:
    [check] = re.findall(r"CMD (\[\"python.*\])", DOCKERFILE)
    _, *arguments = json.loads(check)

    def asked(**settings: str) -> int:
        words = [sys.executable, *arguments]
        return subprocess.run(words, check=False, env=os.environ | settings, stderr=subprocess.DEVNULL).returncode

    with Service(tmp_path, "--no-worker") as service:
        port = service.address.rpartition(":")[2]
        assert asked(PORT=port, CRM_METRICS_PORT="") == 0
        assert asked(PORT="1", CRM_METRICS_PORT=port) == 0
    assert asked(PORT=port, CRM_METRICS_PORT="") == 1


@pytest.mark.parametrize("name", ["migrate", "gateway", "worker"])
def test_a_service_of_ours_has_commands_and_settings_that_exist(name: str) -> None:
    service = COMPOSE["services"][name]
    help_text = subprocess.run(
        [SCRIPT, service["command"][0], "--help"], check=True, capture_output=True, text=True, env=environment(ROOT)
    ).stdout
    assert all(option in help_text for option in service["command"][1:])
    assert set(service["environment"]) <= _settings()
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]


def test_the_pieces_of_the_compose_file_fit() -> None:
    services = COMPOSE["services"]
    assert set(services) == {"database", "migrate", "gateway", "worker"}
    assert services["database"]["image"] == "postgres:18"
    assert services["gateway"]["environment"]["WEB_CONCURRENCY"] == "2"
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"])
        assert {volume.partition(":")[0] for volume in service["volumes"]} <= set(COMPOSE["volumes"])
    assert "healthcheck" in services["database"]
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert ports == ["127.0.0.1:8000:8000"]
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert "/secrets/" in ignored
    assert all(secret["file"].startswith("secrets/") for secret in COMPOSE["secrets"].values())
    assert services["gateway"]["env_file"] == "secrets/crm.env"


def test_the_role_of_the_compose_file_is_an_ordinary_one() -> None:
    script = COMPOSE["configs"]["role"]["content"]
    assert "CREATE ROLE crm LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'password'" in script
    assert "CREATE DATABASE crm OWNER crm" in script
    assert subprocess.run(["sh", "-n"], input=script.replace("$$", "$"), text=True, check=False).returncode == 0
