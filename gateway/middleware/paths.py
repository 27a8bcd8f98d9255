"""One slash at the end of a path, which is ignored (decision 208)."""

from starlette.types import Scope

_AS_THEY_ARE = ("/media/", "/files/signed/")
"""Below these a path is a key, to the last character."""
_SLASH = "slash"


def ignore_slash(scope: Scope) -> None:
    """Take the slash off the request's path, where it was written as one and there is something before it."""
    path, root = scope["path"], scope.get("root_path", "")
    if not path.endswith("/") or path.removeprefix(root) == "/" or path.removeprefix(root).startswith(_AS_THEY_ARE):
        return
    raw = scope.get("raw_path")
    if raw and not raw.endswith(b"/"):  # a slash that was escaped is part of what it stands in
        return
    scope["path"] = path[:-1]
    if raw:
        scope["raw_path"] = raw[:-1]
    scope["state"][_SLASH] = True


def had_slash(scope: Scope) -> bool:
    """Says whether one was taken off."""
    return _SLASH in scope["state"]
