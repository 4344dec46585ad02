"""Loops and branches: those of programs, those inside of kernels, and what is done with both."""
