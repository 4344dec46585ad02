"""Primitives that have no translation, with the reason that errors give."""

from xdsl_rlx.frontends.jaxpr.rows import ROWS

ROWS.refuse(
    "it calls Python while the program runs; compute that outside, or print with jax.debug.print",
    "debug_callback",
    "io_callback",
    "inspect_sharding",
)
ROWS.refuse(
    "it moves data between devices, and a program runs on one; take it out of shard_map and pmap",
    "all_gather",
    "all_gather_invariant",
    "all_gather_reduced",
    "all_to_all",
    "axis_index",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "pbroadcast",
    "pmax",
    "pmin",
    "ppermute",
    "preduced",
    "psum",
    "psum_invariant",
    "pgather",
    "ragged_all_to_all",
    "reduce_scatter",
    "shard_map",
    "unreduced_psum",
    "unreduced_reduce_scatter",
    "xla_pmap",
    *(
        f"{name}_{part}"
        for name in (
            "all_gather",
            "all_gather_reduced",
            "all_to_all",
            "pbroadcast",
            "ppermute",
            "psum",
            "psum_invariant",
            "reduce_scatter",
            "unreduced_psum",
            "unreduced_reduce_scatter",
        )
        for part in ("start", "done")
    ),
    "precv",
    "psend",
    "reduced_vary_cast_p",
    "vary_unreduced_cast_p",
)
ROWS.refuse(
    "it runs code of another compiler; pass the function itself",
    "core_map",
    "custom_partitioning",
    "tpu_custom_call",
    "triton_kernel_call",
)
ROWS.refuse(
    "it is a matmul in quantised formats; rlx.dequant_matmul has others",
    "scaled_dot",
    "scaled_matmul_wrapper",
)
ROWS.refuse(
    "it is a kernel for GPUs; jax.nn.dot_product_attention(implementation='xla') is none",
    "dot_product_attention_bwd_wrapper",
    "dot_product_attention_fp8_bwd_wrapper",
    "dot_product_attention_fp8_fwd_wrapper",
    "dot_product_attention_fwd_wrapper",
)
ROWS.refuse(
    "shapes are known while a function is traced",
    "dim_as_value",
    "dimension_size",
    "shape_assertion",
)
ROWS.refuse(
    "keys of this generator are not supported; those of jax.random.key(seed, impl='threefry2x32') are",
    "philox2x32",
    "philox4x32",
    "rng_bit_generator",
    "threefry4x32",
)
ROWS.refuse(
    "it belongs to a transformation of JAX that is not complete; pass the function that is transformed",
    "after_all",
    "create_linear",
    "create_token",
    "custom_lin",
    "from_edtype",
    "to_edtype",
    "unreachable",
)
ROWS.refuse(
    "it changes memory in place; return the new value", "get", "swap", "addupdate", "run_state", "new_ref", "freeze"
)
