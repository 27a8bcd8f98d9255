"""The data folder is judged before anything in it is made, read or migrated, by every command (decision 162)."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.service import SCRIPT, Outcome, environment

Command = Callable[..., Outcome]

FAULTY = 78
COMMANDS = {
    "serve": ("serve", "--no-worker"),
    "worker": ("worker",),
    "doctor": ("doctor",),
    "migrate": ("migrate",),
    "seed": ("seed", "--demo"),
    "token": ("token", "--user", "somebody"),
    "org": ("org", "create", "New"),
    "member": ("member", "remove", "--org", "o", "--user", "u"),
}
DATABASE = [f"crm.sqlite3{ending}" for ending in ("", "-wal", "-shm", "-journal", ".lock", ".next", ".turn")]
FILES = [*DATABASE, "pepper", "pepper.previous", "signing-key.pem", "signing-key.previous.pem"]


def _state(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """All that is in a folder, with modes and contents; links as links."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            path.read_bytes() if path.is_file() and not path.is_symlink() else None,
        )
        for path in sorted(folder.rglob("*"))
        if path.name not in ("out", "err")  # the command's own
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder, empty; what is put there comes to nobody's eyes."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    return folder


def _refuses(command: Command, tmp_path: Path, arguments: tuple[str, ...], path: Path, **settings: str) -> str:
    before = _state(tmp_path)
    outcome = command(*arguments, **settings)
    assert outcome.code == FAULTY, outcome.err
    assert outcome.out == ""
    assert f"{path}: " in outcome.err
    assert "CRM_D" in outcome.err or "CRM_ARTIFACTS_URL" in outcome.err
    assert _state(tmp_path) == before, "something was made, read or migrated all the same"
    return outcome.err


@pytest.mark.parametrize("mode", [0o720, 0o702])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_that_others_can_write_to(
    command: Command, tmp_path: Path, folder: Path, name: str, mode: int
) -> None:
    folder.chmod(mode)
    said = _refuses(command, tmp_path, COMMANDS[name], folder)
    assert said.startswith("CRM_DATA_DIR: ")
    assert f"{mode:04o}" in said


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("name", ["serve", "doctor", "migrate"])
def test_links_are_not_followed(command: Command, tmp_path: Path, folder: Path, name: str, file: str) -> None:
    for target in ("there", "nowhere"):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir(mode=0o700, exist_ok=True)
        (elsewhere / "there").write_text("")
        (elsewhere / "there").chmod(0o600)
        (folder / file).symlink_to(elsewhere / target)
        assert "symbolic link" in _refuses(command, tmp_path, COMMANDS[name], folder / file)
        (folder / file).unlink()


@pytest.mark.parametrize("mode", [0o640, 0o604])
@pytest.mark.parametrize("file", FILES)
def test_files_that_others_can_read(command: Command, tmp_path: Path, folder: Path, file: str, mode: int) -> None:
    """Keys wherever they are; the database where others may get at it."""
    (folder / file).write_bytes(b"")
    (folder / file).chmod(mode)
    if file in DATABASE:
        folder.chmod(0o711)
    for name in ("serve", "doctor"):
        assert f"{mode:04o}" in _refuses(command, tmp_path, COMMANDS[name], folder / file)


