"""Machine code and the machine: LLVM, objects, the processor, BLAS, all cores."""
