"""Public programs of JAX as small functions, by the place that they are from."""
