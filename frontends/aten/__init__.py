"""Graphs of PyTorch's ATen operators: a row for each operator, and the walk over a graph."""
