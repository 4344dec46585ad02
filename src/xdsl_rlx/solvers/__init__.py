"""Solvers of linear and nonlinear systems as compiled loops on trees, with implicit derivatives."""

from xdsl_rlx.solvers.linear import bicgstab, cg, custom_linear_solve, gmres
from xdsl_rlx.solvers.ode import odeint
from xdsl_rlx.solvers.optimize import OptimizeResult, lbfgs, levenberg_marquardt
from xdsl_rlx.solvers.roots import RootResult, bisect, custom_root, fixed_point, root

__all__ = [
    "OptimizeResult",
    "RootResult",
    "bicgstab",
    "bisect",
    "cg",
    "custom_linear_solve",
    "custom_root",
    "fixed_point",
    "gmres",
    "lbfgs",
    "levenberg_marquardt",
    "odeint",
    "root",
]
