// RUN: xdsl-opt %s -p 'mir-fuse,convert-mir-to-lir,lir-plan-memory' -t numba | filecheck %s

// The printed module: kernels as loops, the step as a function of the named arguments.

// A product with its epilogue.
// CHECK: import ctypes
// CHECK-NEXT: import inspect
// CHECK-NEXT: from llvmlite import ir
// CHECK-NEXT: import numpy as np
// CHECK-NEXT: from numba import njit, types
// CHECK-NEXT: from numba.core import cgutils
// CHECK-NEXT: from numba.core.typing import signature
// CHECK-NEXT: from numba.extending import lower_builtin, type_callable
// CHECK-NEXT: from numba.extending import get_cython_function_address
// CHECK-NEXT: def lowered(build, result=None):
// CHECK: def decorate(meaning):
// CHECK-NEXT: @type_callable(meaning)
// CHECK-NEXT: def typing(context):
// CHECK-NEXT: def typer(*args):
// CHECK-NEXT: return signature(types.unliteral(result or args[-1]), *map(types.unliteral, args))
// CHECK: return typer
// CHECK-NEXT: @lower_builtin(meaning, types.VarArg(types.Any))
// CHECK-NEXT: def lowering(context, builder, sig, args):
// CHECK-NEXT: return build(builder, context.get_value_type(sig.return_type), *args)
// CHECK-NEXT: return meaning
// CHECK-NEXT: return decorate
// CHECK-NEXT: def intrinsic(name, result=None):
// CHECK: def build(builder, type, *args):
// CHECK: function = ir.FunctionType(type, [x.type for x in args])
// CHECK: return builder.call(callee, args)
// CHECK-NEXT: return lowered(build, result)
// CHECK-NEXT: @intrinsic("maximum")
// CHECK-NEXT: def maximum(x, y):
// CHECK: return x + y
// CHECK-NEXT: return (y if np.signbit(x) else x) if x == y else x if x > y else y
// CHECK-NEXT: _sgemm = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(
// CHECK-NEXT: get_cython_function_address("scipy.linalg.cython_blas", "sgemm")
// CHECK: @njit(error_model="numpy")
// CHECK-NEXT: def gemm_f32(a, transpose_a, lda, b, transpose_b, ldb, c, ldc, accumulate):
// CHECK-NEXT: """c = a @ b, or c += a @ b, by a column-major BLAS, which sees the transposes: c.T = b.T @ a.T."""
// CHECK: _sgemm(
// CHECK: @njit(error_model="numpy")
// CHECK-NEXT: def k0_matmul_add_relu(b, x, w, a3, lo, hi):
// CHECK: gemm_f32(x[lo:hi, :], False, 16, w[:, 0:32], False, 32, a3[lo:hi, 0:32], 32, False)
// CHECK-NEXT: for i in range(lo, hi):
// CHECK-NEXT: for j in range(32):
// CHECK: def epilogue(**inputs):
// CHECK: return (output_0,)
func.func @epilogue(%x: tensor<64x16xf32> {mir.name = "x", mir.kind = "input"}, %w: tensor<16x32xf32> {mir.name = "w", mir.kind = "param"}, %b: tensor<32xf32> {mir.name = "b", mir.kind = "param"}) -> tensor<64x32xf32> {
  %0 = mir.matmul %x, %w : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
  %1 = mir.add %0, %b : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  %2 = mir.relu %1 : tensor<64x32xf32>
  func.return %2 : tensor<64x32xf32>
}
