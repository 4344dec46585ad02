"""Compiled programs inside of other frameworks."""
