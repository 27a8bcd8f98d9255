"""Running state machines, each over a migrated database of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def own_database(name: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a database on the server that the fixture's parameter names, gone afterwards."""
    if request.param == "sqlite":
        file = tmp_path_factory.mktemp(name) / "crm.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), file)
        file.chmod(0o600)
        yield f"sqlite+aiosqlite:///{file}"
        return
    server, template = (request.getfixturevalue(each) for each in ("postgresql", "postgresql_template"))
    server.create(name, template=template)
    yield server.url(name)
    server.drop(name)


def run_machine(machine: type[RuleBasedStateMachine], examples: int, steps: int, *, is_random: bool) -> None:
    """Run the machine so often, with so many steps each."""
    how = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        derandomize=not is_random,
        phases=[Phase.generate],  # the first that fails is told as it is: a smaller one takes minutes to be found
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=how)
