"""What all `hir` blocks share: the base class that infers types. No block is defined here."""

import abc
from collections.abc import Sequence

from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException


class HirOp(IRDLOperation, abc.ABC):
    """A block of a model: tensors in, tensors out, no side effects; its meaning is its lowering to `mir`."""

    traits = traits_def(Pure())

    @abc.abstractmethod
    def infer_types(self) -> Sequence[Attribute]:
        """The result types; VerifyException says which operand or property is wrong."""

    def verify_(self) -> None:
        for expected, result in zip(self.infer_types(), self.results, strict=True):
            if expected != result.type:
                raise VerifyException(f"expected result of type {expected}, got {result.type}")
