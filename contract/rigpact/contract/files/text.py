"""Text as programs write it: UTF-8, with or without a byte order mark, or UTF-16, as Windows shells and Excel do."""

from pathlib import Path

from rigpact.contract.errors import UnusableInput

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def encoding_of(content: bytes) -> str:
    """The encoding of a text, by its first bytes. Plain text begins with a sign below 256: in UTF-16 a zero is beside it."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    begin = content[:2]
    if len(begin) == 2 and begin.count(0) == 1:
        return "utf-16-be" if begin[0] == 0 else "utf-16-le"
    return "utf-8"


def decoded(content: bytes, path: str | Path) -> str:
    """The text of a file; UnusableInput for bytes that are none."""
    encoding = encoding_of(content)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        where = f"bytes that are not text (byte {error.start})"
        raise UnusableInput(path, where, "UTF-8 or UTF-16 text", "a binary file, or one that was cut off?") from None
    if "\0" in text:
        raise UnusableInput(path, "a zero in the text", "UTF-8 or UTF-16 text", "a binary file?")
    return text
