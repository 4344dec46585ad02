"""A hash of the IR of a module, which tells modules apart that would become different programs.
Keys of the cache (`cache.py`) have it as a part."""

from __future__ import annotations

import hashlib
from typing import cast

from xdsl.dialects.builtin import AnyDenseElement, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

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
        self.texts: dict[Attribute, bytes] = {}

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
        if isinstance(attribute, DenseIntOrFPElementsAttr):
            dense = cast(DenseIntOrFPElementsAttr[AnyDenseElement], attribute)
            return self._text(dense.type) + b"<" + dense.data.data + b">"
        text = self.texts.get(attribute)
        if text is None:
            text = self.texts[attribute] = b"%s;" % str(attribute).encode()
        return text
