"""
The data of docs/howto/names.md: the public names of other libraries, and the counterpart of each or why there is none.

`names_page.py` renders it. A counterpart is code: each name in it that begins with `rlx.`, `np.` or `x.` must exist.
`tests/house/test_names.py` checks that, and the names of JAX; `tests/peers/test_names.py` checks those of PyTorch.
"""

from __future__ import annotations

JAX_VERSION, TORCH_VERSION = "0.10.2", "2.13.0"
"""The versions whose names these are."""


class Missing(str):
    """Why a name has no counterpart."""


def words(text: str) -> list[str]:
    """Names that are separated by spaces."""
    return text.split()


def prefixed(here: str, there: str, names: str) -> dict[str, str]:
    """Names that are the same in a module of ours and in one of another library."""
    return {f"{here}.{name}": f"{there}.{name}" for name in names.split()}


def same(module: str, names: str) -> dict[str, str]:
    """Names that are the same in a module of ours."""
    return {name: f"{module}.{name}" for name in names.split()}


def alike(target: str, names: str) -> dict[str, str]:
    """Names with one counterpart."""
    return dict.fromkeys(names.split(), target)


def missing(reason: str, names: str) -> dict[str, str]:
    """Names without a counterpart, for one reason."""
    return dict.fromkeys(names.split(), Missing(reason))


IN_PLACE = "values are immutable: use the function without `_`"
ONE_DEVICE = "the CPU is the only device; there are no collectives"
SHAPES = "a helper that computes shapes or layouts; shapes are known while a function is traced"
SCALED = "no matrix product with block scales; `rlx.dequant_matmul` and `rlx.q_matmul` multiply quantised weights"
NO_OP = "no op computes it"
ALWAYS_EXACT = "no approximate form; `rlx.topk` is exact"
KEYS = "a key is a plain i64 array of 2 elements"
TRACING = "for JAX's own tracing and lowering"
COMPLEX_SERIES = "no op computes it; SciPy does, on arrays"

TORCH_NN_FUNCTIONAL: dict[str, str] = {
    **same("rlx.nn", "affine_grid alpha_dropout batch_norm bilinear binary_cross_entropy"),
    **same("rlx.nn", "binary_cross_entropy_with_logits celu channel_shuffle conv1d conv2d conv3d conv_transpose1d"),
    **same(
        "rlx.nn", "conv_transpose2d conv_transpose3d cosine_embedding_loss cosine_similarity cross_entropy ctc_loss"
    ),
    **same("rlx.nn", "dropout dropout1d dropout2d dropout3d elu embedding embedding_bag feature_alpha_dropout fold"),
    **same(
        "rlx.nn", "gaussian_nll_loss gelu glu grid_sample group_norm gumbel_softmax hinge_embedding_loss huber_loss"
    ),
    **same("rlx.nn", "instance_norm interpolate kl_div l1_loss layer_norm leaky_relu linear local_response_norm"),
    **same("rlx.nn", "log_softmax margin_ranking_loss mish mse_loss multi_margin_loss multilabel_margin_loss"),
    **same(
        "rlx.nn", "multilabel_soft_margin_loss nll_loss normalize one_hot pad pairwise_distance pdist pixel_shuffle"
    ),
    **same("rlx.nn", "pixel_unshuffle poisson_nll_loss prelu relu relu6 rms_norm rrelu scaled_dot_product_attention"),
    **same(
        "rlx.nn", "selu sigmoid silu smooth_l1_loss soft_margin_loss softmax softmin softplus softshrink tanhshrink"
    ),
    **same("rlx.nn", "threshold triplet_margin_loss triplet_margin_with_distance_loss unfold"),
    **alike("rlx.nn.adaptive_avg_pool", "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d"),
    **alike("rlx.nn.adaptive_max_pool", "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d"),
    **alike(
        "rlx.nn.adaptive_max_pool(.., return_indices=True)",
        "adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices",
    ),
    **alike("rlx.nn.avg_pool", "avg_pool1d avg_pool2d avg_pool3d"),
    **alike("rlx.nn.lp_pool", "lp_pool1d lp_pool2d lp_pool3d"),
    **alike("rlx.nn.max_pool", "max_pool1d max_pool2d max_pool3d"),
    **alike(
        "rlx.nn.max_pool(.., return_indices=True)",
        "max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices",
    ),
    **alike("rlx.nn.max_unpool", "max_unpool1d max_unpool2d max_unpool3d"),
    **alike("rlx.nn.interpolate", "upsample upsample_bilinear upsample_nearest"),
    "conv_tbc": "rlx.nn.conv1d(x.transpose(1, 2, 0), ..)",
    "grouped_mm": "rlx.grouped_matmul",
    "hardshrink": "rlx.nn.hard_shrink",
    "hardsigmoid": "rlx.nn.hard_sigmoid",
    "hardswish": "rlx.nn.hard_swish",
    "hardtanh": "rlx.nn.hard_tanh",
    "linear_cross_entropy": "rlx.nn.cross_entropy(rlx.nn.linear(x, w), y)",
    "logsigmoid": "rlx.nn.log_sigmoid",
    "multi_head_attention_forward": "rlx.nn.multi_head_attention",
    "native_channel_shuffle": "rlx.nn.channel_shuffle",
    "softsign": "rlx.nn.soft_sign",
    "tanh": "np.tanh",
    **missing(IN_PLACE, "celu_ elu_ hardtanh_ leaky_relu_ relu_ rrelu_ selu_ threshold_"),
    **missing(SCALED, "scaled_grouped_mm scaled_mm"),
    **missing(
        "windows at random places: no op; `rlx.nn.max_pool` has windows at regular ones",
        "fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d "
        "fractional_max_pool3d_with_indices",
    ),
}

