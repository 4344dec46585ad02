// RUN: xdsl-opt %s -p mir-emit-vjp | filecheck %s

// The vjp rules of the family recurrence: one scan back over each.

// The states that the forward op gives are gone along backwards, and what is left of the state is computed again.
// CHECK-LABEL: func.func @selective_scan(%x: tensor<2x5x3xf32>, %d: tensor<2x5x3xf32>, %a: tensor<3x4xf32>, %b: tensor<2x5x4xf32>, %c: tensor<2x5x4xf32>, %h: tensor<2x3x4xf32>, %y: tensor<2x5x3xf32>, %last: tensor<2x3x4xf32>, %states: tensor<5x2x3x4xf32>, %gy: tensor<2x5x3xf32>, %gl: tensor<2x3x4xf32>) -> (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x3x4xf32>) {
// CHECK-NEXT: %0 = mir.transpose %x perm [1, 0, 2] : (tensor<2x5x3xf32>) -> tensor<5x2x3xf32>
// CHECK-NEXT: %1 = mir.reshape %0 : tensor<5x2x3xf32> to tensor<5x2x3x1xf32>
// CHECK-NEXT: %2 = mir.transpose %d perm [1, 0, 2] : (tensor<2x5x3xf32>) -> tensor<5x2x3xf32>
// CHECK-NEXT: %3 = mir.reshape %2 : tensor<5x2x3xf32> to tensor<5x2x3x1xf32>
// CHECK-NEXT: %4 = mir.transpose %b perm [1, 0, 2] : (tensor<2x5x4xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT: %5 = mir.reshape %4 : tensor<5x2x4xf32> to tensor<5x2x1x4xf32>
// CHECK-NEXT: %6 = mir.transpose %c perm [1, 0, 2] : (tensor<2x5x4xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT: %7 = mir.reshape %6 : tensor<5x2x4xf32> to tensor<5x2x1x4xf32>
// CHECK-NEXT: %8 = mir.transpose %gy perm [1, 0, 2] : (tensor<2x5x3xf32>) -> tensor<5x2x3xf32>
// CHECK-NEXT: %9 = mir.reshape %8 : tensor<5x2x3xf32> to tensor<5x2x3x1xf32>
// CHECK-NEXT: %10 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %11 = mir.expand %10 : tensor<f32> to tensor<2x3x4xf32>
// CHECK-NEXT: %dh, %12, %13, %14, %15, %16 = mir.scan 5 reverse carries(%gl, %11 : tensor<2x3x4xf32>, tensor<2x3x4xf32>) over(%1, %3, %5, %7, %9, %states : tensor<5x2x3x1xf32>, tensor<5x2x3x1xf32>, tensor<5x2x1x4xf32>, tensor<5x2x1x4xf32>, tensor<5x2x3x1xf32>, tensor<5x2x3x4xf32>) captured(%a : tensor<3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>) stacked(tensor<5x2x3x1xf32>, tensor<5x2x3x1xf32>, tensor<5x2x1x4xf32>, tensor<5x2x1x4xf32>) {
// CHECK-NEXT: ^bb0(%17: tensor<2x3x4xf32>, %18: tensor<2x3x4xf32>, %19: tensor<2x3x1xf32>, %20: tensor<2x3x1xf32>, %21: tensor<2x1x4xf32>, %22: tensor<2x1x4xf32>, %23: tensor<2x3x1xf32>, %24: tensor<2x3x4xf32>, %a_1: tensor<3x4xf32>):
// CHECK-NEXT: %25 = mir.mul %20, %a_1 : (tensor<2x3x1xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %26 = mir.exp %25 : tensor<2x3x4xf32>
// CHECK-NEXT: %27 = mir.mul %26, %24 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %28 = mir.mul %20, %19 : (tensor<2x3x1xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
// CHECK-NEXT: %29 = mir.mul %22, %23 : (tensor<2x1x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %30 = mir.add %17, %29 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %31 = mir.mul %30, %27 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %32 = mir.mul %30, %21 : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %33 = mir.reduce_sum %32 axes [2] keep_dim : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
// CHECK-NEXT: %34 = mir.mul %31, %a_1 : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %35 = mir.reduce_sum %34 axes [2] keep_dim : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
// CHECK-NEXT: %36 = mir.mul %33, %19 : (tensor<2x3x1xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
// CHECK-NEXT: %37 = mir.add %35, %36 : (tensor<2x3x1xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
// CHECK-NEXT: %38 = mir.mul %30, %28 : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %39 = mir.reduce_sum %38 axes [1] keep_dim : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
// CHECK-NEXT: %40 = mir.mul %28, %21 : (tensor<2x3x1xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %41 = mir.add %27, %40 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %42 = mir.mul %41, %23 : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %43 = mir.reduce_sum %42 axes [1] keep_dim : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
// CHECK-NEXT: %44 = mir.mul %26, %30 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %45 = mir.mul %20, %31 : (tensor<2x3x1xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %46 = mir.add %18, %45 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %47 = mir.mul %20, %33 : (tensor<2x3x1xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
// CHECK-NEXT: mir.yield %44, %46, %47, %37, %39, %43 : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %17 = mir.reshape %13 : tensor<5x2x3x1xf32> to tensor<5x2x3xf32>
// CHECK-NEXT: %dx = mir.transpose %17 perm [1, 0, 2] : (tensor<5x2x3xf32>) -> tensor<2x5x3xf32>
// CHECK-NEXT: %18 = mir.reshape %14 : tensor<5x2x3x1xf32> to tensor<5x2x3xf32>
// CHECK-NEXT: %dd = mir.transpose %18 perm [1, 0, 2] : (tensor<5x2x3xf32>) -> tensor<2x5x3xf32>
// CHECK-NEXT: %19 = mir.reshape %15 : tensor<5x2x1x4xf32> to tensor<5x2x4xf32>
// CHECK-NEXT: %db = mir.transpose %19 perm [1, 0, 2] : (tensor<5x2x4xf32>) -> tensor<2x5x4xf32>
// CHECK-NEXT: %20 = mir.reshape %16 : tensor<5x2x1x4xf32> to tensor<5x2x4xf32>
// CHECK-NEXT: %dc = mir.transpose %20 perm [1, 0, 2] : (tensor<5x2x4xf32>) -> tensor<2x5x4xf32>
// CHECK-NEXT: %da = mir.reduce_sum %12 axes [0] : (tensor<2x3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return %dx, %dd, %da, %db, %dc, %dh : tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x3x4xf32>
// CHECK-NEXT: }
func.func @selective_scan(%x: tensor<2x5x3xf32>, %d: tensor<2x5x3xf32>, %a: tensor<3x4xf32>, %b: tensor<2x5x4xf32>, %c: tensor<2x5x4xf32>, %h: tensor<2x3x4xf32>, %y: tensor<2x5x3xf32>, %last: tensor<2x3x4xf32>, %states: tensor<5x2x3x4xf32>, %gy: tensor<2x5x3xf32>, %gl: tensor<2x3x4xf32>) -> (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x3x4xf32>) {
  %dx, %dd, %da, %db, %dc, %dh = mir.vjp primals(%x, %d, %a, %b, %c, %h : tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x3x4xf32>) outputs(%y, %last, %states : tensor<2x5x3xf32>, tensor<2x3x4xf32>, tensor<5x2x3x4xf32>) cotangents(%gy, %gl : tensor<2x5x3xf32>, tensor<2x3x4xf32>) of [0, 1] wrt [0, 1, 2, 3, 4, 5] -> tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x3x4xf32> {
  ^bb0(%x_1: tensor<2x5x3xf32>, %d_1: tensor<2x5x3xf32>, %a_1: tensor<3x4xf32>, %b_1: tensor<2x5x4xf32>, %c_1: tensor<2x5x4xf32>, %h_1: tensor<2x3x4xf32>):
    %0, %1, %2 = mir.selective_scan %x_1, %d_1, %a_1, %b_1, %c_1 from %h_1 : (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x3x4xf32>) -> (tensor<2x5x3xf32>, tensor<2x3x4xf32>, tensor<5x2x3x4xf32>)
    mir.yield %0, %1, %2 : tensor<2x5x3xf32>, tensor<2x3x4xf32>, tensor<5x2x3x4xf32>
  }
  func.return %dx, %dd, %da, %db, %dc, %dh : tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x3x4xf32>
}

