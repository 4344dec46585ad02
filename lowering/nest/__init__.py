"""Loop nests: what builds them op by op (`builder.py`)."""
