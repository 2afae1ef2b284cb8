"""JSON as 4.9.3's fastjson 1.2.76 reads the files of `config/` (CFG-2): lenient in form, strict about what is cut off.

Comments and control characters are taken at some places where fastjson refuses them. Of a setting that a topic or a group has twice
the last counts here; for fastjson it may be another one.
Further forms that fastjson takes are refused here, since nothing writes them: several commas, a `}` or an empty text alone, numbers with the
suffix F or D or without a digit before the point, names that are numbers with a fraction, an exponent or a suffix, `undefined`, `NaN`, `Set[...]`,
`x'...'`, `xHH` after a backslash with other digits, whole numbers of more than 64 bits, and the character 26 between tokens.
"""

import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NoReturn

from rocket_spec.errors import MalformedError

_COMMENT: Final = r"//[^\n]*+|/\*.*?\*/"
_BLANK: Final = re.compile(rf"(?:[\0-\x19\x1b-\x20\x7f]++|{_COMMENT})*+", re.DOTALL)
_BLANK_BEFORE_NAME: Final = re.compile(rf"(?:[ \t\n\r\f\b]++|{_COMMENT})*+", re.DOTALL)
_OPEN_COMMENT: Final = re.compile(r"/\*(?!.*\*/)", re.DOTALL)
_NUMBER: Final = re.compile(r"\+?(-?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)")
_NUMBER_NAME: Final = re.compile(r"\+?(-?[0-9]+)(?![\w$.])")
_NAME: Final = re.compile(r"(?!null\b)[A-Za-z_$\u0100-\U0010ffff][A-Za-z0-9_\u0100-\U0010ffff]*")
_WORD: Final = re.compile(r"\w+")
_WORDS: Final = {"true": True, "false": False, "null": None}
_ESCAPES: Final = {
    **{character: character for character in "\"'/\\"},
    **{str(code): chr(code) for code in range(8)},
    "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "F": "\f", "r": "\r",
}  # fmt: skip
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_DEPTH: Final = 64
_DIGITS: Final = 64  # of a number; a long has 19


def parse(raw: bytes, file: str) -> Any:
    """The value of a text: dict with names as str, or int if without quotes, list, str, int, Decimal, bool or None, which blanks alone are too.

    Args:
        raw: the bytes; those that are not UTF-8 become U+FFFD, as in Java.
        file: name for messages.

    Raises:
        MalformedError: no such text.
    """
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
    return _Parser(text, file).whole()


def _paired(text: str) -> str:
    """The text with escaped pairs of surrogates as one character; one alone becomes U+FFFD, as undecodable bytes do."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Parser:
    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._at = 0

    def whole(self) -> Any:
        if self._text and not self._text.strip(" \t\n\r\f\b"):
            return None
        value = self._value(0)
        if self._next() and not _OPEN_COMMENT.match(self._text, self._at):
            self._fail("the end of the file")
        return value

    def _fail(self, expected: str) -> NoReturn:
        rest = self._text[self._at : self._at + 12]
        found = repr(rest) if rest else "the end of the file"
        offset = len(self._text[: self._at].encode("utf-8", "surrogatepass"))
        raise MalformedError(file=self._file, offset=offset, found=found, expected=expected, clause="CFG-2")

    def _next(self, blanks: re.Pattern[str] = _BLANK) -> str:
        """The next character that counts, "" at the end."""
        blank = blanks.match(self._text, self._at)
        self._at = self._at if blank is None else blank.end()
        return self._text[self._at : self._at + 1]

    def _takes(self, wanted: str) -> bool:
        found = self._next() == wanted
        self._at += found
        return found

    def _value(self, depth: int) -> Any:
        first = self._next()
        if depth > _DEPTH:
            self._fail(f"at most {_DEPTH} brackets inside one another")
        if first == "{":
            return self._object(depth)
        if first == "[":
            return self._array(depth)
        if first and first in "\"'":
            return self._string()
        number = _NUMBER.match(self._text, self._at)
        if number is not None and number.end() - self._at <= _DIGITS:
            return self._number(number)
        word = _WORD.match(self._text, self._at)
        if word is None or word[0] not in _WORDS:
            self._fail("a value")
        self._at = word.end()
        return _WORDS[word[0]]

    def _number(self, found: re.Match[str]) -> int | Decimal:
        try:
            value = Decimal(found[1]) if set(found[1]) & set(".eE") else int(found[1])
        except InvalidOperation:
            self._fail("an exponent of 18 digits or fewer")
        self._at = found.end()
        if self._text[self._at : self._at + 1] in ("L", "S", "B"):  # a Java literal's suffix
            self._at += 1
        return value

    def _object(self, depth: int) -> dict[str | int, Any]:
        self._at += 1
        values: dict[str | int, Any] = {}
        while self._next(_BLANK_BEFORE_NAME) != "}":
            name = self._name()
            if not self._takes(":"):
                self._fail("':'")
            values[name] = self._value(depth + 1)
            if not self._takes(",") and self._next() != "}":
                self._fail("',' or '}'")
        self._at += 1
        return values

    def _array(self, depth: int) -> list[Any]:
        self._at += 1
        values: list[Any] = []
        while not self._takes("]"):
            values.append(self._value(depth + 1))
            if not self._takes(",") and self._next() != "]":
                self._fail("',' or ']'")
        return values

    def _name(self) -> str | int:
        first = self._next(_BLANK_BEFORE_NAME)
        if first and first in "\"'":
            return self._string()
        number = _NUMBER_NAME.match(self._text, self._at)
        if number is not None and number.end() - self._at <= _DIGITS:
            self._at = number.end()
            return int(number[1])
        name = _NAME.match(self._text, self._at)
        if name is None:
            self._fail("a name")
        self._at = name.end()
        return name[0]

    def _string(self) -> str:
        quote = self._text[self._at]
        special = re.compile(rf"[\\{quote}]")
        parts, start = [], self._at + 1
        while (found := special.search(self._text, start)) is not None:
            parts.append(self._text[start : found.start()])
            if found[0] == quote:
                self._at = found.end()
                return _paired("".join(parts))
            escaped = self._text[found.end() : found.end() + 1]
            digits = {"u": 4, "x": 2}.get(escaped, 0)
            start = found.end() + 1 + digits
            parts.append(self._escape(escaped, self._text[found.end() + 1 : start], digits))
        self._at = len(self._text)
        return self._fail(f"{quote} at the end of a text")

    def _escape(self, escaped: str, code: str, digits: int) -> str:
        if not digits:
            if escaped not in _ESCAPES:
                self._fail("an escape of JSON or Java in a text")
            return _ESCAPES[escaped]
        if len(code) != digits or not set(code) <= set("0123456789abcdefABCDEF"):
            self._fail(f"a text whose \\{escaped} has {digits} hexadecimal digits")
        return chr(int(code, 16))
