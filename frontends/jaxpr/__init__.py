"""Functions of JAX, read as jaxprs: a row for each primitive."""