JAX_NN: dict[str, str] = {
    **same("rlx.nn", "celu dot_product_attention elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh identity"),
    **same("rlx.nn", "leaky_relu log1mexp log_sigmoid log_softmax logmeanexp mish one_hot relu relu6 selu sigmoid"),
    **same("rlx.nn", "silu soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus standardize swish"),
    "logsumexp": "rlx.special.logsumexp",
    "tanh": "np.tanh",
    **missing(SCALED, "get_scaled_dot_general_config scaled_dot_general scaled_matmul"),
}

JAX_LAX: dict[str, str] = {
    **same("np", "add argmax argmin bitwise_and bitwise_or bitwise_xor cbrt ceil concatenate cos cosh cumprod cumsum"),
    **same("np", "dot exp exp2 expand_dims expm1 floor full_like imag log log1p pad real reciprocal reshape sign"),
    **same("np", "sin sinh sort split sqrt square squeeze stack tan tanh tile transpose unstack"),
    **same("rlx", "associative_scan bitcast_convert_type clz complex cond cummax cummin dot_general"),
    **same("rlx", "dynamic_index_in_dim dynamic_slice mulhi population_count reduce_precision"),
    **same("rlx", "dynamic_slice_in_dim dynamic_update_index_in_dim dynamic_update_slice dynamic_update_slice_in_dim"),
    **same("rlx", "fori_loop full iota map rng_uniform rsqrt scan stop_gradient switch while_loop"),
    **same("rlx.solvers", "custom_linear_solve custom_root"),
    **same("rlx.special", "betainc digamma erf erf_inv erfc igamma igamma_grad_a igammac lgamma polygamma zeta"),
    "abs": "np.abs",
    "acos": "np.arccos",
    "acosh": "np.arccosh",
    "asin": "np.arcsin",
    "asinh": "np.arcsinh",
    "atan": "np.arctan",
    "atan2": "np.arctan2",
    "atanh": "np.arctanh",
    "batch_matmul": "np.matmul",
    "bessel_i0e": "rlx.special.i0e",
    "bessel_i1e": "rlx.special.i1e",
    "bitwise_not": "np.invert",
    "broadcast": "np.broadcast_to",
    "broadcast_in_dim": "np.broadcast_to(np.expand_dims(x, axes), shape)",
    "broadcast_like": "np.broadcast_to(x, y.shape)",
    "broadcast_to_rank": "x.reshape",
    "broadcasted_iota": "rlx.iota(shape, axis)",
    "clamp": "np.clip(x, least, most)",
    "collapse": "x.reshape",
    "conj": "np.conj",
    **alike("rlx.nn.conv", "conv conv_general_dilated conv_with_general_padding"),
    "conv_general_dilated_patches": "rlx.im2col",
    "conv_transpose": "rlx.nn.conv_transpose(x, w[:, :, ::-1, ::-1]), which flips the kernel: see Port JAX code",
    "convert_element_type": "x.astype",
    "cumlogsumexp": "rlx.associative_scan(np.logaddexp, x)",
    "div": "np.divide",
    "dtype": "x.dtype",
    "empty": "np.zeros(shape)",
    "eq": "np.equal",
    "fft": "np.fft.fft, np.fft.rfft, np.fft.ifft, np.fft.irfft",
    "gather": "x[..], rlx.gather",
    "ge": "np.greater_equal",
    "gt": "np.greater",
    "index_in_dim": "np.take",
    "index_take": "np.take",
    "integer_pow": "np.power",
    "is_finite": "np.isfinite",
    "le": "np.less_equal",
    "logistic": "rlx.nn.sigmoid",
    "lt": "np.less",
    "max": "np.maximum",
    "min": "np.minimum",
    "mul": "np.multiply",
    "ne": "np.not_equal",
    "neg": "np.negative",
    "pow": "np.power",
    "ragged_dot": "rlx.grouped_matmul",
    "random_gamma_grad": "rlx.grad of rlx.random.gamma",
    "round": "np.round, whose ties go to even",
    "reduce": "rlx.associative_scan; np.sum, np.max and others for the usual bodies",
    "reduce_and": "np.all",
    "reduce_max": "np.max",
    "reduce_min": "np.min",
    "reduce_or": "np.any",
    "reduce_prod": "np.prod",
    "reduce_sum": "np.sum",
    "reduce_window": "rlx.nn.max_pool, rlx.nn.avg_pool, rlx.pool; np.lib.stride_tricks.sliding_window_view",
    "reduce_xor": "np.sum(x, axis) % 2 == 1",
    "rem": "np.fmod",
    "rev": "np.flip",
    "rng_bit_generator": "rlx.random.bits",
    "scatter": "x.at[i].set(y)",
    "scatter_add": "x.at[i].add(y)",
    "scatter_apply": "x.at[i].apply(f)",
    "scatter_max": "x.at[i].max(y)",
    "scatter_min": "x.at[i].min(y)",
    "scatter_mul": "x.at[i].multiply(y)",
    "scatter_sub": "x.at[i].subtract(y)",
    **alike("np.where; rlx.switch for lazy branches", "select select_n"),
    "shift_left": "np.left_shift",
    "shift_right_arithmetic": "np.right_shift",
    "shift_right_logical": "rlx.shift_right_logical",
    "slice": "x[start:stop:step]",
    "slice_in_dim": "x[:, start:stop]",
    "nextafter": "np.nextafter",
    "sort_key_val": "np.take_along_axis(x, np.argsort(keys), -1)",
    "sub": "np.subtract",
    "top_k": "rlx.topk, rlx.topk_values",
    "all_gather": "rlx.distributed.all_gather",
    "axis_index": "rlx.distributed.rank",
    "axis_size": "rlx.distributed.size",
    "psum_scatter": "rlx.distributed.reduce_scatter",
    **dict.fromkeys(("pmax", "pmean", "pmin", "psum"), "rlx.distributed.all_reduce"),
    **missing(ALWAYS_EXACT, "approx_max_k approx_min_k"),
    **missing(
        ONE_DEVICE,
        "all_to_all pbroadcast pcast ppermute precv psend pshuffle pswapaxes ragged_all_to_all "
        "with_sharding_constraint",
    ),
    **missing(NO_OP, "ragged_dot_general"),
    **missing(
        "no convolution whose weights differ by position; `rlx.im2col` and `np.einsum`", "conv_general_dilated_local"
    ),
    **missing(
        SHAPES,
        "broadcast_shapes conv_dimension_numbers conv_general_permutations conv_general_shape_tuple conv_shape_tuple "
        "conv_transpose_shape_tuple padtype_to_pads reduce_window_shape_tuple shape_as_value",
    ),
    **missing(TRACING, "after_all composite create_token dce_sink optimization_barrier platform_dependent stage"),
    **missing(SCALED, "scaled_dot"),
}

