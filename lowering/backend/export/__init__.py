"""Programs as shared libraries with a C interface, which need no Python: written, and loaded again."""
