"""The external issuer against a real OpenID provider: discovery, its tokens in every algorithm, rotation, outage."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import httpx
import pytest
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey

from identity.claims import Claims
from identity.issuers import ExternalIssuer
from identity.jwks import RemoteKeys
from identity.signatures import InvalidToken

HERE = Path(__file__).resolve().parent
KEYS: dict[str, Key] = {
    "ES256": ECKey.generate_key("P-256"),
    "ES384": ECKey.generate_key("P-384"),
    "EdDSA": OKPKey.generate_key("Ed25519"),
    "Ed25519": OKPKey.generate_key("Ed25519"),
    "RS256": RSAKey.generate_key(2048),
    "PS256": RSAKey.generate_key(2048),
}
NEXT = ECKey.generate_key("P-256")


@dataclass
class Provider:
    process: subprocess.Popen[str]
    complaints: Path

    def begin(self, algorithm: str, *keys: Key) -> str:
        """Start anew with these keys, signing with the first, and return the issuer."""
        members = [{**key.as_dict(private=True), "kid": key.thumbprint(), "use": "sig"} for key in keys]
        if algorithm == "PS256":
            # Said of no other key, as many providers do; but an RSA key that does not say so is one for RS256.
            members[0]["alg"] = "PS256"
        cast(IO[str], self.process.stdin).write(json.dumps({"keys": members, "alg": algorithm}) + "\n")
        cast(IO[str], self.process.stdin).flush()
        for line in cast(IO[str], self.process.stdout):
            if line.startswith("http://127.0.0.1:"):
                return line.strip()
        pytest.fail(f"The provider ended: {self.complaints.read_text()}")


@pytest.fixture(scope="module")
def node() -> str:
    found = shutil.which("node")
    if found is None or shutil.which("npm") is None:
        pytest.fail("Node.js is missing, and no real identity provider was asked: install it (Debian: nodejs npm).")
    installed = HERE / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < (HERE / "package-lock.json").stat().st_mtime:
        subprocess.run(["npm", "ci", "--no-progress"], cwd=HERE, check=True, timeout=300)
    return found


@pytest.fixture
def provider(node: str, tmp_path: Path) -> Iterator[Provider]:
    with (
        (tmp_path / "stderr").open("w") as stderr,
        subprocess.Popen(
            [node, str(HERE / "server.mjs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process,
    ):
        try:
            yield Provider(process, tmp_path / "stderr")
        finally:
            process.kill()


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False) as client:
        yield client


async def access_token(http: httpx.AsyncClient, issuer: str) -> str:
    form = {
        "grant_type": "client_credentials",
        "client_id": "user-1",
        "client_secret": "a-secret-of-the-tests",
        "scope": "deals:read deals:manage",
    }
    answer = await http.post(issuer + "/token", data=form)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


@pytest.mark.parametrize("algorithm", sorted(KEYS))
async def test_its_tokens_are_believed(provider: Provider, http: httpx.AsyncClient, algorithm: str) -> None:
    issuer = provider.begin(algorithm, KEYS[algorithm])
    verifier = ExternalIssuer(RemoteKeys(http, issuer=issuer, jwks_url=None), issuer, "crm")
    claims = await verifier.verify(await access_token(http, issuer))
    assert claims.issued_at is not None
    assert claims == Claims(
        subject="user-1",
        organizations=("org-1",),
        scopes=frozenset({"deals:read", "deals:manage"}),
        name="Ada",
        email="ada@example.org",
        issued_at=claims.issued_at,
        expires_at=claims.issued_at + 300,
        issuer=issuer,
    )
    with pytest.raises(InvalidToken, match=r"^a token for another audience$"):
        await ExternalIssuer(RemoteKeys(http, issuer=issuer, jwks_url=None), issuer, "other").verify(
            await access_token(http, issuer)
        )


async def test_its_keys_rotate(provider: Provider, http: httpx.AsyncClient) -> None:
    issuer = provider.begin("ES256", KEYS["ES256"])
    keys = RemoteKeys(http, issuer=issuer, jwks_url=None)
    verifier = ExternalIssuer(keys, issuer, "crm")
    old = await access_token(http, issuer)
    assert (await verifier.verify(old)).subject == "user-1"

    provider.begin("ES256", NEXT, KEYS["ES256"])
    new = await access_token(http, issuer)
    assert await keys.refresh() is True
    assert (await verifier.verify(new)).subject == "user-1"
    assert (await verifier.verify(old)).subject == "user-1"

    provider.begin("ES256", NEXT)
    assert await keys.refresh() is True
    with pytest.raises(InvalidToken, match=r"^signed with an unknown key$"):
        await verifier.verify(old)
    assert (await verifier.verify(new)).subject == "user-1"


async def test_a_new_key_is_found_by_the_first_token_that_it_signs(provider: Provider, http: httpx.AsyncClient) -> None:
    issuer = provider.begin("ES256", KEYS["ES256"])
    keys = RemoteKeys(http, issuer=issuer, jwks_url=None)
    await keys.refresh()
    provider.begin("ES256", NEXT)
    new = await access_token(http, issuer)
    assert (await ExternalIssuer(keys, issuer, "crm").verify(new)).subject == "user-1"


async def test_it_goes_away(provider: Provider, http: httpx.AsyncClient) -> None:
    issuer = provider.begin("ES256", KEYS["ES256"])
    keys = RemoteKeys(http, issuer=issuer, jwks_url=None)
    await keys.refresh()
    token = await access_token(http, issuer)
    cast(IO[str], provider.process.stdin).close()
    assert await asyncio.to_thread(provider.process.wait, 5) == 0
    assert await keys.refresh() is False
    assert (await ExternalIssuer(keys, issuer, "crm").verify(token)).subject == "user-1"
