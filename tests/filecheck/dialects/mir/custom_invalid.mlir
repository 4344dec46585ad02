// RUN: DIAGNOSTICS

// CHECK: no op is registered as "acme.nobody"
%0 = "test.op"() : () -> (tensor<3xf32>)
%1 = mir.custom "acme.nobody"(%0) : (tensor<3xf32>) -> tensor<3xf32>
