"""The signing key and the pepper: made once, whole, for their owner's eyes only."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from joserfc.jwk import ECKey

from identity.keyfiles import KeyFileError, pepper, signing_key

ROOT = Path(__file__).resolve().parents[2]
MADE = [
    pytest.param(signing_key, "signing-key.pem", id="signing key"),
    pytest.param(pepper, "pepper", id="pepper"),
]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_files_and_folder_are_their_owners_alone(tmp_path: Path, umask: int) -> None:
    folder = tmp_path / "deep" / "data"
    before = os.umask(umask)
    try:
        signing_key(folder)
        pepper(folder)
    finally:
        os.umask(before)
    assert mode(folder) == 0o700
    assert {path.name: mode(path) for path in folder.iterdir()} == {"signing-key.pem": 0o600, "pepper": 0o600}


def test_the_same_key_and_pepper_every_time(tmp_path: Path) -> None:
    key, value = signing_key(tmp_path), pepper(tmp_path)
    assert signing_key(tmp_path).as_dict(private=True) == key.as_dict(private=True)
    assert pepper(tmp_path) == value
    assert len(value) == 32


def test_two_folders_have_nothing_in_common(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    assert signing_key(one).kid != signing_key(other).kid
    assert pepper(one) != pepper(other)


def test_the_key_is_named_by_its_rfc_7638_thumbprint(tmp_path: Path) -> None:
    key = signing_key(tmp_path)
    public = key.as_dict(private=False)
    canonical = orjson.dumps({name: public[name] for name in ("crv", "kty", "x", "y")})
    assert public["crv"] == "P-256"
    assert key.kid == urlsafe_b64encode(hashlib.sha256(canonical).digest()).decode().rstrip("=")


def test_processes_that_start_together_agree(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from identity.keyfiles import pepper, signing_key; sys.stdin.read(1);"
        "folder = Path(sys.argv[1]); print(signing_key(folder).kid, pepper(folder).hex())"
    )
    folder = tmp_path / "data"
    # Together, because each waits for a byte before it looks.
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(folder)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("x")
        process.stdin.flush()
    answers = {process.communicate(timeout=60)[0] for process in processes}
    assert answers == {f"{signing_key(folder).kid} {pepper(folder).hex()}\n"}
    assert {path.name for path in folder.iterdir()} == {"signing-key.pem", "pepper"}


def test_the_loser_of_a_race_reads_what_the_winner_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    winner = b"ab" * 32
    link = os.link

    def too_late(source: str, target: Path) -> None:
        target.write_bytes(winner)
        target.chmod(0o600)
        link(source, target)

    monkeypatch.setattr(os, "link", too_late)
    assert pepper(tmp_path) == bytes.fromhex(winner.decode())
    assert {path.name for path in tmp_path.iterdir()} == {"pepper"}


@pytest.mark.parametrize(("make", "name"), MADE)
@pytest.mark.parametrize("wrong", [0o640, 0o604, 0o620, 0o610, 0o777])
def test_a_file_open_to_others_is_refused(
    tmp_path: Path, make: Callable[[Path], object], name: str, wrong: int
) -> None:
    make(tmp_path)
    (tmp_path / name).chmod(wrong)
    with pytest.raises(KeyFileError) as refused:
        make(tmp_path)
    assert str(refused.value) == (f"{tmp_path / name}: is open to others than its owner (mode {wrong:04o}); chmod 600")


@pytest.mark.parametrize("wrong", [0o702, 0o720, 0o770, 0o707, 0o1777])
@pytest.mark.parametrize(("make", "name"), MADE)
def test_a_folder_that_others_can_write_in_is_refused(
    tmp_path: Path, make: Callable[[Path], object], name: str, wrong: int
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(wrong)
    with pytest.raises(KeyFileError) as refused:
        make(folder)
    words = f"is writable by others than its owner (mode {wrong:04o}); chmod go-w, or name another folder"
    assert str(refused.value) == f"{folder}: {words}"
    assert not (folder / name).exists()


def private_pem(curve: str) -> bytes:
    return ECKey.generate_key(curve).as_pem(private=True)


NOT_PEM = "does not hold a private key in PEM form"
NOT_P256 = "does not hold a private key of the curve P-256"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", NOT_PEM, id="empty"),
        pytest.param(b"\xff\x00garbage", NOT_PEM, id="garbage"),
        pytest.param(private_pem("P-256")[:-40], NOT_PEM, id="cut off"),
        pytest.param(ECKey.generate_key("P-256").as_pem(private=True, password="x"), NOT_PEM, id="encrypted"),
        pytest.param(private_pem("P-384"), NOT_P256, id="another curve"),
        pytest.param(ECKey.generate_key("P-256").as_pem(), NOT_P256, id="public"),
    ],
)
def test_a_spoilt_key_is_refused_and_left_alone(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "signing-key.pem"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(KeyFileError) as refused:
        signing_key(tmp_path)
    assert str(refused.value) == f"{path}: {reason}"
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"\n", b"ab" * 31, b"ab" * 33, b"zz" * 32, b"\xff" * 32, b"ab" * 20_000])
def test_a_spoilt_pepper_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "pepper"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(KeyFileError) as refused:
        pepper(tmp_path)
    assert str(refused.value) == f"{path}: does not hold 32 bytes in hexadecimal form"
    assert path.read_bytes() == content


@pytest.mark.parametrize(("make", "name"), MADE)
def test_something_else_of_that_name_is_refused_at_once(
    tmp_path: Path, make: Callable[[Path], object], name: str
) -> None:
    path = tmp_path / name
    os.mkfifo(path, 0o600)
    with pytest.raises(KeyFileError, match="is not a file"):
        make(tmp_path)
    path.unlink()
    path.mkdir(mode=0o700)
    with pytest.raises(KeyFileError, match="is not a file"):
        make(tmp_path)


@pytest.mark.parametrize(("make", "name"), MADE)
def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, make: Callable[[Path], object], name: str) -> None:
    (tmp_path / "data").write_bytes(b"")
    with pytest.raises(KeyFileError) as refused:
        make(tmp_path / "data")
    assert str(refused.value) == f"{tmp_path / 'data'}: is no folder"
    with pytest.raises(KeyFileError) as refused:
        make(tmp_path / "data" / "deeper")
    assert str(refused.value) == f"{tmp_path / 'data' / 'deeper' / name}: Not a directory"


@pytest.mark.parametrize(("make", "name"), MADE)
def test_a_full_disk_leaves_nothing_behind(
    tmp_path: Path, make: Callable[[Path], object], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KeyFileError) as refused:
        make(tmp_path)
    assert str(refused.value) == f"{tmp_path / name}: No space left on device"
    assert list(tmp_path.iterdir()) == []
