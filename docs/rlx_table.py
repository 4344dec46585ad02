"""
The data of docs/howto/from-rlx.md: names of RLX, and the counterpart of each.

`names_page.py` renders it. Each name in a counterpart must exist: `rlx.` names, ops of `mir.` and `hir.`, passes that
begin with `mir-`, `lir-`, `rlx-` or `convert-`, and attributes and methods of the classes `GraphModule`,
`CompiledGraph` and `TrainingProgram`. `tests/house/test_names.py` checks that.
"""

from __future__ import annotations

FUNCTIONS: dict[str, str] = {
    "GraphModule::define(name, build)": "`rlx.GraphModule.define(name, build)`",
    "GraphModule::mir(name)": "`rlx.Graph(name)`",
    "GraphModule::lower(), HirModule::lower_to_mir()": "`rlx.lower_hir(graph)`",
    "with_fusion_policy, FusionPolicy::for_autodiff()": '`rlx.lower_hir(graph, fusion_policy="fusable")`',
    "inline_into(target, source, bindings)": "`rlx.Graph.inline`: `g.inline(graph, *operands)`",
    "promote_params_to_inputs(graph, names)": "not needed: `rlx.vmap` batches params that it names",
    "prepare_graph_for_ad, prepare_mir_for_ad, prepare_module_for_ad": "`rlx.prepare_for_ad(graph)`, one function",
    "PrepareForAutodiff": "the pass `mir-prepare-for-ad`",
    "grad_with_loss(forward, wrt), grad_with_loss_module": "`rlx.grad_with_loss(graph, wrt)`; `wrt` are names, not ids",
    "GradWithLossOptions::STRICT": "the default: an argument without influence raises GraphError",
    "GradWithLossOptions::TRAINING": "`rlx.grad_with_loss(graph, wrt, zero_missing_wrt=True)`",
    "grad(forward, wrt)": "`rlx.grad(graph, wrt)`: the gradients alone, without other outputs of the graph",
    "jvp(forward, tangent_for), jvp_module": "`rlx.jvp(graph, tangent_for)`",
    "hvp(forward, wrt), hvp_module": "`rlx.hvp(graph, wrt)`",
    "nth_order_grad(forward, wrt, order)": "`rlx.nth_order_grad(graph, wrt, order)`, also of tensors",
    "directional_nth_grad(forward, wrt, dirs)": "`rlx.nth_order_grad` with the directions as `d_output_2`, ...",
    "vmap(forward, inputs, B)": "`rlx.vmap(graph, inputs, size, in_axes=0)`",
    "jacfwd(compiled_jvp, primals, wrt, ..)": "`rlx.jacfwd(graph, wrt)`, or `rlx.jacfwd(compiled, wrt)` by columns",
    "decompose_backward_ops, prepare_grad_graph_for_jvp": "not needed: ops of gradient graphs have derivatives",
    "quantized_weight_bits(graph, node)": "`rlx.quantized_weight_bits(graph, value)`",
    "insert_q_dq(graph, record), CalibrationEntry": "`rlx.insert_q_dq`, `rlx.calibrate`, `rlx.CalibrationEntry`",
    "auto_mixed_precision, AutoMixedBf16": "`rlx.mixed_precision(graph, policy)`, `rlx.PrecisionPolicy`",
    "run_passes(graph, passes)": "`rlx.run_passes(graph, passes)`, also with the text of a pipeline",
    "FusionReport, assert_fusion_clean": "`rlx.fusion_report(graph)`, `rlx.assert_fusion_clean(graph)`",
    "inspect_hir, inspect_mir, inspect_lir": "`print(graph)`, `rlx.inspect`, `rlx.memory_report`",
    "register_op(OpExtension), lookup_op": "`rlx.custom_op`, with `rlx.Shaped` for shapes",
    "Graph::custom_fn, custom_fn_multi": "`rlx.custom_fn`; `rlx.custom_vjp`, `rlx.custom_jvp` of Python functions",
    "Session(device).compile(graph), compile_module": "`rlx.compile(graph)`",
    "CompilePipeline::compile_training(module, wrt)": "`rlx.compile_training`",
    "TrainingCompileResult": "`TrainingProgram.forward`, `TrainingProgram.backward`, `TrainingProgram.step`",
    "SharedWeightLayout": "`rlx.Weights`, shared by `weights=` of `rlx.compile`",
    "CompiledGraph.set_param, set_param_typed": "`CompiledGraph.set_param`, of any element type",
    "CompiledGraph.run, run_typed": "call the compiled graph: `compiled(x, w)`",
    "CompileCache, AotCache": "the cache on disk; [Deploy a model](deploy.md)",
}
"""Functions and methods."""

