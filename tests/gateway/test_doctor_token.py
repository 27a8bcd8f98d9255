"""`doctor --token`: what the service makes of a token, rule by rule, without printing it or changing anything."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey

from contract.scopes import Role
from gateway.observability.doctor_settings import Finding
from gateway.observability.doctor_token import explain
from tests.gateway.test_administration import gateway
from tests.gateway.test_made_credentials import KEYS, TOKENS, holds, minted
from tests.identity.test_directory import External, external, settings
from tests.support.gateway import Gateway
from tests.support.service import Outcome

__all__ = ["external", "gateway", "settings"]
ROOT = Path(__file__).parents[2]


def _wrong(findings: list[Finding]) -> dict[str, str]:
    assert all(finding.advice for finding in findings if not finding.ok)
    return {finding.name: finding.message for finding in findings if not finding.ok}


def _token(headers: dict[str, str]) -> str:
    return headers["Authorization"].removeprefix("Bearer ")


def _examples(provider: str) -> dict[str, Any]:
    """The claims that the documentation shows for a provider, with times."""
    section = (ROOT / "docs" / "identity.md").read_text().partition(f"## {provider}\n")[2].partition("\n## ")[0]
    [shown] = re.findall(r"```json\n(.*?)```", section, re.DOTALL)
    return {**json.loads(shown), "exp": int(time.time()) + 600, "iat": int(time.time())}


@pytest.mark.parametrize(("provider", "org_claim"), [("Keycloak", "organization"), ("Auth0", "org_id")])
async def test_the_claims_that_the_documentation_shows_are_taken(
    external: External, provider: str, org_claim: str
) -> None:
    runtime = external.gateway.runtime
    claims = _examples(provider) | {"iss": external.provider.url}
    section = (ROOT / "docs" / "identity.md").read_text().partition(f"## {provider}\n")[2].partition("\n## ")[0]
    [set_up] = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    values = dict(line.split("=", 1) for line in set_up.split())
    assert values.get("CRM_OIDC_ORG_CLAIM", "org_id") == org_claim
    assert values["CRM_OIDC_ISSUER"] == _examples(provider)["iss"]
    named = {"oidc_audience": values["CRM_OIDC_AUDIENCE"], "oidc_org_claim": org_claim}
    runtime.settings = runtime.settings.model_copy(update=named | {"oidc_scope_claim": values["CRM_OIDC_SCOPE_CLAIM"]})
    runtime.services.identity.external = runtime._external()
    token = jwt.encode({"alg": "ES256", "kid": external.key.thumbprint()}, claims, external.key, algorithms=["ES256"])
    findings = await explain(runtime, token)
    assert _wrong(findings) == {}
    told = {finding.name: finding.message for finding in findings}
    organizations = claims[org_claim] if isinstance(claims[org_claim], list) else [claims[org_claim]]
    assert told["organization"] == f"{org_claim}: {', '.join(organizations)}"
    assert told["scopes"] == "permissions: activities:read deals:read"
    assert told["member"] == f"a member of nothing yet; learned at the first call: {', '.join(organizations)}"


async def test_every_mistake_is_named_at_once(external: External) -> None:
    runtime = external.gateway.runtime
    fine = {"org_id": "acme", "scope": "deals:read something"}
    findings = await explain(runtime, _token(external.session("ada", **fine)))
    assert _wrong(findings) == {}
    assert {f.name: f.message for f in findings}["scopes"] == "scope: deals:read; 1 that mean nothing here"
    mistakes = {"iss": "https://other.example/", "exp": 5, "nbf": 9e9, "org_id": {"acme": {}}, "scope": "openid"}
    wrong = _wrong(await explain(runtime, _token(external.session("ada", **mistakes))))
    assert wrong.keys() >= {"exp", "nbf", "organization", "scopes", "iss", "verdict"}
    assert wrong["organization"] == "org_id is an object"
    assert wrong["exp"] == "expires 1970-01-01 00:00:05 UTC"
    before = await external.directory()
    stranger = ECKey.generate_key("P-256")
    payload = {"iss": external.provider.url, "sub": "ada", "exp": int(time.time()) + 60, "aud": "anything", **fine}
    forged = jwt.encode({"alg": "ES256", "kid": external.key.thumbprint()}, payload, stranger, algorithms=["ES256"])
    assert _wrong(await explain(runtime, forged)) == {"verdict": "refused: the signature is wrong"}
    assert await external.directory() == before


async def test_keys_and_sessions_of_the_service(gateway: Gateway) -> None:
    world, runtime = gateway.world, gateway.runtime
    session = world.session("admin@one", world.one)
    assert _wrong(await explain(runtime, _token(session))) == {}
    key, token = await minted(gateway, KEYS, session), await minted(gateway, TOKENS, session)
    for made in (key, token):
        findings = await explain(runtime, made["pat_key"] + "\n")
        assert _wrong(findings) == {}
        assert findings[-1].message == "acts in org_one"
        assert made["pat_key"].rpartition(".")[2] not in repr(findings)
    other = key["pat_key"].rpartition(".")[0] + "." + token["pat_key"].rpartition(".")[2]
    assert _wrong(await explain(runtime, other)).keys() == {"secret"}
    assert _wrong(await explain(runtime, key["pat_key"][:-3])).keys() <= {"form", "secret"}
    assert _wrong(await explain(runtime, "pat_" + key["pat_key"][3:])) == {"known": "nobody has such a one here"}
    assert _wrong(await explain(runtime, "abc")).keys() == {"form"}
    assert (await gateway.rest("DELETE", f"{KEYS}/{key['id']}", session)).status_code < 300
    assert _wrong(await explain(runtime, key["pat_key"])).keys() == {"revoked"}
    await world.leave("admin@one", world.one)
    assert _wrong(await explain(runtime, token["pat_key"])).keys() == {"organizations"}
    assert _wrong(await explain(runtime, _token(session))).keys() == {"member"}


async def test_a_token_that_was_exchanged_ends_with_its_credential(gateway: Gateway) -> None:
    world, runtime = gateway.world, gateway.runtime
    session = world.session("admin@one", world.one)
    key = await minted(gateway, KEYS, session)
    answer = await gateway.http.post("/pat/exchange", headers={"Authorization": f"Bearer {key['pat_key']}"})
    exchanged = answer.json()["access_token"]
    findings = await explain(runtime, f"Authorization: Bearer {exchanged}\n")
    assert _wrong(findings) == {}
    assert findings[-1].message == "acts in org_one"
    assert (await gateway.rest("DELETE", f"{KEYS}/{key['id']}", session)).status_code < 300
    assert _wrong(await explain(runtime, exchanged)).keys() == {"revoked"}


async def test_a_session_for_an_organization_that_was_left(gateway: Gateway) -> None:
    world, runtime = gateway.world, gateway.runtime
    for organization in (world.one, world.two):
        await world.join("both", organization, role=Role.VIEWER)
    session = world.session("both", world.one)
    assert _wrong(await explain(runtime, _token(session))) == {}
    await world.leave("both", world.one)
    assert _wrong(await explain(runtime, _token(session))) == {
        "member": "a member of org_two, and not of org_one, which the token is for"
    }
    assert (await gateway.graphql("{ viewer { subject } }", session)).status_code == 401


async def test_a_session_of_the_embedded_provider_beside_an_external_one(external: External) -> None:
    runtime = external.gateway.runtime
    token = runtime.issuer.mint("ada", organization="acme", scopes=[], ttl=60)
    assert _wrong(await explain(runtime, token)).keys() == {"verdict"}
    assert not await holds(external.gateway, {"Authorization": f"Bearer {token}"})
    header, payload, _ = token.split(".")
    assert _wrong(await explain(runtime, f"{header}.{payload}.{'A' * 86}")) == {
        "verdict": "refused: the signature is wrong"
    }


def test_a_database_that_was_not_migrated_is_named(command: Callable[..., Outcome]) -> None:
    said = command("doctor", "--token", "pat_0.0")
    assert (said.code, said.err) == (1, "")
    assert "PROBLEM  migrations: " in said.out
    assert "crm-gateway migrate" in said.out


def test_the_command_never_prints_it(command: Callable[..., Outcome]) -> None:
    command("org", "create", "Acme", "--id", "acme")
    command("member", "add", "--org", "acme", "--user", "u", "--email", "e", "--name", "n", "--role", "viewer")
    token = command("token", "--user", "u", "--org", "acme").out.strip()
    fine = command("doctor", "--token", token)
    assert (fine.code, fine.err) == (0, "")
    assert "ok       signature: holds" in fine.out
    bad = command("doctor", "--json", "--token", token[:-4] + "AAAA")
    assert bad.code == 1
    assert {finding["name"] for finding in json.loads(bad.out) if not finding["ok"]} == {"verdict"}
    for part in token.split("."):
        assert part not in fine.out + bad.out
