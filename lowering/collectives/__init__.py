"""Passes on the collectives of a lir program, and their kernels."""
