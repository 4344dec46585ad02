"""NumPy's vocabulary on traced values: functions, by their names and with their arguments, as rows of a table."""
