"""What the readers of all frameworks use: errors and reports."""