PLANS: dict[str, str] = {
    "plan_memory, plan_memory_aligned": "the pass `lir-plan-memory`; `rlx.lower(graph)` runs it",
    "plan_memory_with_options (allocate_params, ..)": "never in the arena: a program reads the arrays of its caller",
    "plan_memory_f32_uniform": "none: a slot has the size of its element type",
    "plan_memory_backward": "`rlx.compile_training`: one program, or two that share weights and residuals",
    "MemoryPlanOptions::inference()": "`rlx.compile`",
    "in-place updates: none": "`donate=` of `rlx.compile`, the pass `mir-donate`",
    "rematerialisation: none": "`memory_budget=` of `rlx.compile`, the passes `mir-fit-memory` and `mir-rematerialize`",
    "specialize_lir, DimBinding": "shapes are static: a Python function is compiled again for each shape",
    "LirModule.arena_size, bytes_saved": "`CompiledGraph.arena_bytes`, `rlx.memory_report`",
    "LirModule.fingerprint": "`GraphModule.fingerprint`",
}
"""Variants of the memory plan."""

PASSES: dict[str, str] = {
    "DecomposeFusionRegions": "`mir-decompose-fusion-regions`",
    "UnfuseElementwiseRegions": "`mir-unfuse-elementwise-regions`",
    "legalize_multi_axis_reduce": "`mir-legalize-multi-axis-reduce`",
    "unfuse_fused_for_autodiff": "`mir-unfuse-for-ad`",
    "LowerDotGeneral": "`mir-lower-dot-general`",
    "inline_if": "`mir-inline-if`; gradients keep branches",
    "unroll_while": "`mir-unroll-while`; gradients keep loops",
    "inline_custom_fn_for_autodiff": "`mir-inline-custom-fn`",
    "convert_scans_for_ad": "`mir-convert-scans-for-ad`",
    "fuse_decomposed_gaussian_splat": "`mir-fuse-gaussian-splat`",
    "fuse_matmul_bias_act, fuse_residual_ln, fuse_swiglu, ..": "`mir-raise-composites`",
    "mark_elementwise_regions": "`mir-fuse`",
    "constant_folding": "`mir-canonicalize`, `mir-fold-constants`",
    "cse": "`mir-cse`",
    "legalize_broadcast": "`mir-legalize-broadcast`",
    "quant_propagate": "`mir-propagate-fake-quantize`",
    "auto_mixed_precision": "`mir-mixed-precision`",
    "insert_q_dq": "`mir-insert-quantize-dequantize`",
    "legalize_for_backend, rewrite_for_backend": "`mir-decompose`: there is one target",
}
"""Passes."""

