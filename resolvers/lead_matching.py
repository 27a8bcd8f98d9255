"""Finds by a few patterns what may have the name of a company or a person, on either database (decision 39)."""

from functools import cache

from contract.matching import COMMON, without_marks, words_of_name

_WORDS_SOUGHT, _LETTERS_SOUGHT = 10, 40


def patterns(name: str, *, is_company: bool = False) -> list[list[str]]:
    """Makes patterns for a name's telling words, one of which finds each in a text that has the word, marks or not.

    Letters and sets of them in brackets, as both databases know them; for texts whose ASCII letters are lower.
    What is found is compared with the whole name afterwards. So a few words, the longest, and the beginning of each
    are enough, and a name of thousands of words is no statement of thousands of conditions, nor a long word a pattern
    that a database refuses.
    """
    words = words_of_name(name)
    telling = [word for word in words if len(word) > 1 and not (is_company and word in COMMON)]
    longest = sorted(dict.fromkeys(telling or words), key=len, reverse=True)[:_WORDS_SOUGHT]
    return [_patterns(_beginning(word)) for word in longest]


def _beginning(word: str) -> str:
    """Takes as much of it as is looked for, not ended within what may be a ß."""
    if len(word) <= _LETTERS_SOUGHT:
        return word
    cut = word[:_LETTERS_SOUGHT]
    return cut.rstrip("s") or cut


def _patterns(word: str) -> list[str]:
    plain = "".join(map(_one_of, word))
    return [plain] if "ss" not in word else [plain, "ß".join("".join(map(_one_of, part)) for part in word.split("ss"))]


def _one_of(letter: str) -> str:
    others = _variants().get(letter, "") + ("" if letter.isascii() else letter.upper())
    return f"[{letter}{others}]" if others else letter


@cache
def _variants() -> dict[str, str]:
    """The letters with marks, of either case, by the letter without: Latin, Greek, Cyrillic and kana."""
    variants: dict[str, str] = {}
    for code in (*range(0x80, 0x530), *range(0x1E00, 0x2000), *range(0x3040, 0x3100)):
        letter, plain = chr(code), without_marks(chr(code))
        if letter.isalpha() and len(plain) == 1 and plain != letter:
            variants[plain] = variants.get(plain, "") + letter
    return variants


def parted(name: str) -> tuple[str | None, str]:
    """Given and family name: the last word is the family's, or what stands before a comma."""
    family, comma, given = (part.strip() for part in name.partition(","))
    if comma and family and given:
        return given, family
    given, _, family = name.strip().rpartition(" ")
    return given.strip() or None, family