JAX_RANDOM: dict[str, str] = {
    **same("rlx.random", "ball bernoulli beta binomial bits categorical cauchy chisquare choice dirichlet"),
    **same(
        "rlx.random", "double_sided_maxwell exponential f fold_in gamma generalized_normal geometric gumbel key laplace"
    ),
    **same(
        "rlx.random", "loggamma logistic lognormal maxwell multivariate_normal normal orthogonal pareto permutation"
    ),
    **same(
        "rlx.random", "poisson rademacher randint rayleigh split t triangular truncated_normal uniform wald weibull_min"
    ),
    "PRNGKey": "rlx.random.key",
    "multinomial": "rlx.bincount(rlx.random.categorical(key, np.log(p), shape=(n,)), length=k)",
    **missing(KEYS, "clone key_data key_dtype key_impl wrap_key_data"),
}

JAX_SCIPY_SPECIAL: dict[str, str] = {
    **same(
        "rlx.special", "beta betainc betaln boxcox boxcox1p comb digamma entr erf erfc erfcx erfinv exp1 expit expn"
    ),
    **same("rlx.special", "factorial gamma gammainc gammaincc gammaln gammasgn i0 i0e i1 i1e kl_div log_ndtr logit"),
    **same("rlx.special", "logsumexp multigammaln ndtr ndtri poch polygamma rel_entr xlog1py xlogy zeta"),
    "bessel_jn": "rlx.special.j0, rlx.special.j1",
    "log_softmax": "rlx.nn.log_softmax",
    "softmax": "rlx.nn.softmax",
    **same("rlx.special", "bernoulli dawsn expi fresnel hyp1f1 owens_t sici spence sph_harm_y"),
    **missing(COMPLEX_SERIES, "hyp2f1 loggamma wofz"),
}

