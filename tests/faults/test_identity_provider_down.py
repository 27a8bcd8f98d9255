"""The external identity provider down: credentials go on, and sessions with the last good keys."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey

from tests.faults.load import until
from tests.support.loopback import Reply, serving
from tests.support.service import Service

pytestmark = pytest.mark.long

KEY, UNKNOWN = ECKey.generate_key("P-256"), ECKey.generate_key("P-256")
MAKE = 'mutation { userTokenCreate(input: {name: "ci"}) { patKey userErrors { code } } }'
ASK = "{ viewer { subject } }"
WAIT_SECONDS = 2.0
"""For a key that is not known (identity/jwks.py)."""
_SLACK = 2.0


def _session(issuer: str, key: ECKey = KEY) -> str:
    now = int(time.time())
    claims = {"iss": issuer, "sub": "user_1", "org_id": "org_1", "scope": "deals:read pats:create", "iat": now}
    claims["aud"] = "crm"
    return jwt.encode({"alg": "ES256", "kid": key.thumbprint()}, {**claims, "exp": now + 600}, key)


def _answer(asked: Any) -> Reply:
    issuer = f"http://{asked.headers['host']}"
    if asked.path.endswith("openid-configuration"):
        return Reply({"issuer": issuer, "jwks_uri": f"{issuer}/keys"})
    return Reply({"keys": [{**KEY.as_dict(private=False), "kid": KEY.thumbprint(), "alg": "ES256", "use": "sig"}]})


def _ready(address: str) -> tuple[int, dict[str, bool]]:
    answer = httpx.get(f"{address}/ready", timeout=10)
    return answer.status_code, {check["name"]: check["ok"] for check in answer.json()["checks"]}


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_who_is_known_goes_on(database_url: str, tmp_path: Path) -> None:
    settings = {"CRM_DATABASE_URL": database_url, "CRM_RATE_LIMIT": "off", "CRM_OIDC_AUDIENCE": "crm"}

    def asked(address: str, token: str, document: str = ASK) -> tuple[int, Any, float]:
        began = time.monotonic()
        answer = httpx.post(
            f"{address}/graphql", json={"query": document}, headers={"Authorization": f"Bearer {token}"}, timeout=30
        )
        return answer.status_code, answer.json(), time.monotonic() - began

    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(serving(_answer))
        issuer = provider.url
        session, stranger = _session(issuer), _session(issuer, UNKNOWN)
        with Service(tmp_path, "--no-worker", CRM_OIDC_ISSUER=issuer, **settings) as service:

            async def loaded() -> bool:
                return (await asyncio.to_thread(_ready, service.address))[0] == 200

            await until(loaded, 30)
            status, body, _ = await asyncio.to_thread(asked, service.address, session, MAKE)
            assert status == 200, body
            credential = body["data"]["userTokenCreate"]["patKey"]
            await stack.aclose()  # it is down from here on
            for token in (session, credential):
                status, body, seconds = await asyncio.to_thread(asked, service.address, token)
                assert (status, body.get("data")) == (200, {"viewer": {"subject": "user_1"}})
                assert seconds < _SLACK
            status, _, seconds = await asyncio.to_thread(asked, service.address, stranger)
            assert status == 401
            assert seconds < WAIT_SECONDS + _SLACK
            assert (await asyncio.to_thread(_ready, service.address))[0] == 200
            # However many unknown keys come, nobody else waits.
            crowd = [asyncio.to_thread(asked, service.address, stranger) for _ in range(20)]
            (status, _, seconds), *refused = await asyncio.gather(
                asyncio.to_thread(asked, service.address, credential), *crowd
            )
            assert (status, {status for status, _, _ in refused}) == (200, {401})
            assert seconds < _SLACK
        with Service(tmp_path, "--no-worker", CRM_OIDC_ISSUER=issuer, **settings) as service:
            # A process that starts meanwhile knows no keys: it says so, and nobody's session is called wrong.
            status, body, seconds = await asyncio.to_thread(asked, service.address, credential)
            assert (status, "errors" in body) == (200, False)
            assert seconds < _SLACK
            status, body, seconds = await asyncio.to_thread(asked, service.address, session)
            assert (status, body["errors"][0]["extensions"]["code"]) == (503, "UNAVAILABLE")
            assert seconds < WAIT_SECONDS + _SLACK
            status, checks = await asyncio.to_thread(_ready, service.address)
            assert (status, checks["identity_provider"], checks["database"]) == (503, False, True)
