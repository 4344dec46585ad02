"""Text of kernels: LLVM IR, and Python for Numba."""