@pytest.mark.parametrize("mode", [0o644, 0o666])
def test_a_database_of_an_earlier_version(command: Command, tmp_path: Path, folder: Path, mode: int) -> None:
    """It was made with the umask's mode, in a folder that nobody else can enter: it is closed, and that is said."""
    assert command("migrate").code == 0
    files = [file for name in DATABASE if (file := folder / name).exists()]
    for file in files:
        file.chmod(mode)
    looked = command("doctor")
    assert looked.code == 1
    assert all(f"{file} is open to others than its owner (mode {mode:04o})" in looked.out for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {mode}, "doctor changes nothing"
    done = command("org", "create", "New", "--id", "new")
    assert (done.code, done.out.strip()) == (0, "new")
    [line] = [line for line in done.err.splitlines() if str(files[0]) in line]
    assert all(str(file) in line for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files if file.exists()} == {0o600}
    assert "database_file" not in command("doctor").out
    assert str(files[0]) not in command("org", "create", "Next").err


def test_a_database_that_is_open_elsewhere_or_under_another_name(
    command: Command, tmp_path: Path, folder: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (elsewhere / "crm.db").write_bytes(b"")
    (elsewhere / "crm.db").chmod(0o644)
    url = f"sqlite+aiosqlite:///{elsewhere / 'crm.db'}"
    assert "0644" in _refuses(command, tmp_path, ("serve",), elsewhere / "crm.db", CRM_DATABASE_URL=url)
    os.link(elsewhere / "crm.db", folder / "crm.sqlite3")
    assert "0644" in _refuses(command, tmp_path, ("serve",), folder / "crm.sqlite3")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("file", ["", *FILES])
def test_what_is_another_user_s(command: Command, tmp_path: Path, folder: Path, file: str) -> None:
    path = folder / file
    if file:
        path.write_bytes(b"")
        path.chmod(0o600)
    os.chown(path, 12_345, -1)
    for name in ("serve", "doctor", "worker"):
        assert "12345" in _refuses(command, tmp_path, COMMANDS[name], path)


def test_the_folder_of_the_files_and_a_database_elsewhere(command: Command, tmp_path: Path, folder: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (folder / "artifacts").symlink_to(elsewhere)
    _refuses(command, tmp_path, ("serve",), folder / "artifacts")
    (folder / "artifacts").unlink()
    (folder / "artifacts").mkdir()
    (folder / "artifacts").chmod(0o777)
    _refuses(command, tmp_path, ("doctor",), folder / "artifacts")
    (folder / "artifacts").chmod(0o700)
    url = f"sqlite+aiosqlite:///{elsewhere / 'crm.db'}"
    elsewhere.chmod(0o770)
    assert "CRM_DATABASE_URL" in _refuses(command, tmp_path, ("migrate",), elsewhere, CRM_DATABASE_URL=url)
    elsewhere.chmod(0o700)
    (elsewhere / "crm.db").symlink_to(folder / "crm.db")
    assert "CRM_DATABASE_URL" in _refuses(command, tmp_path, ("serve",), elsewhere / "crm.db", CRM_DATABASE_URL=url)
    (elsewhere / "crm.db").unlink()
    assert command("migrate", CRM_DATABASE_URL=url).code == 0


def test_several_faults_are_named_together(command: Command, tmp_path: Path, folder: Path) -> None:
    for file in ("pepper", "crm.sqlite3"):
        (folder / file).write_bytes(b"")
        (folder / file).chmod(0o666)
    folder.chmod(0o777)
    said = command("doctor").err.splitlines()
    paths = [folder, folder / "pepper", folder / "crm.sqlite3"]
    assert [line.split(": ")[1] for line in said] == [str(path) for path in paths]
    assert command("serve").err.splitlines() == said
    assert command("config", "show").code == 0


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_what_is_made_is_for_the_user_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    deep = tmp_path / "one" / "two" / "data"
    before = os.umask(umask)
    try:
        done = subprocess.run(
            [SCRIPT, "seed", "--demo"],
            cwd=tmp_path,
            env=environment(tmp_path, CRM_DATA_DIR=str(deep)),
            capture_output=True,
            check=False,
        )
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    made = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "one").rglob("*")}
    assert made[deep / "crm.sqlite3"] == 0o600
    assert {mode for path, mode in made.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in made.items() if path.is_file()} == {0o600}
    assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o700


def test_a_folder_that_is_a_link_of_the_operator_s(command: Command, tmp_path: Path) -> None:
    target = tmp_path / "volume"
    target.mkdir(mode=0o700)
    (tmp_path / "data").symlink_to(target)
    assert command("migrate").code == 0
    assert (target / "crm.sqlite3").is_file()
    target.chmod(0o775)
    assert command("migrate").code == FAULTY
    target.chmod(0o755)  # readable: the files are closed, and doctor says so
    assert command("migrate").code == 0
    assert command("doctor").code == 1
