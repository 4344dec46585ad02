"""What of a function can share a kernel: iteration spaces, clusters of ops, and the tables of loops of ops."""
