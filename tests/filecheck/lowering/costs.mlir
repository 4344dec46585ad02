// RUN: xdsl-opt %s -p mir-fuse | filecheck %s --check-prefix=ONE
// RUN: xdsl-opt %s -p 'mir-fuse{max-group-functions=1 recompute-additions=1}' | filecheck %s --check-prefix=TWO
// RUN: xdsl-opt %s -p 'mir-fuse,convert-mir-to-lir{threads=2}' | filecheck %s --check-prefix=WHOLE
// RUN: xdsl-opt %s -p 'mir-fuse,convert-mir-to-lir{threads=2 parallel-ops=1000}' | filecheck %s --check-prefix=CHUNKS

// Costs are options of the passes that read them. Two functions are one kernel. They are one each if a kernel has at
// most one, and if a function costs too much to be recomputed.
// ONE: mir.fusion
// ONE-NOT: mir.fusion
// TWO: mir.fusion
// TWO: mir.fusion

// So little work is one chunk, unless chunks are cheap.
// WHOLE: over 1024 by 1024
// CHUNKS: over 1024 by 176
func.func @forward(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = mir.exp %x : tensor<1024xf32>
  %1 = mir.tanh %0 : tensor<1024xf32>
  return %1 : tensor<1024xf32>
}
