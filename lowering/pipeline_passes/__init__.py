"""Passes that run whole pipelines on a module: derivatives of a program, and programs that fit into a budget."""
