"""What a program is and does, to be read: fusion, memory, kernels, profiles, and a page of all."""
