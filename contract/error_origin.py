"""Says where an exception came from, for a log line that must not quote its words."""

from pathlib import Path
from traceback import extract_tb
from typing import Final, TypedDict

_ROOT: Final = Path(__file__).resolve().parent.parent
_LIBRARIES: Final = "site-packages"
_FRAMES_MAX: Final = 50


class Frame(TypedDict):
    """One call on the way to an error, without any value."""

    file: str
    line: int
    function: str


class Where(str):
    """The place of an error in words, with all the frames behind it for a log that has fields."""

    frames: list[Frame]


def origin_of(error: BaseException) -> Where:
    """The last line of this project that the exception came through."""
    own = [f for f in extract_tb(error.__traceback__) if _is_ours(Path(f.filename))]
    place = Where(f"{_shown(own[-1].filename)}:{own[-1].lineno} {own[-1].name}" if own else "unknown")
    place.frames = frames_of(error)
    return place


def frames_of(error: BaseException) -> list[Frame]:
    """The frames that the exception came through, the outermost first, and of very many the last ones."""
    found = extract_tb(error.__traceback__)[-_FRAMES_MAX:]
    return [Frame(file=_shown(f.filename), line=f.lineno or 0, function=f.name) for f in found]


def _is_ours(file: Path) -> bool:
    return file.is_relative_to(_ROOT) and _LIBRARIES not in file.parts


def _shown(name: str) -> str:
    """A file as it is called everywhere: below the project, below the libraries, or by its name alone."""
    file = Path(name)
    if _is_ours(file):
        return file.relative_to(_ROOT).as_posix()
    if _LIBRARIES in file.parts:
        return "/".join(file.parts[len(file.parts) - file.parts[::-1].index(_LIBRARIES) :])
    return file.name
