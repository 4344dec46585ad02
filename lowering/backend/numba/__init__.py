"""A planned program as a Python module of Numba functions, and its kernels through Numba's front end."""
