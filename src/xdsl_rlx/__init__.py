"""xdsl-rlx: a tensor compiler for training on CPUs."""
