"""The receivers of docs/webhooks.md, run on deliveries as they were made."""

from __future__ import annotations

import base64
import hmac
import json
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

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

_CALL_MANY = """
import { readFileSync } from 'node:fs';
import { isAuthentic } from './receiver.js';
const { secret, many, body } = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify(many.map((headers) => isAuthentic(secret, headers, Buffer.from(body, 'hex')))));
"""


def _python(_folder: Path) -> Judge:
    space: dict[str, Judge] = {}
    exec(SNIPPETS["python"], space)
    return space["is_authentic"]


def _typescript(folder: Path) -> Judge:
    for name, text in _compiled().items():
        (folder / name).write_text(text)
    return partial(_judge, folder)


@cache
def _compiled() -> dict[str, str]:
    """The files of the snippet as the strict compiler of the examples takes it."""
    if not (TYPESCRIPT / "node_modules" / ".bin" / "tsc").exists():
        subprocess.run(["npm", "ci"], cwd=TYPESCRIPT, check=True, capture_output=True, timeout=300)
    package = '{"type": "module"}'
    types = ["--types", "node", "--typeRoots", str(TYPESCRIPT / "node_modules" / "@types")]
    options = ["--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", *types]
    with TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "package.json").write_text(package)
        (folder / "receiver.ts").write_text(SNIPPETS["typescript"])
        compiler = str(TYPESCRIPT / "node_modules" / ".bin" / "tsc")
        subprocess.run([compiler, *options, "receiver.ts"], cwd=folder, check=True, timeout=120)
        return {"package.json": package, "receiver.js": (folder / "receiver.js").read_text(), "call.js": _CALL}


def _judge(folder: Path, secret: str, headers: dict[str, str], body: bytes) -> bool:
    asked = json.dumps({"secret": secret, "headers": headers, "body": body.hex()})
    result = subprocess.run(
        ["node", "call.js"], cwd=folder, input=asked, check=True, capture_output=True, text=True, timeout=60
    )
    return {"true\n": True, "false\n": False}[result.stdout]


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


# The time is the first entry's, so that nothing but the form of each is what it is refused for.
MALFORMED = (
    *(
        "",
        " ",
        "abc",
        "NaN",
        "nan",
        "inf",
        "-inf",
        "Infinity",
        "1e999",
        "-1",
        "0x10",
        "1_0",
        "9" * 5000,
        "\ud800",
        "\x00",
    ),
    *("{now}.0", "{now}.5", "{now}e0", "+{now}", "-{now}", " {now}", "{now} ", "{now}\n", "{now}\x00", "{now},{now}"),
    *("0x{now}", "{now}n", "{now}_0", "null", "None", "[]", "{{}}", "Thu, 01 Jan 1970 00:00:00 GMT"),
)
SIGNATURES = (
    "",
    " ",
    "v1",
    "v1,",
    ",",
    "v1,=",
    "v1,\u00e9",
    "\u0661",
    "\ud800",
    "v1a,{right}",
    "v2,{right}",
    "{right}",
    "\x00",
)
_DIGITS = str.maketrans("0123456789", "\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669")


@pytest.mark.parametrize("language", [_python, _typescript], ids=["python", "typescript"])
def test_malformed_headers_are_a_no_and_no_exception(tmp_path: Path, language: Callable[[Path], Judge]) -> None:
    judge_all = _all_at_once(tmp_path, language)
    now = str(int(time.time()))
    secret, body = "whsec_" + base64.b64encode(b"k" * 32).decode(), b"{}"

    def signed(timestamp: str, identifier: str = "id") -> dict[str, str]:
        """Headers whose signature is right, whatever the timestamp is."""
        text = f"{identifier}.{timestamp}.".encode("utf-8", "surrogatepass") + body
        digest = base64.b64encode(hmac.digest(b"k" * 32, text, "sha256")).decode()
        return {"webhook-id": identifier, "webhook-timestamp": timestamp, "webhook-signature": f"v1,{digest}"}

    right = signed(now)
    refused = [signed(text.format(now=now)) for text in MALFORMED]
    refused += [signed(now.translate(_DIGITS)), signed("".join(chr(ord(digit) + 0xFEE0) for digit in now))]
    refused += [signed(str(int(now) + seconds)) for seconds in (-301, 600, -int(now), 10**20)]
    refused += [right | {"webhook-signature": text.format(right=right["webhook-signature"][3:])} for text in SIGNATURES]
    refused += [right | {"webhook-id": text} for text in ("", "other", "\ud800", "\u00e9")]
    refused += [{name: value for name, value in right.items() if name != left_out} for left_out in right]
    refused.append({})
    assert judge_all(secret, [right, *refused], body) == [True] + [False] * len(refused)


def _all_at_once(folder: Path, language: Callable[[Path], Judge]) -> Callable[..., list[bool]]:
    """A judge of many requests, for which TypeScript starts one process."""
    judge = language(folder)
    if language is _python:
        return lambda secret, many, body: [judge(secret, headers, body) for headers in many]
    (folder / "call.js").write_text(_CALL_MANY)

    def judge_all(secret: str, many: list[dict[str, str]], body: bytes) -> list[bool]:
        asked = json.dumps({"secret": secret, "many": many, "body": body.hex()})
        result = subprocess.run(
            ["node", "call.js"], cwd=folder, input=asked, check=True, capture_output=True, text=True, timeout=60
        )
        judged: list[bool] = json.loads(result.stdout)
        return judged

    return judge_all


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
