"""From a module to a callable, and its calls."""
