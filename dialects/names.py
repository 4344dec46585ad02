"""Names from outside in the IR: hints of values, of which xDSL takes few letters, and names that are not taken yet."""

import re
import unicodedata
from collections.abc import Container, MutableMapping
from contextlib import suppress
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, BytesAttr, StringAttr
from xdsl.ir import Attribute, SSAValue

_NO_HINT = re.compile(r"[^A-Za-z0-9_$.-]")


def hint_of(name: str) -> str | None:
    """
    Return the hint for a value of any name: its letters where a hint may have them, and `_` elsewhere.

    The name itself is an attribute (`mir.name`, `name`); a hint is what is printed behind `%`.
    """
    plain = _NO_HINT.sub("_", "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c)))
    if plain and not (plain[0].isalpha() or plain[0] in "_$"):
        plain = f"_{plain}"
    # xDSL takes a number behind an underscore off: `_2` would be left without a letter
    return plain if plain and SSAValue.extract_valid_name(plain) else None


def fresh_name(name: str, taken: Container[str]) -> str:
    """Return `name`, or the first of `name_2`, `name_3`, ... that is not in `taken`."""
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    return unique


def text_of(attribute: Attribute | None) -> str | None:
    """
    Return the text of an attribute; None for one that has none.

    xDSL prints letters outside of ASCII as escaped bytes, and reads these as a `BytesAttr`.
    """
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, BytesAttr):
        with suppress(UnicodeDecodeError):
            return attribute.data.decode()
    return None


def hold_text(entries: MutableMapping[str, Attribute], *names: str) -> None:
    """Replace bytes by the text that they are, in the entries of these names and in arrays there."""
    for name in names:
        if (found := entries.get(name)) is not None:
            entries[name] = _as_text(found)


def _as_text(attribute: Attribute) -> Attribute:
    if isinstance(attribute, BytesAttr) and (text := text_of(attribute)) is not None:
        return StringAttr(text)
    if isinstance(attribute, ArrayAttr):
        return ArrayAttr(map(_as_text, cast("ArrayAttr[Attribute]", attribute)))
    return attribute