// An op that does not give its states is computed again, with them. No cotangent arrives at the final state.
// CHECK-LABEL: func.func @gated_delta_net(%q: tensor<2x5x1x3xf32>, %k: tensor<2x5x1x3xf32>, %v: tensor<2x5x1x4xf32>, %g: tensor<2x5x1xf32>, %beta: tensor<2x5x1xf32>, %y: tensor<2x5x1x4xf32>, %last: tensor<2x1x3x4xf32>, %gy: tensor<2x5x1x4xf32>) -> (tensor<2x5x1x3xf32>, tensor<2x5x1x3xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1xf32>, tensor<2x5x1xf32>) {
// CHECK-NEXT: %0 = mir.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = mir.expand %0 : tensor<f32> to tensor<2x1x3x4xf32>
// CHECK-NEXT: %2 = mir.constant dense<0.577350259> : tensor<f32>
// CHECK-NEXT: %3 = mir.mul %gy, %2 : (tensor<2x5x1x4xf32>, tensor<f32>) -> tensor<2x5x1x4xf32>
// CHECK-NEXT: %4 = mir.transpose %3 perm [1, 0, 2, 3] : (tensor<2x5x1x4xf32>) -> tensor<5x2x1x4xf32>
// CHECK-NEXT: %5 = mir.reshape %4 : tensor<5x2x1x4xf32> to tensor<5x2x1x1x4xf32>
// CHECK-NEXT: %6 = mir.transpose %q perm [1, 0, 2, 3] : (tensor<2x5x1x3xf32>) -> tensor<5x2x1x3xf32>
// CHECK-NEXT: %7 = mir.reshape %6 : tensor<5x2x1x3xf32> to tensor<5x2x1x3x1xf32>
// CHECK-NEXT: %8 = mir.transpose %k perm [1, 0, 2, 3] : (tensor<2x5x1x3xf32>) -> tensor<5x2x1x3xf32>
// CHECK-NEXT: %9 = mir.reshape %8 : tensor<5x2x1x3xf32> to tensor<5x2x1x3x1xf32>
// CHECK-NEXT: %10 = mir.transpose %v perm [1, 0, 2, 3] : (tensor<2x5x1x4xf32>) -> tensor<5x2x1x4xf32>
// CHECK-NEXT: %11 = mir.reshape %10 : tensor<5x2x1x4xf32> to tensor<5x2x1x1x4xf32>
// CHECK-NEXT: %12 = mir.transpose %g perm [1, 0, 2] : (tensor<2x5x1xf32>) -> tensor<5x2x1xf32>
// CHECK-NEXT: %13 = mir.reshape %12 : tensor<5x2x1xf32> to tensor<5x2x1x1x1xf32>
// CHECK-NEXT: %14 = mir.transpose %beta perm [1, 0, 2] : (tensor<2x5x1xf32>) -> tensor<5x2x1xf32>
// CHECK-NEXT: %15 = mir.reshape %14 : tensor<5x2x1xf32> to tensor<5x2x1x1x1xf32>
// CHECK-NEXT: %16, %17, %18 = mir.gated_delta_net %q, %k, %v, %g, %beta : (tensor<2x5x1x3xf32>, tensor<2x5x1x3xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1xf32>, tensor<2x5x1xf32>) -> (tensor<2x5x1x4xf32>, tensor<2x1x3x4xf32>, tensor<5x2x1x3x4xf32>)
// CHECK-NEXT: %19, %20, %21, %22, %23, %24 = mir.scan 5 reverse carries(%1 : tensor<2x1x3x4xf32>) over(%7, %9, %11, %13, %15, %5, %18 : tensor<5x2x1x3x1xf32>, tensor<5x2x1x3x1xf32>, tensor<5x2x1x1x4xf32>, tensor<5x2x1x1x1xf32>, tensor<5x2x1x1x1xf32>, tensor<5x2x1x1x4xf32>, tensor<5x2x1x3x4xf32>) -> (tensor<2x1x3x4xf32>) stacked(tensor<5x2x1x3x1xf32>, tensor<5x2x1x3x1xf32>, tensor<5x2x1x1x4xf32>, tensor<5x2x1x1x1xf32>, tensor<5x2x1x1x1xf32>) {
// CHECK-NEXT: ^bb0(%25: tensor<2x1x3x4xf32>, %26: tensor<2x1x3x1xf32>, %27: tensor<2x1x3x1xf32>, %28: tensor<2x1x1x4xf32>, %29: tensor<2x1x1x1xf32>, %30: tensor<2x1x1x1xf32>, %31: tensor<2x1x1x4xf32>, %32: tensor<2x1x3x4xf32>):
// CHECK-NEXT: %33 = mir.exp %29 : tensor<2x1x1x1xf32>
// CHECK-NEXT: %34 = mir.mul %33, %32 : (tensor<2x1x1x1xf32>, tensor<2x1x3x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %35 = mir.mul %27, %34 : (tensor<2x1x3x1xf32>, tensor<2x1x3x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %36 = mir.reduce_sum %35 axes [2] keep_dim : (tensor<2x1x3x4xf32>) -> tensor<2x1x1x4xf32>
// CHECK-NEXT: %37 = mir.sub %28, %36 : (tensor<2x1x1x4xf32>, tensor<2x1x1x4xf32>) -> tensor<2x1x1x4xf32>
// CHECK-NEXT: %38 = mir.mul %37, %30 : (tensor<2x1x1x4xf32>, tensor<2x1x1x1xf32>) -> tensor<2x1x1x4xf32>
// CHECK-NEXT: %39 = mir.mul %26, %31 : (tensor<2x1x3x1xf32>, tensor<2x1x1x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %40 = mir.add %25, %39 : (tensor<2x1x3x4xf32>, tensor<2x1x3x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %41 = mir.mul %27, %38 : (tensor<2x1x3x1xf32>, tensor<2x1x1x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %42 = mir.add %34, %41 : (tensor<2x1x3x4xf32>, tensor<2x1x3x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %43 = mir.mul %42, %31 : (tensor<2x1x3x4xf32>, tensor<2x1x1x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %44 = mir.reduce_sum %43 axes [3] keep_dim : (tensor<2x1x3x4xf32>) -> tensor<2x1x3x1xf32>
// CHECK-NEXT: %45 = mir.mul %27, %40 : (tensor<2x1x3x1xf32>, tensor<2x1x3x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %46 = mir.reduce_sum %45 axes [2] keep_dim : (tensor<2x1x3x4xf32>) -> tensor<2x1x1x4xf32>
// CHECK-NEXT: %47 = mir.mul %30, %46 : (tensor<2x1x1x1xf32>, tensor<2x1x1x4xf32>) -> tensor<2x1x1x4xf32>
// CHECK-NEXT: %48 = mir.mul %40, %38 : (tensor<2x1x3x4xf32>, tensor<2x1x1x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %49 = mir.mul %34, %47 : (tensor<2x1x3x4xf32>, tensor<2x1x1x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %50 = mir.sub %48, %49 : (tensor<2x1x3x4xf32>, tensor<2x1x3x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %51 = mir.reduce_sum %50 axes [3] keep_dim : (tensor<2x1x3x4xf32>) -> tensor<2x1x3x1xf32>
// CHECK-NEXT: %52 = mir.mul %27, %47 : (tensor<2x1x3x1xf32>, tensor<2x1x1x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %53 = mir.sub %40, %52 : (tensor<2x1x3x4xf32>, tensor<2x1x3x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %54 = mir.mul %53, %34 : (tensor<2x1x3x4xf32>, tensor<2x1x3x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %55 = mir.reduce_sum %54 axes [2, 3] keep_dim : (tensor<2x1x3x4xf32>) -> tensor<2x1x1x1xf32>
// CHECK-NEXT: %56 = mir.mul %46, %37 : (tensor<2x1x1x4xf32>, tensor<2x1x1x4xf32>) -> tensor<2x1x1x4xf32>
// CHECK-NEXT: %57 = mir.reduce_sum %56 axes [3] keep_dim : (tensor<2x1x1x4xf32>) -> tensor<2x1x1x1xf32>
// CHECK-NEXT: %58 = mir.mul %33, %53 : (tensor<2x1x1x1xf32>, tensor<2x1x3x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: mir.yield %58, %44, %51, %47, %55, %57 : tensor<2x1x3x4xf32>, tensor<2x1x3x1xf32>, tensor<2x1x3x1xf32>, tensor<2x1x1x4xf32>, tensor<2x1x1x1xf32>, tensor<2x1x1x1xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %25 = mir.reshape %20 : tensor<5x2x1x3x1xf32> to tensor<5x2x1x3xf32>
// CHECK-NEXT: %dq = mir.transpose %25 perm [1, 0, 2, 3] : (tensor<5x2x1x3xf32>) -> tensor<2x5x1x3xf32>
// CHECK-NEXT: %26 = mir.reshape %21 : tensor<5x2x1x3x1xf32> to tensor<5x2x1x3xf32>
// CHECK-NEXT: %dk = mir.transpose %26 perm [1, 0, 2, 3] : (tensor<5x2x1x3xf32>) -> tensor<2x5x1x3xf32>
// CHECK-NEXT: %27 = mir.reshape %22 : tensor<5x2x1x1x4xf32> to tensor<5x2x1x4xf32>
// CHECK-NEXT: %dv = mir.transpose %27 perm [1, 0, 2, 3] : (tensor<5x2x1x4xf32>) -> tensor<2x5x1x4xf32>
// CHECK-NEXT: %28 = mir.reshape %23 : tensor<5x2x1x1x1xf32> to tensor<5x2x1xf32>
// CHECK-NEXT: %dg = mir.transpose %28 perm [1, 0, 2] : (tensor<5x2x1xf32>) -> tensor<2x5x1xf32>
// CHECK-NEXT: %29 = mir.reshape %24 : tensor<5x2x1x1x1xf32> to tensor<5x2x1xf32>
// CHECK-NEXT: %dbeta = mir.transpose %29 perm [1, 0, 2] : (tensor<5x2x1xf32>) -> tensor<2x5x1xf32>
// CHECK-NEXT: func.return %dq, %dk, %dv, %dg, %dbeta : tensor<2x5x1x3xf32>, tensor<2x5x1x3xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1xf32>, tensor<2x5x1xf32>
// CHECK-NEXT: }
func.func @gated_delta_net(%q: tensor<2x5x1x3xf32>, %k: tensor<2x5x1x3xf32>, %v: tensor<2x5x1x4xf32>, %g: tensor<2x5x1xf32>, %beta: tensor<2x5x1xf32>, %y: tensor<2x5x1x4xf32>, %last: tensor<2x1x3x4xf32>, %gy: tensor<2x5x1x4xf32>) -> (tensor<2x5x1x3xf32>, tensor<2x5x1x3xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1xf32>, tensor<2x5x1xf32>) {
  %dq, %dk, %dv, %dg, %dbeta = mir.vjp primals(%q, %k, %v, %g, %beta : tensor<2x5x1x3xf32>, tensor<2x5x1x3xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1xf32>, tensor<2x5x1xf32>) outputs(%y, %last : tensor<2x5x1x4xf32>, tensor<2x1x3x4xf32>) cotangents(%gy : tensor<2x5x1x4xf32>) of [0] wrt [0, 1, 2, 3, 4] -> tensor<2x5x1x3xf32>, tensor<2x5x1x3xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1xf32>, tensor<2x5x1xf32> {
  ^bb0(%q_1: tensor<2x5x1x3xf32>, %k_1: tensor<2x5x1x3xf32>, %v_1: tensor<2x5x1x4xf32>, %g_1: tensor<2x5x1xf32>, %beta_1: tensor<2x5x1xf32>):
    %0, %1 = mir.gated_delta_net %q_1, %k_1, %v_1, %g_1, %beta_1 : (tensor<2x5x1x3xf32>, tensor<2x5x1x3xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1xf32>, tensor<2x5x1xf32>) -> (tensor<2x5x1x4xf32>, tensor<2x1x3x4xf32>)
    mir.yield %0, %1 : tensor<2x5x1x4xf32>, tensor<2x1x3x4xf32>
  }
  func.return %dq, %dk, %dv, %dg, %dbeta : tensor<2x5x1x3xf32>, tensor<2x5x1x3xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1xf32>, tensor<2x5x1xf32>
}
