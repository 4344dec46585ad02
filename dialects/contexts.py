"""The context that parsing and passes need, without a look at what else is installed, which takes 20 ms."""

from xdsl.context import Context
from xdsl.dialects import get_all_dialects

from xdsl_rlx.dialects import UNIVERSE


def context() -> Context:
    """A context that knows every dialect of xDSL and ours; none is imported before it is used."""
    ctx = Context()
    for name, get in {**get_all_dialects(), **UNIVERSE.all_dialects}.items():
        ctx.register_dialect(name, get)
    return ctx
