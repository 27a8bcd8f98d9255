"""The documented paths under made-up requests: no 5xx, and nothing that the description does not say."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from tests.fuzz.running import resident, run
from tests.support.service import Service

CASES = int(os.environ.get("CRM_FUZZ_CASES", "0"))
SEED = int(os.environ.get("CRM_FUZZ_SEED", "1"))
SHORT = ("--phases", "examples,fuzzing", "--max-examples", "5")
LONG = ("--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "20")
GROWTH_MB = 50
ADDRESS_SPACE = 8 * 1024**3


def test_the_documented_paths_keep_to_the_description(tmp_path: Path) -> None:
    with Service(tmp_path, "--demo", CRM_RATE_LIMIT="off") as service:
        resource.prlimit(service.pid, resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        location = f"{service.address}/openapi.json"
        headers = {"Authorization": f"Bearer {service.value('Token')}", "X-Service-Org": service.value("Organization")}
        # What is loaded with the first requests of each kind is no growth.
        done = run(tmp_path, location, headers, SEED, *SHORT, seconds=300)
        assert done.code == 0, f"seed {SEED}\n{done.report}"
        assert done.cases > 100
        before, cases, seed = resident(service.pid), done.cases, SEED
        while cases < CASES:
            seed += 1
            done = run(tmp_path, location, headers, seed, *LONG, seconds=1_200)
            assert done.code == 0, f"seed {seed}\n{done.report}"
            assert done.cases > 0
            cases += done.cases
        assert resident(service.pid) - before <= GROWTH_MB
        log = service.log.read_text()
        assert "internal error" not in log
        assert "Traceback" not in log
