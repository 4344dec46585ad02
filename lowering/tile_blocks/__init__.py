"""The loops of one tile, written once: products, sorts, transposed copies and fused groups are made of them."""
