"""StableHLO: modules read into mir, and mir written as modules."""
