"""Matrix products as loops over tiles that stay in registers and caches."""