OPS: dict[str, str] = {
    "Input, Param": 'arguments of the function, with `mir.kind = "input"` or `"param"`',
    "Activation{kind}": "one op per kind: `mir.gelu`, `mir.gelu_approx`, `mir.silu`, `mir.relu`, `mir.tanh`, ..",
    "Binary{op}": "`mir.add`, `mir.sub`, `mir.mul`, `mir.div`, `mir.max`, `mir.min`, `mir.pow`",
    "Compare{op}": "`mir.eq`, `mir.ne`, `mir.lt`, `mir.le`, `mir.gt`, `mir.ge`; the result is i1",
    "Reduce{op}": "`mir.reduce_sum`, `mir.reduce_mean`, `mir.reduce_max`, `mir.reduce_min`, `mir.reduce_prod`",
    "MatMul, LoraMatMul, GroupedMatMul": "`mir.matmul`, `mir.lora_matmul`, `mir.grouped_matmul`",
    "DequantMatMul, DequantGroupedMatMul": "`mir.dequant_matmul`, `mir.dequant_grouped_matmul`",
    "DequantMoEWeights": "`mir.dequant_moe_weights`",
    "QMatMul, QConv2d": "`mir.q_matmul`, `mir.q_conv2d`",
    "TopK": "`mir.topk`: i64 indices; `rlx.topk_values` gathers the values",
    "Sample, RngNormal, RngUniform": "`mir.sample`, `mir.rng_normal`, `mir.rng_uniform`, with a key instead of a seed",
    "SoftmaxCrossEntropyWithLogits": "`mir.softmax_cross_entropy_with_logits`, with integer labels",
    "BatchNormInference": "`mir.batch_norm_inference`; the channels of `[N, C, ..]` are the default axis",
    "LayerNorm2d, ResizeNearest2x": "`mir.layer_norm_2d`, `mir.resize_nearest_2x`",
    "If, While": "`mir.if`, `mir.while`, with several results; `rlx.cond`, `rlx.while_loop` of functions",
    "Scan": "`mir.scan`, with several carries and stacked results; `rlx.scan` of functions",
    "ScanBackward, ScanBackwardXs": "`mir.scan`: the gradient of a scan is a scan",
    "Lstm, Gru, Rnn, Mamba2": "`hir.lstm`, `hir.gru`, `hir.rnn`, `hir.mamba2`",
    "Linear, LinearFused (HIR)": "`hir.linear`; the policy of the lowering chooses",
    "SwiGLU, DepthwiseConv1dCausal, .. (HIR)": "`hir.swiglu`, `hir.depthwise_conv1d_causal`, ..",
    "Mir(op) (HIR)": "ops of `mir` may stand between blocks",
    "FusedMatMulBiasAct": "`mir.fused_matmul_bias_act`",
    "FusedResidualLN, FusedResidualRmsNorm": "`mir.fused_residual_ln`, `mir.fused_residual_rms_norm`",
    "FusedSwiGLU": "`mir.fused_swiglu`",
    "FakeQuantizeLSQ": "`mir.fake_quantize_lsq`",
    "*Backward": "mostly primitive ops; `mir.attention_backward` and others have a kernel",
}
"""Ops whose names or operands differ."""

SAME_OPS = (
    "Constant Cast StopGradient Conjugate ComplexNormSq Where ElementwiseRegion TransformRegion BatchElementwiseRegion "
    "DotGeneral DenseSolve BatchedDenseSolve LayerNorm RmsNorm GroupNorm Attention Rope Reshape Transpose Narrow "
    "Concat Expand Gather ScatterAdd Softmax Cumsum Conv Pool SelectiveScan GatedDeltaNet CustomFn Custom "
    "FusedAttentionBlock FusedTransformerLayer Quantize Dequantize FakeQuantize GaussianSplatRender "
    "GaussianSplatPrepare GaussianSplatRasterize Fft LogMel Im2col"
)
"""Ops with the same name, in snake_case."""

DIFFERENCES = """\
* Derivatives at special points are the field's. Equal maxima share the cotangent; RLX gives all of it to each one, or
  to one operand. The derivative of `sqrt` at 0 is infinite; RLX has 0. `rlx.safe_sqrt` and `rlx.safe_rsqrt` have 0.
* `Round` is straight-through in both modes, and rounds half to even for all element types.
* Arguments are named everywhere: `wrt`, tangents and params have names, not node ids.
* A tangent is `tangent_<name>` and the cotangent of the loss `d_output`, as in RLX; `d_output` is optional here.
* `vmap` gives every output a batch axis, also one that does not depend on a batched input.
* Indices and labels are integers. f32 ones are converted.
* Shapes are static. Errors are exceptions (`rlx.GraphError`) that name the op, the shapes and the line.
* The CPU is the only device."""
