"""A hash of the IR of a module, which tells modules apart that would become different programs.
Keys of the cache (`cache.py`) have it as a part."""

from __future__ import annotations

import hashlib
import struct
from enum import Enum
from typing import cast

from xdsl.dialects.builtin import (
    AnyDenseElement,
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatData,
    IntAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Data, Operation, ParametrizedAttribute, Region, SSAValue

from xdsl_rlx.dialects.dense_text import ExactDense
from xdsl_rlx.dialects.mir.custom import CustomBase


def fingerprint(module: ModuleOp) -> str:
    """
    A hash of everything in a module that a program depends on: ops, types, properties, attributes and their order.

    Names of SSA values and locations do not count. Much faster than printing.
    """
    return _Fingerprint().of(module)


class _Fingerprint:
    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.numbers: dict[SSAValue, int] = {}
        self.blocks: dict[Block, int] = {}
        self.texts: dict[int, bytes] = {}
        """By the identity of attributes, which the module keeps: to hash one takes as long as to write it."""

    def of(self, module: ModuleOp) -> str:
        self._op(module)
        return self.hash.hexdigest()

    def _region(self, region: Region) -> None:
        for number, block in enumerate(region.blocks):
            self.blocks[block] = number
        for block in region.blocks:
            self.hash.update(b"{")
            for arg in block.args:
                self._define(arg)
            for op in block.ops:
                self._op(op)
            self.hash.update(b"}")

    def _define(self, value: SSAValue) -> None:
        self.hash.update(b"%d:" % self._number(value) + self._text(value.type))

    def _number(self, value: SSAValue) -> int:
        # a value may be used before it is defined, in a region that is a graph
        return self.numbers.setdefault(value, len(self.numbers))

    def _op(self, op: Operation) -> None:
        parts = [op.name.encode(), b"(", *(b"%d," % self._number(operand) for operand in op.operands), b")"]
        if op.successors:
            parts += [b"^%d" % self.blocks[block] for block in op.successors]
        for attributes in (op.properties, op.attributes):
            for key in sorted(attributes):
                parts += [key.encode(), b"=", self._text(attributes[key])]
        if isinstance(op, CustomBase):
            parts.append(op.cache_key.encode())
        self.hash.update(b"".join(parts))
        for result in op.results:
            self._define(result)
        for region in op.regions:
            self._region(region)

    def _text(self, attribute: Attribute) -> bytes:
        if type(attribute) is ExactDense:
            attribute = attribute.elements
        if isinstance(attribute, DenseIntOrFPElementsAttr):
            dense = cast(DenseIntOrFPElementsAttr[AnyDenseElement], attribute)
            return b"%b<%d:%b>" % (self._text(dense.type), len(dense.data.data), dense.data.data)
        text = self.texts.get(id(attribute))
        if text is None:
            text = self.texts[id(attribute)] = self._written(attribute)
        return text

    def _written(self, attribute: Attribute) -> bytes:
        """Part by part: printing the arguments of a graph, each a dictionary, takes several times as long."""
        match attribute:
            case StringAttr():
                text = attribute.data.encode()
                return b'"%d:%b"' % (len(text), text)
            case IntAttr():
                return b"%d;" % attribute.data
            case FloatData():
                return struct.pack("<d", attribute.data)
            case Data() if isinstance(word := cast("Data[object]", attribute).data, Enum):
                return b"%b %b;" % (attribute.name.encode(), word.name.encode())
            case BytesAttr():
                return b"<%d:%b>" % (len(attribute.data), attribute.data)
            case DictionaryAttr():
                items = sorted(attribute.data.items())
                return b"{%b}" % b"".join(b"%b=%b" % (key.encode(), self._text(value)) for key, value in items)
            case ArrayAttr():
                return b"[%b]" % b"".join(map(self._text, attribute))
            case ParametrizedAttribute():
                return b"%b<%b>" % (attribute.name.encode(), b"".join(map(self._text, attribute.parameters)))
            case _:
                return b"%b;" % str(attribute).encode()
