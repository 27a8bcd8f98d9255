"""Makes sets of scopes, the same object for the same scopes: who works for minutes holds several of them."""

from collections.abc import Iterable
from functools import lru_cache

from contract.scopes import Scope

_NAMES = {str(scope): str(scope) for scope in Scope}
KNOWN_SCOPES = frozenset(_NAMES)


def known(scopes: Iterable[str]) -> frozenset[str]:
    """Those of the scopes that there are."""
    return _same(frozenset(_NAMES[scope] for scope in scopes if scope in _NAMES))


def shared(scopes: Iterable[str]) -> frozenset[str]:
    """These scopes, unknown ones too: tokens that are remembered have them in common (decision 1171)."""
    return _same(frozenset(_NAMES.get(scope, scope) for scope in scopes))


@lru_cache(maxsize=1_000)
def _same(scopes: frozenset[str]) -> frozenset[str]:
    return scopes
