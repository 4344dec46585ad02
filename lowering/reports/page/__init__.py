"""One HTML file that shows a program: its graph and kernels, the text of each stage, memory, and a profile."""
