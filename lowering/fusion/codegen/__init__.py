"""One kernel of a fusion group: its loops over rows or columns, its matrix products, its launches."""
