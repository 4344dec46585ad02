"""The functions that have no instruction, by scalar ops."""
