"""What a refusal says is a sentence, wherever it is raised."""

from __future__ import annotations

import ast
from pathlib import Path

from contract.errors import GatewayError, Problems

_ROOT = Path(__file__).parents[2]
_PACKAGES = ("contract", "identity", "resolvers", "rest_compat", "schema", "transport")
_OTHERWISE = {Problems.__name__, "AnalyticsRefused", "AnalyticsFailed", "BadRequest", "LimitExceeded"}
"""What begins with a name: of a field, a layer, a limit or a parameter."""


def _refusals(of: type[GatewayError] = GatewayError) -> set[str]:
    return {of.__name__}.union(*(_refusals(each) for each in of.__subclasses__()))


def _first_words(call: ast.Call) -> str:
    """What the call's text begins with; nothing where that is not written there."""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.JoinedStr):
        first = first.values[0]
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def test_a_refusal_begins_with_a_capital() -> None:
    """Decision 1111."""
    raised, small = 0, []
    names = _refusals() - _OTHERWISE
    for file in (file for package in _PACKAGES for file in (_ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                raised += 1
                words = _first_words(node)
                small += [f"{file.name}:{node.lineno}: {words}"] if words[:1].islower() else []
    assert raised > 200
    assert small == []
