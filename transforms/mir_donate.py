"""The pass `mir-donate`: arguments that are written over. Where results are in the end is up to lowering."""

from collections import Counter
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.transforms.signature import graph_of


@dataclass(frozen=True)
class MirDonatePass(ModulePass):
    """
    Let results overwrite donated arguments of the same type.

    ```
    func.func @step(%w, %g) -> (loss, new_w)
    // becomes, with arguments=w outputs=1
    func.func @step(%w, %g) -> (loss, new_w {mir.aliases_input = "w"})
    ```

    The compiled function returns only the other results. A donated param has its new value; an array passed for a
    donated input is overwritten. A result that cannot be computed in place, because an op reads the argument later, is
    computed elsewhere and copied at the end. With `strict`, lowering fails instead and reports the reader.

    Inputs that are `scratch` are donated without a result: they may store intermediate values after their last read.
    Their contents are undefined in the end.
    """

    name = "mir-donate"

    arguments: tuple[str, ...] = ()
    """Names of the donated arguments."""

    outputs: tuple[int, ...] = ()
    """Indices of the results that overwrite them, in the same order."""

    strict: bool = False
    """Fail unless every overwriting result can be computed in place."""

    scratch: tuple[str, ...] = ()
    """Names of inputs that no result overwrites, but the program may."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        graph = graph_of(op, self.name)
        if len(self.arguments) != len(self.outputs):
            raise PassFailedException(
                f"{self.name}: {len(self.arguments)} arguments and {len(self.outputs)} results; expected equally many"
            )
        if twice := [n for n, times in Counter(self.outputs).items() if times > 1]:
            raise PassFailedException(f"{self.name}: result {twice[0]} cannot overwrite two arguments")
        graph.replace(dict(zip(self.outputs, self.arguments, strict=True)), self.strict)
        graph.mark_scratch(self.scratch)
