"""The receivers of docs/webhooks.md, run on deliveries as they were made."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from identity.secrets import Pepper
from providers.ports import Ports
from resolvers.accounts import AccountCreate, create_account
from tests.jobs.conftest import Workers
from tests.jobs.test_webhooks import OK, admin, made, ports, soon
from tests.support.web import Asked, open_web
from tests.support.world import PEPPER, World

__all__ = ["ports"]

ROOT = Path(__file__).parents[2]
TYPESCRIPT = ROOT / "examples" / "typescript"
PAGE = (ROOT / "docs" / "webhooks.md").read_text()
SNIPPETS = dict(re.findall(r"<!-- receiver: (\w+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))

Judge = Callable[[str, dict[str, str], bytes], bool]
_CALL = """
import { readFileSync } from 'node:fs';
import { isAuthentic } from './receiver.js';
const { secret, headers, body } = JSON.parse(readFileSync(0, 'utf8'));
console.log(isAuthentic(secret, headers, Buffer.from(body, 'hex')));
"""


def _python(_folder: Path) -> Judge:
    space: dict[str, Judge] = {}
    exec(SNIPPETS["python"], space)
    return space["is_authentic"]


def _typescript(folder: Path) -> Judge:
    """The snippet as the strict compiler of the examples takes it."""
    if not (TYPESCRIPT / "node_modules" / ".bin" / "tsc").exists():
        subprocess.run(["npm", "ci"], cwd=TYPESCRIPT, check=True, capture_output=True, timeout=300)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "receiver.ts").write_text(SNIPPETS["typescript"])
    (folder / "call.js").write_text(_CALL)
    types = ["--types", "node", "--typeRoots", str(TYPESCRIPT / "node_modules" / "@types")]
    options = ["--strict", "--target", "es2022", "--module", "nodenext", *types]
    subprocess.run(
        [str(TYPESCRIPT / "node_modules" / ".bin" / "tsc"), *options, "receiver.ts"],
        cwd=folder,
        check=True,
        timeout=120,
    )

    def judge(secret: str, headers: dict[str, str], body: bytes) -> bool:
        asked = json.dumps({"secret": secret, "headers": headers, "body": body.hex()})
        result = subprocess.run(
            ["node", "call.js"], cwd=folder, input=asked, check=True, capture_output=True, text=True, timeout=60
        )
        return {"true\n": True, "false\n": False}[result.stdout]

    return judge


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
@pytest.mark.parametrize("language", [_python, _typescript], ids=["python", "typescript"])
async def test_the_documented_receivers(
    world: World, ports: Ports, workers: Workers, tmp_path: Path, language: Callable[[Path], Judge]
) -> None:
    is_authentic = language(tmp_path)
    ctx = await admin(world, ports.outbound)
    async with open_web({"/hook": OK}) as web:
        _, secret = await made(ctx, f"{web.url}/hook")
        await create_account(ctx, AccountCreate(name="Grüße, \u2028 “Acme”"))
        workers.start()
        await soon(lambda: web.asked)
        asked: Asked = web.asked[0]
    headers = {name.lower(): value for name, value in asked.headers.items()}
    assert is_authentic(secret, headers, asked.body)
    assert not is_authentic(secret, headers, asked.body + b" ")
    assert not is_authentic("whsec_" + "A" * 44, headers, asked.body)
    assert not is_authentic(secret, headers | {"webhook-id": "another"}, asked.body)
    assert not is_authentic(secret, headers | {"webhook-timestamp": str(int(time.time()) - 301)}, asked.body)
    several = {"webhook-signature": f"v1,nonsense {headers['webhook-signature']} v2,other"}
    assert is_authentic(secret, headers | several, asked.body)
    assert not is_authentic(secret, headers | {"webhook-signature": "v1,nonsense"}, asked.body)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_receivers_keep_their_secret_while_the_pepper_changes(
    world: World, ports: Ports, workers: Workers, tmp_path: Path
) -> None:
    ctx = await admin(world, ports.outbound)
    async with open_web({"/hook": OK}) as web:
        _, secret = await made(ctx, f"{web.url}/hook")
        workers._ports = replace(ports, pepper=Pepper(bytes([9]) * 32).before(PEPPER))
        await create_account(ctx, AccountCreate(name="Acme"))
        workers.start()
        await soon(lambda: web.asked)
        asked = web.asked[0]
    headers = {name.lower(): value for name, value in asked.headers.items()}
    assert len(headers["webhook-signature"].split(" ")) == 2
    assert _python(tmp_path)(secret, headers, asked.body)


def test_the_page_has_the_figures_of_the_code() -> None:
    from contract.limits import DELIVERIES_KEPT, WEBHOOKS_MAX
    from jobs.webhooks import GIVE_UP, LIMITS, PAUSES

    assert f"at most {WEBHOOKS_MAX}." in PAGE
    assert f"latest {DELIVERIES_KEPT}" in PAGE
    assert f"within {LIMITS.seconds:g} seconds" in PAGE
    assert (GIVE_UP.days, "three days" in PAGE) == (3, True)
    words = ["5 s", "30 s", "2 min", "10 min", "30 min", "1 h", "2 h", "4 h"]
    seconds = [int(n) * {"s": 1, "min": 60, "h": 3600}[unit] for n, unit in (word.split() for word in words)]
    assert [pause.total_seconds() for pause in PAUSES] == [*seconds, 6 * 3600]
    assert f"after {', '.join(words)}, then every 6 h" in PAGE