NAMES: dict[str, dict[str, str]] = {
    "torch.nn.functional": TORCH_NN_FUNCTIONAL,
    "jax.nn": JAX_NN,
    "jax.lax": JAX_LAX,
    "jax.random": JAX_RANDOM,
    "jax.scipy.special": JAX_SCIPY_SPECIAL,
}
"""By module, all public names of these, with their counterparts."""

TORCH_INTERNAL = frozenset(
    words(
        "Optional assert_int_or_pair boolean_dispatch handle_torch_function has_torch_function "
        "has_torch_function_unary has_torch_function_variadic"
    )
)
"""Functions in `torch.nn.functional` that are imported there for its own use."""

TORCH: dict[str, str] = {
    **prefixed("np", "torch", "abs add all any argmax argmin bitwise_and bitwise_or bitwise_xor broadcast_to ceil"),
    **prefixed("np", "torch", "concatenate conj cos cosh cumprod cumsum divide dot equal exp exp2 expm1 flip"),
    **prefixed(
        "np", "torch", "floor fmod full_like greater greater_equal imag less less_equal log log1p matmul max maximum"
    ),
    **prefixed(
        "np", "torch", "min minimum multiply negative not_equal prod real reciprocal reshape sign sin sinh sort"
    ),
    **prefixed("np", "torch", "split sqrt square stack subtract sum tan tile"),
    **prefixed("rlx.special", "torch.special", "digamma entr erf erfc erfcx erfinv expit gammainc gammaincc gammaln"),
    **prefixed("rlx.special", "torch.special", "i0 i0e i1 i1e log_ndtr logit logsumexp multigammaln ndtr ndtri"),
    **prefixed("rlx.special", "torch.special", "polygamma xlog1py xlogy zeta"),
    "np.nextafter": "torch.nextafter",
    **prefixed("rlx", "torch", "complex cummax cummin full rsqrt"),
    "np.arccos": "torch.acos",
    "np.arccosh": "torch.acosh",
    "np.arcsin": "torch.asin",
    "np.arcsinh": "torch.asinh",
    "np.arctan": "torch.atan",
    "np.arctan2": "torch.atan2",
    "np.arctanh": "torch.atanh",
    "np.clip(x, least, most)": "torch.clamp",
    "np.expand_dims": "torch.unsqueeze",
    "np.invert": "torch.bitwise_not",
    "np.round, whose ties go to even": "torch.round",
    "np.isfinite": "torch.isfinite",
    "np.left_shift": "torch.bitwise_left_shift",
    "np.power": "torch.pow",
    "np.right_shift": "torch.bitwise_right_shift",
    "np.squeeze": "torch.squeeze",
    "np.transpose": "torch.permute",
    "np.unstack": "torch.unbind",
    "np.where; rlx.switch for lazy branches": "torch.where",
    "rlx.associative_scan(np.logaddexp, x)": "torch.logcumsumexp",
    "rlx.cond": "torch.cond",
    "rlx.iota": "torch.arange",
    "rlx.random.bernoulli": "torch.bernoulli",
    "rlx.random.binomial": "torch.binomial",
    "rlx.random.key": "torch.manual_seed",
    "rlx.random.normal": "torch.randn",
    "rlx.random.permutation": "torch.randperm",
    "rlx.random.poisson": "torch.poisson",
    "rlx.random.randint": "torch.randint",
    "rlx.random.uniform": "torch.rand",
    "rlx.special.igamma": "torch.igamma",
    "rlx.special.igammac": "torch.igammac",
    "rlx.special.lgamma": "torch.lgamma",
    "rlx.topk, rlx.topk_values": "torch.topk",
    "x.at[i].add(y)": "torch.scatter_add",
    "x.at[i].set(y)": "torch.scatter",
    "x[..], rlx.gather": "torch.gather",
}
"""What PyTorch calls a counterpart outside of `torch.nn.functional`."""
