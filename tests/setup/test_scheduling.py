"""`./run test` deals tests out by module and database."""

from __future__ import annotations

import pytest

from tests.support.scheduling import part_of


@pytest.mark.parametrize(
    ("test", "part"),
    [
        ("tests/a/test_b.py::test_c", "tests/a/test_b.py"),
        ("tests/a/test_b.py::test_c[sqlite]", "tests/a/test_b.py on sqlite"),
        ("tests/a/test_b.py::test_c[postgresql-a [list]-0]", "tests/a/test_b.py on postgresql"),
        ("tests/a/test_b.py::test_c[first-sqlite]", "tests/a/test_b.py on sqlite"),
        ("tests/a/test_b.py::test_c[sqlite_file]", "tests/a/test_b.py"),
        ("tests/browser/test_b.py::test_c[light]", "tests/browser"),
    ],
)
def test_a_module_is_dealt_out_by_database(test: str, part: str) -> None:
    assert part_of(test) == part
