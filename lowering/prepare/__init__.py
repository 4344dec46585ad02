"""Passes on mir that make of a program what fusion and differentiation take."""
