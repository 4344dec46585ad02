"""Methods of `rlx.Graph` that build several ops, as functions of a builder: a file per family.

Those that derivative rules need are in `dialects/mir/compositions.py`. `graph_builder.py` lists all of them.
"""
