"""Says where an exception came from, for a log line that must not quote its words."""

from pathlib import Path
from traceback import extract_tb
from typing import Final

_ROOT: Final = Path(__file__).resolve().parent.parent


def origin_of(error: BaseException) -> str:
    """The last line of this project that the exception came through."""
    frames = [f for f in extract_tb(error.__traceback__) if _is_ours(Path(f.filename))]
    if not frames:
        return "unknown"
    last = frames[-1]
    return f"{Path(last.filename).relative_to(_ROOT).as_posix()}:{last.lineno} {last.name}"


def _is_ours(file: Path) -> bool:
    return file.is_relative_to(_ROOT) and "site-packages" not in file.parts
