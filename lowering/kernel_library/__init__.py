"""Kernels that programs call instead of having them: compiled once per machine."""
