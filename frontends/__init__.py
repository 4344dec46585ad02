"""Programs of other frameworks: read into mir, and run inside of them.

`aten` reads graphs of PyTorch, `shared` has what all readers use, and `hosts` runs compiled programs inside of other
frameworks. Nothing here imports another framework before it is asked for.
"""
