// RUN: ROUNDTRIP
// RUN: GENERIC

// CHECK-LABEL: func.func @index(%table: tensor<5x3xf32>, %i: tensor<2x4xi64>, %batched: tensor<2x6x3xf32>) {
// CHECK-NEXT: %rows = mir.gather %table, %i axis 0 batch_dims 0 : (tensor<5x3xf32>, tensor<2x4xi64>) -> tensor<2x4x3xf32>
// CHECK-NEXT: %picked = mir.gather %batched, %i axis 1 batch_dims 1 : (tensor<2x6x3xf32>, tensor<2x4xi64>) -> tensor<2x4x3xf32>
// CHECK-NEXT: %added = mir.scatter_add %rows, %i axis 0 batch_dims 0 extent 5 : (tensor<2x4x3xf32>, tensor<2x4xi64>) -> tensor<5x3xf32>
// CHECK-NEXT: %more = mir.index_add %table, %rows, %i axis 0 batch_dims 0 extent 6 : (tensor<5x3xf32>, tensor<2x4x3xf32>, tensor<2x4xi64>) -> tensor<5x3xf32>
// CHECK-NEXT: %largest = mir.scatter_max %rows, %i axis 0 batch_dims 0 extent 5 : (tensor<2x4x3xf32>, tensor<2x4xi64>) -> tensor<5x3xf32>
// CHECK-NEXT: %smallest = mir.scatter_max %rows, %i axis 0 batch_dims 0 extent 5 smallest : (tensor<2x4x3xf32>, tensor<2x4xi64>) -> tensor<5x3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @index(%table: tensor<5x3xf32>, %i: tensor<2x4xi64>, %batched: tensor<2x6x3xf32>) {
  %rows = mir.gather %table, %i axis 0 batch_dims 0 : (tensor<5x3xf32>, tensor<2x4xi64>) -> tensor<2x4x3xf32>
  %picked = mir.gather %batched, %i axis 1 batch_dims 1 : (tensor<2x6x3xf32>, tensor<2x4xi64>) -> tensor<2x4x3xf32>
  %added = mir.scatter_add %rows, %i axis 0 batch_dims 0 extent 5 : (tensor<2x4x3xf32>, tensor<2x4xi64>) -> tensor<5x3xf32>
  %more = mir.index_add %table, %rows, %i axis 0 batch_dims 0 extent 6 : (tensor<5x3xf32>, tensor<2x4x3xf32>, tensor<2x4xi64>) -> tensor<5x3xf32>
  %largest = mir.scatter_max %rows, %i axis 0 batch_dims 0 extent 5 : (tensor<2x4x3xf32>, tensor<2x4xi64>) -> tensor<5x3xf32>
  %smallest = mir.scatter_max %rows, %i axis 0 batch_dims 0 extent 5 smallest : (tensor<2x4x3xf32>, tensor<2x4xi64>) -> tensor<5x3xf32>
  func.return
}

// CHECK-LABEL: func.func @largest_and_sums(%dy: tensor<2x4x3xf32>, %i: tensor<2x4xi64>, %x: tensor<5x3xf32>) {
// CHECK-NEXT: %table = mir.gather_backward %dy, %i axis 0 batch_dims 0 extent 5 : (tensor<2x4x3xf32>, tensor<2x4xi64>) -> tensor<5x3xf32>
// CHECK-NEXT: %best = mir.topk %x k 2 : (tensor<5x3xf32>) -> tensor<5x2xi64>
// CHECK-NEXT: %least = mir.topk %x k 2 smallest : (tensor<5x3xf32>) -> tensor<5x2xi64>
// CHECK-NEXT: %up = mir.sort %x : (tensor<5x3xf32>) -> tensor<5x3xf32>
// CHECK-NEXT: %down = mir.sort %x descending : (tensor<5x3xf32>) -> tensor<5x3xf32>
// CHECK-NEXT: %part = mir.sort %x first 1 count 2 : (tensor<5x3xf32>) -> tensor<5x2xf32>
// CHECK-NEXT: %last = mir.sort %x descending first 0 count 1 : (tensor<5x3xf32>) -> tensor<5x1xf32>
// CHECK-NEXT: %least_count = mir.bisect %x, %x left : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xi64>
// CHECK-NEXT: %count = mir.bisect %x, %x : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xi64>
// CHECK-NEXT: %sum = mir.cumsum %x axis -1 : tensor<5x3xf32>
// CHECK-NEXT: %both = mir.cumsum %x axis 0 exclusive reverse : tensor<5x3xf32>
// CHECK-NEXT: %back = mir.cumsum_backward %x axis 1 exclusive : tensor<5x3xf32>
// CHECK-NEXT: %forth = mir.cumsum_backward %x axis 1 reverse : tensor<5x3xf32>
// CHECK-NEXT: %product = mir.cumprod %x axis -1 : tensor<5x3xf32>
// CHECK-NEXT: func.return
// CHECK-NEXT: }
func.func @largest_and_sums(%dy: tensor<2x4x3xf32>, %i: tensor<2x4xi64>, %x: tensor<5x3xf32>) {
  %table = mir.gather_backward %dy, %i axis 0 batch_dims 0 extent 5 : (tensor<2x4x3xf32>, tensor<2x4xi64>) -> tensor<5x3xf32>
  %best = mir.topk %x k 2 : (tensor<5x3xf32>) -> tensor<5x2xi64>
  %least = mir.topk %x k 2 smallest : (tensor<5x3xf32>) -> tensor<5x2xi64>
  %up = mir.sort %x : (tensor<5x3xf32>) -> tensor<5x3xf32>
  %down = mir.sort %x descending : (tensor<5x3xf32>) -> tensor<5x3xf32>
  %part = mir.sort %x first 1 count 2 : (tensor<5x3xf32>) -> tensor<5x2xf32>
  %last = mir.sort %x descending first 0 count 1 : (tensor<5x3xf32>) -> tensor<5x1xf32>
  %least_count = mir.bisect %x, %x left : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xi64>
  %count = mir.bisect %x, %x : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xi64>
  %sum = mir.cumsum %x axis -1 : tensor<5x3xf32>
  %both = mir.cumsum %x axis 0 exclusive reverse : tensor<5x3xf32>
  %back = mir.cumsum_backward %x axis 1 exclusive : tensor<5x3xf32>
  %forth = mir.cumsum_backward %x axis 1 reverse : tensor<5x3xf32>
  %product = mir.cumprod %x axis -1 : tensor<5x3xf32>
  func.return
}

// GENERIC: "mir.gather"(%{{.*}}) <{axis = 0 : i64, batch_dims = 0 : i64}>
// GENERIC: "mir.index_add"(%{{.*}}) <{axis = 0 : i64, batch_dims = 0 : i64, extent = 6 : i64}>
// GENERIC: "mir.gather_backward"(%{{.*}}) <{axis = 0 : i64, batch_dims = 0 : i64, extent = 5 : i64}>
// GENERIC: "mir.topk"(%{{.*}}) <{k = 2 : i64}>
// GENERIC: "mir.cumsum"(%{{.*}}) <{axis = -1 : i64}>
// GENERIC: "mir.cumsum"(%{{.*}}) <{axis = 0 : i64, exclusive, reverse}>
// GENERIC: "mir.cumsum_backward"(%{{.*}}) <{axis = 1 : i64, exclusive}>
