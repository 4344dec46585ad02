"""What can be known of a kernel without running it."""
