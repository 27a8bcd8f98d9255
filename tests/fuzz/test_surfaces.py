"""Both surfaces under made-up requests: no 5xx, no masked error, nothing that is not described, no growth."""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fuzz.known import records
from tests.fuzz.running import Target, resident, run
from tests.support.service import Service

CASES = int(os.environ.get("CRM_FUZZ_CASES", "0"))
"""Of both surfaces together."""
SEED = int(os.environ.get("CRM_FUZZ_SEED", "1"))
GROWTH_MB = 50
ADDRESS_SPACE = 8 * 1024**3
SETTINGS = {"CRM_RATE_LIMIT": "off"}
"""How the service differs from one as it is installed: wide limits belong here, so that every request is served."""


@dataclass(frozen=True)
class Surface:
    """Where a surface is described, and how it is tried in the short form and in each round of the long one."""

    path: str
    short: Sequence[str]
    long: Sequence[str]
    cases: int
    """What the short form makes at least."""


REST = Surface(
    "/openapi.json",
    ("--phases", "examples,fuzzing", "--max-examples", "5"),
    ("--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "20"),
    100,
)
GRAPHQL = Surface("/graphql", ("--phases", "fuzzing", "-n", "3"), ("--phases", "fuzzing", "-n", "20"), 200)


@pytest.mark.long
@pytest.mark.parametrize("surface", [REST, GRAPHQL], ids=["rest", "graphql"])
def test_no_request_breaks_the_service(tmp_path: Path, surface: Surface) -> None:
    with Service(tmp_path, "--demo", **SETTINGS) as service:
        resource.prlimit(service.pid, resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        headers = {"Authorization": f"Bearer {service.value('Token')}", "X-Service-Org": service.value("Organization")}
        target = Target(f"{service.address}{surface.path}", headers, records(service.address, headers))
        done = run(tmp_path, target, SEED, *surface.short, seconds=300)
        assert done.code == 0, f"seed {SEED}\n{done.report}"
        assert done.cases >= surface.cases
        cases, rounds, sizes = done.cases, 0, [resident(service.pid)]
        while cases < CASES // 2 or rounds == 1:
            rounds += 1
            done = run(tmp_path, target, SEED + rounds, *surface.long, seconds=1_200)
            assert done.code == 0, f"seed {SEED + rounds}\n{done.report}"
            assert done.cases > 0
            cases += done.cases
            sizes.append(resident(service.pid))
            print(f"{surface.path}: {cases} cases, {sizes[-1]} MB after {sizes[0]}")  # shown by -s
        # What the first long round loads and keeps is no growth; the short form measures none.
        assert sizes[-1] - sizes[min(rounds, 1)] <= GROWTH_MB
        log = service.log.read_text()
        assert "internal error" not in log
        assert "Traceback" not in log
