"""The `mir` dialect: tensor ops with value semantics."""

from xdsl.ir import Dialect

Mir = Dialect("mir", [])
