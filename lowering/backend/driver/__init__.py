"""What runs a program: its tables, and the machine code that walks them."""
