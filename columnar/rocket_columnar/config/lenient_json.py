"""JSON as 4.9.3's fastjson 1.2.76 reads the files of `config/` (CFG-2): lenient in form, strict about what is cut off.

Names may be without quotes, such as the queue numbers in `{0:57}` that the broker itself writes, or in single quotes; a
comma may stand before a closing bracket; comments, a byte order mark and zero bytes at the end are passed over; of a
repeated name the last value counts. A text that ends before its value does, or goes on after it, is an error.
"""

import re
from typing import Any, Final, NoReturn

from rocket_spec.errors import MalformedError

_BLANK: Final = re.compile(r"(?:\s++|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_NUMBER: Final = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_NAME: Final = re.compile(r"[-\w$]+")
_WORDS: Final = {"true": True, "false": False, "null": None}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v"}
_DEPTH: Final = 64
_DIGITS: Final = 64  # of a number; a long has 19


def parse(raw: bytes, file: str) -> Any:
    """The value of a text: dict with names as str, list, str, int, float, bool or None, which blanks alone are too.

    Args:
        raw: the bytes; those that are not UTF-8 become U+FFFD, as in Java.
        file: name for messages.

    Raises:
        MalformedError: no such text.
    """
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
    return _Parser(text.rstrip("\0") or text, file).whole()


class _Parser:
    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._at = 0

    def whole(self) -> Any:
        if self._text and not self._next():
            return None
        value = self._value(0)
        if self._next():
            self._fail("the end of the file")
        return value

    def _fail(self, expected: str) -> NoReturn:
        rest = self._text[self._at : self._at + 12]
        found = repr(rest) if rest else "the end of the file"
        offset = len(self._text[: self._at].encode("utf-8", "surrogatepass"))
        raise MalformedError(file=self._file, offset=offset, found=found, expected=expected, clause="CFG-2")

    def _next(self) -> str:
        """The next character that counts, "" at the end."""
        blank = _BLANK.match(self._text, self._at)
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
            self._at = number.end()
            if self._text[self._at : self._at + 1] in ("L", "S", "B"):  # a Java literal's suffix
                self._at += 1
            return float(number[0]) if set(number[0]) & set(".eE") else int(number[0])
        word = _NAME.match(self._text, self._at)
        if word is None or word[0] not in _WORDS:
            self._fail("a value")
        self._at = word.end()
        return _WORDS[word[0]]

    def _object(self, depth: int) -> dict[str, Any]:
        self._at += 1
        values: dict[str, Any] = {}
        while not self._takes("}"):
            name = self._name()
            if not self._takes(":"):
                self._fail("':'")
            values[name] = self._value(depth + 1)
            if not self._takes(",") and self._next() != "}":
                self._fail("',' or '}'")
        return values

    def _array(self, depth: int) -> list[Any]:
        self._at += 1
        values: list[Any] = []
        while not self._takes("]"):
            values.append(self._value(depth + 1))
            if not self._takes(",") and self._next() != "]":
                self._fail("',' or ']'")
        return values

    def _name(self) -> str:
        first = self._next()
        if first and first in "\"'":
            return self._string()
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
                return "".join(parts)
            escaped = self._text[found.end() : found.end() + 1]
            digits = {"u": 4, "x": 2}.get(escaped, 0)
            start = found.end() + 1 + digits
            parts.append(self._escape(escaped, self._text[found.end() + 1 : start], digits))
        self._at = len(self._text)
        return self._fail(f"{quote} at the end of a text")

    def _escape(self, escaped: str, code: str, digits: int) -> str:
        if not digits:
            return _ESCAPES.get(escaped, escaped)
        if len(code) != digits or not set(code) <= set("0123456789abcdefABCDEF"):
            self._fail(f"a text whose \\{escaped} has {digits} hexadecimal digits")
        return chr(int(code, 16))
