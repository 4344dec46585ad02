"""Solvers of linear and nonlinear systems as compiled loops on trees, with implicit derivatives."""

from xdsl_rlx.solvers.linear import bicgstab, cg, custom_linear_solve, gmres
from xdsl_rlx.solvers.ode import odeint

__all__ = [
    "bicgstab",
    "cg",
    "custom_linear_solve",
    "gmres",
    "odeint",
]
