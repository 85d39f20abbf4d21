"""What the inference knows of torch's public API, as data.

Taken from the operator schemas of torch 2.13 and the documentation; ``tests/flow/test_torch_api.py`` holds these tables
against the installed torch by introspection, so that a new release shows what is missing. Names are relative to
their namespace: ``TORCH_*`` to ``torch``, ``METHOD_*`` to ``torch.Tensor``, ``FUNCTIONAL_*`` to
``torch.nn.functional``. In-place variants (``add_``) are not listed where the plain name is.
"""

from __future__ import annotations

TORCH_TENSOR = frozenset(
    """
    abs absolute acos acosh adaptive_avg_pool1d add addbmm addcdiv addcmul addmm addmv addr adjoint
    affine_grid_generator all alpha_dropout amax amin angle any arange arccos arccosh arcsin arcsinh arctan
    arctan2 arctanh argmax argmin argsort argwhere as_strided as_strided_scatter as_tensor asarray asin asinh
    atan atan2 atanh atleast_1d atleast_2d atleast_3d avg_pool1d baddbmm bartlett_window batch_norm bernoulli
    bilinear binary_cross_entropy_with_logits bincount binomial bitwise_and bitwise_left_shift bitwise_not
    bitwise_or bitwise_right_shift bitwise_xor blackman_window block_diag bmm broadcast_to bucketize
    cartesian_prod cat cdist ceil celu chain_matmul channel_shuffle cholesky cholesky_inverse cholesky_solve
    clamp clamp_max clamp_min clip clone column_stack combinations complex concat concatenate conj conj_physical
    constant_pad_nd conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution
    copysign corrcoef cos cosh cosine_embedding_loss cosine_similarity count_nonzero cov cross ctc_loss cumprod
    cumsum cumulative_trapezoid deg2rad dequantize det detach diag diag_embed diagflat diagonal diagonal_scatter
    diff digamma dist div divide dot dropout dstack einsum embedding embedding_renorm_ empty empty_like
    empty_permuted empty_quantized empty_strided eq erf erfc erfinv exp exp2 expm1 eye
    fake_quantize_per_channel_affine fake_quantize_per_tensor_affine feature_alpha_dropout feature_dropout fill
    fix flatten flip fliplr flipud float_power floor floor_divide fmax fmin fmod frac frobenius_norm from_dlpack
    from_file from_numpy frombuffer full full_like gather gcd ge ger greater greater_equal grid_sampler
    grid_sampler_2d grid_sampler_3d group_norm gt hamming_window hann_window hardshrink hash_tensor heaviside
    hinge_embedding_loss histc hstack hypot i0 igamma igammac imag index_add index_copy index_fill index_put
    index_reduce index_select inner instance_norm int_repr inverse isclose isfinite isin isinf isnan isneginf
    isposinf isreal istft kaiser_window kl_div kron layer_norm lcm ldexp le lerp less less_equal lgamma linspace
    log log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not logical_or
    logical_xor logit logspace logsumexp lt lu_solve margin_ranking_loss masked_fill masked_scatter
    masked_select matmul matrix_exp matrix_power max max_pool1d max_pool2d max_pool3d maximum mean median min
    minimum mm moveaxis movedim msort mul multinomial multiply mv mvlgamma nan_to_num nanmean nanmedian
    nanquantile nansum narrow ne neg negative nextafter nonzero nonzero_static norm norm_except_dim normal
    not_equal nuclear_norm ones ones_like orgqr ormqr outer pairwise_distance pdist permute pinverse
    pixel_shuffle pixel_unshuffle poisson poisson_nll_loss polar polygamma positive pow prelu prod put
    q_per_channel_scales q_per_channel_zero_points quantile quantize_per_channel quantize_per_tensor
    quantize_per_tensor_dynamic rad2deg rand rand_like randint randint_like randn randn_like randperm range
    ravel real reciprocal relu remainder renorm repeat_interleave reshape resize_as_ resize_as_sparse_
    resolve_conj resolve_neg rms_norm roll rot90 round row_stack rrelu rsqrt rsub scalar_tensor scatter
    scatter_add scatter_reduce searchsorted segment_reduce select select_scatter selu sgn sigmoid sign signbit
    sin sinc sinh slice_inverse slice_scatter softmax sparse_bsc_tensor sparse_bsr_tensor
    sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor sqrt square squeeze stack std
    stft sub subtract sum swapaxes swapdims t take take_along_dim tan tanh tensor tensordot threshold tile trace
    transpose trapezoid trapz tril tril_indices triplet_margin_loss triu triu_indices true_divide trunc
    unflatten unique unravel_index unsqueeze vander var vdot view_as_complex view_as_real vstack where xlogy
    zero_ zeros zeros_like
    """.split()
)
SPARSE_TENSOR = frozenset({"mm", "addmm", "sampled_addmm", "softmax", "log_softmax", "sum"})
TORCH_TUPLE = frozenset(
    """
    adaptive_max_pool1d aminmax choose_qparams_optimized cummax cummin embedding_bag frexp geqrf histogram
    kthvalue lobpcg lu_unpack max_pool1d_with_indices mode qr slogdet sort std_mean svd topk triangular_solve
    unique_consecutive var_mean
    """.split()
)
TORCH_LIST = frozenset(
    """
    broadcast_tensors chunk dsplit gradient hsplit meshgrid split split_with_sizes tensor_split unbind
    unsafe_chunk unsafe_split unsafe_split_with_sizes vsplit
    """.split()
)
TORCH_PLAIN = frozenset(
    """
    allclose equal get_device is_complex is_conj is_distributed is_floating_point is_inference is_neg is_nonzero
    is_same_size is_signed numel q_per_channel_axis q_scale q_zero_point result_type
    """.split()
)
METHOD_TENSOR: frozenset[str] = frozenset(
    """
    abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr adjoint all amax amin angle any arccos
    arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort argwhere as_strided as_strided_scatter
    asin asinh atan atan2 atanh baddbmm bernoulli bfloat16 bincount bitwise_and bitwise_left_shift bitwise_not
    bitwise_or bitwise_right_shift bitwise_xor bmm bool broadcast_to byte cauchy_ ccol_indices cdouble ceil
    cfloat chalf char cholesky cholesky_inverse cholesky_solve clamp clamp_max clamp_min clip clone coalesce
    col_indices conj conj_physical contiguous copy_ copysign corrcoef cos cosh count_nonzero cov cpu cross
    crow_indices cuda cumprod cumsum deg2rad dequantize det detach diag diag_embed diagflat diagonal
    diagonal_scatter diff digamma dist div divide dot double eq erf erfc erfinv exp exp2 expand expand_as expm1
    exponential_ fill_ fill_diagonal_ fix flatten flip fliplr flipud float float_power floor floor_divide fmax
    fmin fmod frac gather gcd ge geometric_ ger greater greater_equal gt half hardshrink hash_tensor heaviside
    histc hypot i0 igamma igammac index index_add index_copy index_fill index_put index_reduce index_select
    indices inner int int_repr inverse ipu isclose isfinite isinf isnan isneginf isposinf isreal istft kron lcm
    ldexp le lerp less less_equal lgamma log log10 log1p log2 log_normal_ log_softmax logaddexp logaddexp2
    logcumsumexp logdet logical_and logical_not logical_or logical_xor logit logsumexp long lt lu_solve
    masked_fill masked_scatter masked_select matmul matrix_exp matrix_power max maximum mean median min minimum
    mm moveaxis movedim msort mtia mul multinomial multiply mv mvlgamma nan_to_num nanmean nanmedian nanquantile
    nansum narrow ne neg negative new_empty new_empty_strided new_full new_ones new_tensor new_zeros nextafter
    nonzero nonzero_static norm normal_ not_equal orgqr ormqr outer permute pin_memory pinverse polygamma
    positive pow prelu prod put q_per_channel_scales q_per_channel_zero_points quantile rad2deg random_ ravel
    reciprocal relu remainder renorm repeat repeat_interleave requires_grad_ reshape reshape_as resize resize_as
    resize_as_sparse_ resolve_conj resolve_neg roll rot90 round row_indices rsqrt scatter scatter_add
    scatter_reduce select select_scatter set_ sgn share_memory_ short sigmoid sign signbit sin sinc sinh
    slice_inverse slice_scatter smm softmax sparse_mask sparse_resize_ sparse_resize_and_clear_ sqrt square
    squeeze sspaddmm std stft sub subtract sum sum_to_size swapaxes swapdims t take take_along_dim tan tanh tile
    to to_dense to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc
    to_sparse_csr trace transpose tril triu true_divide trunc type_as unflatten unfold uniform_ unsqueeze values
    var vdot view view_as where xlogy xpu zero_
    """.split()
)
METHOD_TUPLE = frozenset(
    """
    aminmax cummax cummin frexp geqrf histogram kthvalue mode qr slogdet sort svd topk triangular_solve
    unique_consecutive
    """.split()
)
METHOD_LIST = frozenset(
    """
    chunk dsplit hsplit split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split
    unsafe_split_with_sizes vsplit
    """.split()
)
METHOD_PLAIN = frozenset(
    """
    allclose dense_dim dim element_size equal get_device is_coalesced is_complex is_conj is_contiguous
    is_distributed is_floating_point is_inference is_neg is_nonzero is_pinned is_same_size is_set_to is_signed
    item numel q_per_channel_axis q_scale q_zero_point qscheme size sparse_dim storage_offset stride
    """.split()
)
FUNCTIONAL_TENSOR = frozenset(
    """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d affine_grid alpha_dropout avg_pool1d avg_pool2d
    avg_pool3d batch_norm bilinear binary_cross_entropy binary_cross_entropy_with_logits celu channel_shuffle
    conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d cosine_embedding_loss
    cosine_similarity cross_entropy ctc_loss dropout dropout1d dropout2d dropout3d elu embedding
    feature_alpha_dropout fold gaussian_nll_loss gelu glu grid_sample group_norm grouped_mm gumbel_softmax
    hardshrink hardsigmoid hardswish hardtanh hinge_embedding_loss huber_loss instance_norm interpolate kl_div
    l1_loss layer_norm leaky_relu linear linear_cross_entropy local_response_norm log_softmax logsigmoid
    lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss max_pool1d max_pool2d max_pool3d max_unpool1d max_unpool2d
    max_unpool3d mish mse_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss
    normalize one_hot pad pairwise_distance pdist pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu
    relu6 rms_norm rrelu scaled_dot_product_attention scaled_grouped_mm scaled_mm selu sigmoid silu
    smooth_l1_loss soft_margin_loss softmax softmin softplus softshrink softsign tanh tanhshrink threshold
    triplet_margin_loss triplet_margin_with_distance_loss unfold upsample upsample_bilinear upsample_nearest
    """.split()
)
FUNCTIONAL_TUPLE = frozenset(
    """
    adaptive_max_pool1d adaptive_max_pool1d_with_indices adaptive_max_pool2d adaptive_max_pool2d_with_indices
    adaptive_max_pool3d adaptive_max_pool3d_with_indices embedding_bag fractional_max_pool2d
    fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices
    max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices multi_head_attention_forward
    """.split()
)

SCATTER_TENSOR = frozenset(
    "scatter scatter_add scatter_sum scatter_mean scatter_mul scatter_softmax segment_csr gather_csr".split()
)
"""Functions of torch_scatter that give one tensor."""
COMPARING = frozenset({"allclose", "equal"})
"""Give a Python bool, and compare the devices of their operands first."""
LINALG_TENSOR = frozenset(
    """
    cholesky cond cross det diagonal eigvals eigvalsh householder_product inv ldl_solve lu_solve matmul
    matrix_exp matrix_norm matrix_power matrix_rank multi_dot norm pinv solve solve_triangular svdvals tensorinv
    tensorsolve vander vecdot vector_norm
    """.split()
)
LINALG_TUPLE = frozenset(
    """
    cholesky_ex eig eigh inv_ex ldl_factor ldl_factor_ex lstsq lu lu_factor lu_factor_ex qr slogdet solve_ex svd
    """.split()
)
FFT_TENSOR = frozenset(
    """
    fft fft2 fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2 irfftn
    rfft rfft2 rfftn
    """.split()
)

# --- which arguments are operands -----------------------------------------------------------------------------------

_OPERAND_POSITIONS: dict[tuple[int, ...], str] = {
    (0, 1): """
        add allclose arctan2 atan2 bincount binomial bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift
        bitwise_xor bmm bucketize cdist cholesky_solve clamp_max clamp_min complex copysign cosine_similarity cross
        cumulative_trapezoid dist div divide dot embedding embedding_renorm_ eq equal float_power floor_divide fmax
        fmin fmod gcd ge ger greater greater_equal grid_sample grid_sampler grid_sampler_2d grid_sampler_3d gt
        heaviside hinge_embedding_loss histogram householder_product hypot igamma igammac inner isclose isin kl_div
        kron lcm ldexp le less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor lstsq lt lu_unpack
        masked_select matmul max max_unpool1d max_unpool2d max_unpool3d maximum min minimum mm mul
        multilabel_margin_loss multiply mv nanquantile ne nextafter not_equal orgqr outer pairwise_distance
        poisson_nll_loss polar polygamma pow prelu quantile remainder repeat_interleave rsub searchsorted smm
        smooth_l1_loss soft_margin_loss solve solve_ex solve_triangular sparse_mask sub subtract take
        take_along_dim tensordot tensorsolve trapezoid trapz triangular_solve true_divide vdot vecdot xlogy
    """,
    (0, 1, 2): """
        addbmm addcdiv addcmul addmm addmv addr baddbmm binary_cross_entropy clamp clip conv1d conv2d conv3d
        conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution cosine_embedding_loss cross_entropy
        gaussian_nll_loss ldl_solve lerp linear lu_solve margin_ranking_loss masked_fill masked_scatter
        multilabel_soft_margin_loss nll_loss ormqr put sspaddmm triplet_margin_loss where
    """,
    (0, 1, 2, 3): """
        bilinear grouped_mm scaled_dot_product_attention
    """,
    (0, 1, 2, 3, 4): """
        batch_norm instance_norm linear_cross_entropy
    """,
    (0, 1, 2, 3, 6): """
        binary_cross_entropy_with_logits
    """,
    (0, 1, 2, 6, 8): """
        embedding_bag
    """,
    (0, 1, 4): """
        huber_loss multi_margin_loss
    """,
    (0, 1, 5): """
        l1_loss mse_loss
    """,
    (0, 2): """
        index_put gather index_select rms_norm
    """,
    (0, 2, 3): """
        group_norm index_add index_copy index_fill index_reduce layer_norm scatter scatter_add scatter_reduce
    """,
    (0, 3, 4): """
        diff
    """,
    (0, 4): """
        istft stft
    """,
}
TENSOR_KEYWORDS = frozenset(
    """
    A B LD LU LU_data LU_pivots abs anchor angle append attn_mask b batch1 batch2 bias bins boundaries condition
    count data elements end exponent grid imag index indices input input1 input2 input3 key lengths linear_bias
    linear_weight logits mask mat mat1 mat2 mat_a mat_b matrices max min negative offs offsets other
    per_sample_weights pivots pos_weight positive prepend prob q query real repeats running_mean running_var self
    sorted_sequence sorter source src target tau tensor tensor1 tensor2 tensors test_elements theta value values var
    vec vec1 vec2 weight weights window x x1 x2 y
    """.split()
)
"""Keywords that hold operands."""
OPERANDS: dict[str, frozenset[int]] = {
    name: frozenset(positions) for positions, names in _OPERAND_POSITIONS.items() for name in names.split()
}
"""The positions of tensor arguments, the receiver of a method being 0; operations not listed take only the first."""
MAYBE_NUMBER_FIRST = frozenset(
    """
    bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor einsum float_power pow remainder
    result_type xlogy
    """.split()
)
"""Take a number, or a text, as their first operand too."""
NEVER_NUMBERS = {
    **dict.fromkeys("gather index_select scatter scatter_ scatter_add scatter_add_".split(), frozenset({2})),
    **dict.fromkeys("masked_fill masked_fill_ masked_scatter masked_scatter_ masked_select".split(), frozenset({1})),
}
"""Indices and masks, by their positions: these are tensors, whatever they came from."""
ANY_NUMBER = frozenset("einsum block_diag cartesian_prod chain_matmul meshgrid".split())
"""Take their operands as any number of arguments."""

# --- factories: what makes a tensor out of numbers ------------------------------------------------------------------

SIZE_FACTORIES = frozenset("zeros ones empty rand randn".split())
"""Take the size as their positional arguments, or as one sequence."""
VECTOR_FACTORIES = frozenset(
    """
    arange range linspace logspace randperm bartlett_window blackman_window hamming_window hann_window
    kaiser_window
    """.split()
)
"""Always make a 1-dim tensor."""
MATRIX_FACTORIES = frozenset("eye tril_indices triu_indices".split())
"""Always make a 2-dim tensor."""
SIZED_FACTORIES = {"full": 0, "empty_strided": 0, "empty_permuted": 0, "normal": 2}
"""Take the size as the positional argument with this number."""
OTHER_FACTORIES = frozenset(
    """
    randint normal tensor as_tensor asarray scalar_tensor sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor
    sparse_bsr_tensor sparse_bsc_tensor sparse_compressed_tensor empty_quantized from_file
    """.split()
)
"""Take ``device=`` too, and each has a transfer function of its own or an unknown number of dimensions."""
SPARSE_FACTORIES = {
    "sparse_coo_tensor": ("indices", "values"),
    "sparse_csr_tensor": ("crow_indices", "col_indices", "values"),
    "sparse_csc_tensor": ("ccol_indices", "row_indices", "values"),
    "sparse_bsr_tensor": ("crow_indices", "col_indices", "values"),
    "sparse_bsc_tensor": ("ccol_indices", "row_indices", "values"),
    "sparse_compressed_tensor": ("compressed_indices", "plain_indices", "values"),
}
"""The first arguments. Without ``device=``, those that are tensors have to be on one device; lists follow the last."""
CPU_FACTORIES = frozenset("from_file from_numpy frombuffer normal range".split())
"""Ignore the default device: the result is on the CPU, whatever the context says."""
DATA_FACTORIES = frozenset("tensor as_tensor asarray".split())
"""Made from data: given a tensor, `as_tensor` and `tensor` keep its device."""
LIKE_FACTORIES = frozenset("empty_like full_like ones_like rand_like randint_like randn_like zeros_like".split())
RANDOM_FACTORIES = frozenset("rand randn randint randperm normal".split())
DRAWING = frozenset(
    """
    bernoulli binomial cauchy exponential geometric gumbel_softmax log_normal multinomial normal poisson rand_like
    randint_like randn_like random rrelu rsample sample sample_n standard_gamma trunc_normal uniform RReLU
    """.split()
)
"""What draws random numbers where a tensor is that it gets, or is called on, with or without a ``_``."""
NAMESPACED_FACTORIES = frozenset(
    """
    torch.nn.Transformer.generate_square_subsequent_mask torch.fft.fftfreq torch.fft.rfftfreq
    torch.signal.windows.bartlett torch.signal.windows.blackman torch.signal.windows.cosine
    torch.signal.windows.exponential torch.signal.windows.gaussian torch.signal.windows.general_cosine
    torch.signal.windows.general_hamming torch.signal.windows.hamming torch.signal.windows.hann
    torch.signal.windows.kaiser torch.signal.windows.nuttall
    """.split()
)
LEGACY_DTYPES = {
    "Tensor": "float32",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "BoolTensor": "bool",
}
LEGACY_CONSTRUCTORS = frozenset(LEGACY_DTYPES)
"""``torch.FloatTensor`` and its kin: on the CPU; the same names under ``torch.cuda`` are on the current GPU."""
ANY_TENSOR = frozenset({"torch.Tensor", "torch.autograd.Variable"})
"""Classes of which every tensor is an instance."""
TENSOR_CLASSES = ANY_TENSOR | {f"torch.{name}" for name in LEGACY_CONSTRUCTORS}
"""What `isinstance` is asked for when a tensor is meant."""
NEW_METHODS = frozenset("new new_empty new_empty_strided new_full new_ones new_tensor new_zeros".split())

FACTORIES = (
    SIZE_FACTORIES | VECTOR_FACTORIES | MATRIX_FACTORIES | frozenset(SIZED_FACTORIES) | OTHER_FACTORIES | CPU_FACTORIES
)

# --- what an operation does with devices ----------------------------------------------------------------------------

STRICT = frozenset(
    """
    addbmm addcdiv addmm addmv addr baddbmm batch_norm bilinear binary_cross_entropy binomial block_diag bmm cat cdist
    chain_matmul column_stack complex concat concatenate conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d cosine_similarity cross cross_entropy dot dstack einsum embedding embedding_bag equal gather
    gcd ger grid_sample group_norm hstack igamma igammac index_add index_copy index_select instance_norm isin kron
    l1_loss layer_norm lcm linear logaddexp logaddexp2 masked_scatter masked_select matmul meshgrid mm mse_loss
    multi_margin_loss mv nextafter nll_loss outer polar prelu row_stack scaled_dot_product_attention scatter
    scatter_add scatter_mean scatter_mul scatter_reduce scatter_softmax scatter_sum smooth_l1_loss stack take
    take_along_dim tensordot triplet_margin_loss vdot vstack
    """.split()
)
"""Refuse a CPU operand beside an accelerator's even when it is 0-dim."""
STRICT_OR_NUMBERS = frozenset("bucketize clamp clamp_max clamp_min clip nanquantile quantile repeat_interleave".split())
"""Do so too, but take numbers in that place: only an operand that is known to be 0-dim is one that is refused."""
BOUNDED = frozenset({"clamp", "clip"})
"""Take two bounds of one kind: beside a number, a 0-dim tensor is read as one, from whatever device."""
SCALAR_LAST = frozenset("addcmul lerp".split())
"""Allow a 0-dim CPU operand in the last of three places only."""
CROSSING = frozenset(
    """
    as_strided_scatter as_tensor asarray broadcast_tensors copy_ cpu cuda diagonal_scatter expand_as fill fill_
    get_device is_same_size is_tensor pack_padded_sequence promote_types register_hook reshape_as resize_as_
    result_type select_scatter set_ size slice_scatter tensor tensor_split to type type_as unravel_index view_as
    """.split()
)
"""Do not compare the devices of their operands."""
GIVE_THEMSELVES = frozenset("contiguous float positive resolve_conj resolve_neg".split())
"""Methods that give back the very object where nothing is to be done, so that a Parameter stays one.

So do all moves, conversions to the type that it has already, and what works in place. A Parameter is contiguous and of
float32 unless somebody made it otherwise.
"""
REDUCTIONS = frozenset(
    "sum mean prod std var norm median nanmedian nansum nanmean logsumexp all any max min argmax argmin".split()
)
"""Without a dimension they give a 0-dim tensor."""
PAIR_WITH_DIM = frozenset("max min median nanmedian".split())
"""With a dimension they give ``(values, indices)``."""
DTYPE_METHODS = frozenset("bfloat16 bool byte cdouble cfloat chalf char double float half int long short".split())
DEVICE_METHODS = {
    "cuda": "cuda",
    "cpu": "cpu",
    "xpu": "xpu",
    "npu": "npu",
    "hpu": "hpu",
    "ipu": "ipu",
    "mtia": "mtia",
    "mps": "mps",
    "mlu": "mlu",
}
"""Methods that move to a device of that type."""
PLACING_METHODS = frozenset({"to", *DEVICE_METHODS})
"""What brings a Module or a tensor to a device."""
MOVE_METHODS = PLACING_METHODS | {"type"}
CONVERSIONS: frozenset[str] = MOVE_METHODS | DTYPE_METHODS | {"type_as"}
"""Methods that give another tensor with the same values."""
NAMED_CONVERSIONS = CONVERSIONS - {"to", "type"}
"""Those whose name says what to: ``x.cuda()``, ``x.long()``, ``x.type_as(y)``."""
MAYBE_SCALAR = frozenset(
    """
    amax amin aminmax binary_cross_entropy binary_cross_entropy_with_logits cholesky_ex cond corrcoef
    cosine_embedding_loss cosine_similarity count_nonzero cov cross_entropy ctc_loss det dist dot einsum
    frobenius_norm gaussian_nll_loss hash_tensor hinge_embedding_loss huber_loss index inner inv_ex kl_div
    kthvalue l1_loss ldl_factor_ex linear linear_cross_entropy logdet lstsq lu_factor_ex margin_ranking_loss
    matmul matrix_norm matrix_rank mode mse_loss multi_margin_loss multilabel_margin_loss
    multilabel_soft_margin_loss nanquantile nll_loss norm_except_dim nuclear_norm pairwise_distance
    poisson_nll_loss quantile searchsorted select slice_inverse slogdet smooth_l1_loss soft_margin_loss solve_ex
    squeeze std_mean sum_to_size take tensordot trace trapezoid trapz triplet_margin_loss
    triplet_margin_with_distance_loss unbind var_mean vdot vecdot vector_norm
    """.split()
)
"""May give a 0-dim tensor where the operand has dimensions."""
SORTING = frozenset("argsort msort sort topk".split())
"""Work along a dimension, and are not used on 0-dim tensors."""
SAME_NUMBER_OF_DIMS = frozenset(
    """
    abs clamp clone contiguous cos cumsum detach exp log neg pow relu round sigmoid sign sin softmax sqrt tanh
    tril triu float double half long int bool byte short bfloat16 requires_grad_ log_softmax flip roll floor
    ceil t masked_fill fill_ zero_ normal_ uniform_ random_ bernoulli_ exponential_
    """.split()
)
TENSOR_ATTRIBUTES: frozenset[str] = frozenset("T H mT mH data grad real imag".split())
"""Attributes of a tensor that are tensors on the same device."""
KEPT_ON_HOST = frozenset({"batch_sizes"})
"""What a `PackedSequence` keeps on the CPU, wherever the rest of it is moved; arguments have the same name."""
TENSOR_ONLY_ATTRIBUTES = frozenset("is_cuda is_sparse requires_grad grad_fn is_leaf".split())
TENSOR_ONLY_METHODS = frozenset(
    """
    unsqueeze unsqueeze_ squeeze_ view permute contiguous
    masked_fill masked_fill_ masked_select new_zeros new_ones new_full new_tensor new_empty scatter_
    scatter_add_ gather index_select type_as view_as expand expand_as detach detach_ backward numel size softmax
    log_softmax sigmoid bmm matmul mm addmm narrow unbind chunk topk clamp_ clamp_min clamp_max
    retain_grad nonzero scatter index_add_ cumsum unfold repeat_interleave is_floating_point is_contiguous
    element_size data_ptr is_complex logsumexp isnan long int bool byte short add_ mul_ div_ sub_ zero_ fill_
    copy_ normal_ uniform_ triu tril stride baddbmm neg
    abs_ addcdiv addcdiv_ addcmul addcmul_ addmm_ amax amin baddbmm_ bernoulli_ ceil_ clamp_max_ clamp_min_ cos_
    cumsum_ dim div eq eq_ erf exp exp_ expm1 exponential_ fill_diagonal_ float_power floor_ index_copy_ index_fill_
    index_put_ lerp lerp_ log1p log_ log_normal_ logical_and logical_not logical_or logit masked_scatter
    masked_scatter_ mul ndimension ne ne_ neg_ nelement pow pow_ random_ reciprocal reciprocal_ relu relu_ round_
    rsqrt rsqrt_ scatter_add scatter_reduce sigmoid_ sign_ sin_ sqrt sqrt_ tanh tanh_ to_dense tril_ triu_ unflatten
    """.split()
)
"""What a tensor has and modules, lists and dicts have not: to read these or to call those is evidence."""
MODULE_ONLY_ATTRIBUTES = frozenset(
    """
    parameters named_parameters buffers named_buffers children named_children modules named_modules train eval
    state_dict load_state_dict zero_grad register_buffer register_parameter register_forward_hook add_module
    apply register_full_backward_hook register_forward_pre_hook
    """.split()
)
MODULE_MODES = frozenset({"train", "eval", "requires_grad_"})
"""Methods of a Module that set it, leave it where it is, and give it: ``torch/nn/modules/module.py``."""
MODULE_DTYPES = frozenset({"float", "half", "double", "bfloat16"})
"""The same for those that convert its parameters."""
SHAPE_ATTRIBUTES = frozenset("shape ndim dtype device layout itemsize nbytes is_cuda requires_grad".split())
_OTHER_OF_TENSORS = frozenset(
    """
    apply_ as_subclass const_data_ptr dim_order eig grad_dtype hpu is_cpu is_ipu is_maia is_meta is_mkldnn is_mps
    is_mtia is_nested is_quantized is_shared is_sparse_csr is_vulkan is_xla is_xpu lstsq lu map2_ map_ mlu module_load
    mps name names narrow_copy npu numpy output_nr record_stream register_hook register_post_accumulate_grad_hook
    reinforce retains_grad solve storage storage_type symeig tolist unique untyped_storage volatile
    """.split()
)
_OF_TENSORS = frozenset[str]().union(
    *(METHOD_TENSOR, METHOD_TUPLE, METHOD_LIST, METHOD_PLAIN, NEW_METHODS, MOVE_METHODS, DTYPE_METHODS),
    *(TENSOR_ATTRIBUTES, TENSOR_ONLY_ATTRIBUTES, TENSOR_ONLY_METHODS, SHAPE_ATTRIBUTES, _OTHER_OF_TENSORS),
)


def is_of_tensors(name: str) -> bool:
    """Whether tensors have a public attribute or method of that name, or may have a private one."""
    return name in _OF_TENSORS or name.startswith("_") or (name.endswith("_") and name[:-1] in _OF_TENSORS)


# --- what names a device -------------------------------------------------------------------------------------------

DEVICE_TYPES = frozenset(
    """
    cpu cuda fpga hip hpu ideep ipu lazy maia meta mkldnn mps mtia opencl opengl privateuseone ve vulkan xla xpu
    """.split()
)
"""The types that a device string may start with, beside the name that a program gives to ``privateuseone``."""
NO_DEVICE_TYPES = frozenset("auto gpu metal nvidia rocm".split())
"""What is written for a device elsewhere, and is none of PyTorch's types."""
CHANGES_DEFAULT = frozenset({"set_default_device", "set_default_tensor_type"})
"""Functions after which factories without ``device=`` make their tensors elsewhere."""
DEVICE_ARGUMENTS: dict[str, tuple[int, str]] = {
    "torch.device": (0, "device"),
    "torch.Generator": (0, "device"),
    "torch.set_default_device": (0, "device"),
    "torch.autocast": (0, "device_type"),
    "torch.amp.autocast": (0, "device_type"),
    "torch.cuda.set_device": (0, "device"),
    "torch.cuda.device": (0, "device"),
    "torch.load": (1, "map_location"),
    "torch.jit.load": (1, "map_location"),
    "torch.hub.load_state_dict_from_url": (2, "map_location"),
    "torch.utils.model_zoo.load_url": (2, "map_location"),
}
"""Functions and classes that are told a device, and where; factories and modules take it as ``device=``."""

# --- modules --------------------------------------------------------------------------------------------------------

PARAMETER_FREE_MODULES = frozenset(
    """
    AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d
    AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss CELU CTCLoss ChannelShuffle
    CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d CosineEmbeddingLoss
    CosineSimilarity CrossEntropyLoss CrossMapLRN2d Dropout Dropout1d Dropout2d Dropout3d ELU
    FeatureAlphaDropout Flatten Fold FractionalMaxPool2d FractionalMaxPool3d GELU GLU GaussianNLLLoss Hardshrink
    Hardsigmoid Hardswish Hardtanh HingeEmbeddingLoss HuberLoss Identity KLDivLoss L1Loss LPPool1d LPPool2d
    LPPool3d LeakyReLU LocalResponseNorm LogSigmoid LogSoftmax MSELoss MarginRankingLoss MaxPool1d MaxPool2d
    MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d Mish MultiLabelMarginLoss MultiLabelSoftMarginLoss
    MultiMarginLoss NLLLoss NLLLoss2d PairwiseDistance PixelShuffle PixelUnshuffle PoissonNLLLoss RReLU ReLU
    ReLU6 ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d
    SELU SiLU Sigmoid SmoothL1Loss SoftMarginLoss Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh
    Tanhshrink Threshold TripletMarginLoss TripletMarginWithDistanceLoss Unflatten Unfold Upsample
    UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d ZeroPad2d ZeroPad3d
    """.split()
)
FUNCTIONAL_LOSSES = frozenset(
    """
    binary_cross_entropy binary_cross_entropy_with_logits cross_entropy huber_loss kl_div l1_loss mse_loss nll_loss
    smooth_l1_loss
    """.split()
)
"""Functions that compare what a model gives with a target."""
LOSS_ARGUMENTS = {
    "CTCLoss": 4,
    **dict.fromkeys("CosineEmbeddingLoss GaussianNLLLoss MarginRankingLoss TripletMarginLoss".split(), 3),
    "TripletMarginWithDistanceLoss": 3,
}
"""How many arguments the `forward` of a loss takes, where that is not an input and a target."""
LOSS_WEIGHTS = {
    "BCELoss": {"weight": 0},
    "BCEWithLogitsLoss": {"weight": 0, "pos_weight": 4},
    "CrossEntropyLoss": {"weight": 0},
    "MultiLabelSoftMarginLoss": {"weight": 0},
    "MultiMarginLoss": {"weight": 2},
    "NLLLoss": {"weight": 0},
    "NLLLoss2d": {"weight": 0},
}
"""Losses that keep a tensor as a buffer: the names and positions of the arguments that give it."""
ELEMENTWISE_LOSSES = frozenset({"BCEWithLogitsLoss", "MultiLabelSoftMarginLoss"})
"""Losses that multiply by their weights, which may then be 0-dim tensors of the CPU."""
METRICS = frozenset(
    """
    Accuracy CohenKappa ConcordanceCorrCoef ConfusionMatrix CoverageError Dice ExactMatch F1 F1Score FBeta FBetaScore
    HammingDistance JaccardIndex LogCoshError MatthewsCorrCoef MeanAbsoluteError MeanAbsolutePercentageError MeanMetric
    MeanSquaredError MeanSquaredLogError NegativePredictiveValue NormalizedRootMeanSquaredError PearsonCorrCoef
    Precision RankingAveragePrecision RankingLoss Recall RelativeSquaredError ScaleInvariantSignalDistortionRatio
    ScaleInvariantSignalNoiseRatio SignalDistortionRatio SignalNoiseRatio Specificity StatScores SumMetric
    SymmetricMeanAbsolutePercentageError TweedieDevianceScore WeightedMeanAbsolutePercentageError
    """.split()
)
"""Metrics of torchmetrics that add up in tensors of their own; others keep what they are given in lists."""
CONTAINER_MODULES = frozenset("Container Sequential ModuleList ModuleDict ParameterList ParameterDict".split())
WRAPPER_MODULES = {
    "torch.nn.DataParallel": "module.",
    "torch.nn.parallel.DataParallel": "module.",
    "torch.nn.parallel.DistributedDataParallel": "module.",
    "torch.nn.parallel.data_parallel.DataParallel": "module.",
    "torch.nn.parallel.distributed.DistributedDataParallel": "module.",
    "torch.optim.swa_utils.AveragedModel": "module.",
    "apex.parallel.DistributedDataParallel": "module.",
    "torch.compile": "_orig_mod.",
}
"""What wraps a module, and the prefix that it puts before the keys of its state dict."""
MODULE_ATTRIBUTES = frozenset(
    """
    T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches eval
    extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half ipu load_state_dict modules
    mtia named_buffers named_children named_modules named_parameters parameters register_backward_hook register_buffer
    register_forward_hook register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook
    register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module register_parameter
    register_state_dict_post_hook register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule
    share_memory state_dict to to_empty train training type xpu zero_grad
    """.split()
)
"""The public attributes of every `torch.nn.Module`."""
WRAPPER_ATTRIBUTES = {
    "DataParallel": frozenset(
        "device_ids dim gather module output_device parallel_apply replicate scatter src_device_obj".split()
    ),
    "DistributedDataParallel": frozenset(
        """
        batched_grad_copy broadcast_bucket_size broadcast_buffers bucket_bytes_cap bucket_bytes_cap_default
        bucket_bytes_cap_list buffer_hook ddp_uneven_inputs_config delay_all_reduce_named_params device device_ids
        device_mesh device_type dim find_unused_parameters forward_sync_buffers gather gradient_as_bucket_view
        is_multi_device_module join join_device join_hook join_process_group logger mixed_precision module
        modules_buffers modules_params named_module_buffers no_sync output_device param_to_hook_all_reduce
        parameters_to_ignore process_group reducer register_comm_hook require_backward_grad_sync
        require_forward_param_sync scatter skip_all_reduce_unused_params static_graph to_kwargs
        use_side_stream_for_tensor_copies will_sync_module_buffers
        """.split()
    ),
    "AveragedModel": frozenset("avg_fn module multi_avg_fn n_averaged update_parameters use_buffers".split()),
}
"""What wrappers that hand no other attribute through have besides, in this release or an earlier one."""
PARAMETER_MODULES = frozenset(
    """
    AdaptiveLogSoftmaxWithLoss BatchNorm1d BatchNorm2d BatchNorm3d Bilinear Conv1d Conv2d Conv3d ConvTranspose1d
    ConvTranspose2d ConvTranspose3d Embedding EmbeddingBag GRU GRUCell GroupNorm InstanceNorm1d InstanceNorm2d
    InstanceNorm3d LSTM LSTMCell LayerNorm LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d
    LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d
    LazyInstanceNorm3d LazyLinear Linear LinearCrossEntropyLoss MultiheadAttention PReLU RMSNorm RNN RNNCell
    SyncBatchNorm Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder
    TransformerEncoderLayer
    """.split()
)
_REPARAMETRIZATIONS = (
    "weight_norm remove_weight_norm spectral_norm remove_spectral_norm parametrizations.weight_norm "
    "parametrizations.spectral_norm parametrizations.orthogonal parametrize.register_parametrization "
    "parametrize.remove_parametrizations"
)
GIVE_FIRST_ARGUMENT = frozenset(f"torch.nn.utils.{name}" for name in _REPARAMETRIZATIONS.split()) | frozenset(
    """
    torch.vmap torch.func.vmap functorch.vmap torch.library.wrap_triton copy.deepcopy copy.copy typing.assert_type
    typing_extensions.assert_type
    """.split()
)
"""What gives back what it is given, or a copy of it: a Module whose weight is calculated from now on is still that."""
AFFINE_ON_REQUEST = frozenset("InstanceNorm1d InstanceNorm2d InstanceNorm3d".split())
"""Have parameters only with ``affine=True`` and buffers only with ``track_running_stats=True``."""
AFFINE_FLAGS = {
    "GroupNorm": (3, "affine"),
    "LayerNorm": (2, "elementwise_affine"),
    "RMSNorm": (2, "elementwise_affine"),
}
"""Have no parameters where this argument, by position or name, is False."""
MADE_OF_WEIGHTS = frozenset({"torch.nn.Embedding", "torch.nn.EmbeddingBag"})
"""Have a class method ``from_pretrained(weights)``, whose result holds the very tensor that it is given."""
PAIR_MODULES = frozenset("GRU LSTM LSTMCell RNN MultiheadAttention".split())
"""Their call gives a pair of tensors, or of a tensor and a tuple of tensors."""
MODULES_WITH_DEVICE = frozenset({"torch.nn.parallel.DistributedDataParallel"})
"""The Modules of torch that have an attribute `device`, which `torch.nn.Module` has not."""

OPTIMIZERS = frozenset(
    """
    ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS Muon NAdam RAdam RMSprop Rprop SGD SparseAdam
    """.split()
)
"""The classes of torch.optim, whose first argument are parameters."""

# --- checkpoints ----------------------------------------------------------------------------------------------------

LOADERS = {
    "torch.load": 1,
    "torch.serialization.load": 1,
    "torch.jit.load": 1,
    "torch.hub.load_state_dict_from_url": 2,
    "torch.utils.model_zoo.load_url": 2,
    "torchvision.models.utils.load_state_dict_from_url": 2,
    "torchvision._internally_replaced_utils.load_state_dict_from_url": 2,
    "TTS.utils.io.load_fsspec": 1,
    "mmcv.runner.load_checkpoint": 2,
    "mmcv.runner.checkpoint.load_checkpoint": 2,
    "pytorch_lightning.utilities.cloud_io.load": 1,
}
"""Calls that read storages, and the position of their ``map_location``."""

# --- CUDA and the environment ---------------------------------------------------------------------------------------

FREEZES_VISIBLE_DEVICES = frozenset(
    """
    torch.cuda.is_available torch.accelerator.is_available torch.accelerator.current_accelerator
    torch.accelerator.device_count torch.amp.GradScaler torch.cuda.amp.GradScaler torch.cuda.amp.autocast
    """.split()
)
INITIALISES_CUDA = frozenset(
    """
    torch.cuda.init torch.cuda.current_device torch.cuda.get_device_name torch.cuda.get_device_properties
    torch.cuda.get_device_capability torch.cuda.set_device torch.cuda.synchronize torch.cuda.Stream
    torch.cuda.current_stream torch.cuda.default_stream torch.cuda.Event torch.cuda.is_bf16_supported
    torch.cuda.reset_peak_memory_stats torch.cuda.mem_get_info torch.cuda.current_blas_handle
    torch.nn.DataParallel torch.nn.parallel.DataParallel torch.cuda.set_rng_state torch.cuda.get_rng_state
    torch.cuda.get_rng_state_all
    """.split()
)
RAISES_WITHOUT_CUDA = frozenset(
    f"torch.cuda.{name}"
    for name in """
    caching_allocator_alloc can_device_access_peer cudart current_blas_handle current_device current_stream
    default_stream get_device_capability get_device_name get_device_properties get_rng_state init
    initial_seed ipc_collect mem_get_info reset_max_memory_allocated reset_max_memory_cached reset_peak_memory_stats
    set_device set_per_process_memory_fraction synchronize
    """.split()
)
"""What raises on a machine without CUDA, whatever it is given; `empty_cache` or `manual_seed_all` do nothing there."""
DESCRIBES_GPU = frozenset(
    f"torch.cuda.{name}"
    for name in "current_device get_device_capability get_device_name get_device_properties".split()
)
"""What says which GPU there is, and raises without one, whatever device it is given."""
CONTEXTS_OF_CUDA = frozenset({"torch.cuda.device", "torch.cuda.device_of", "torch.cuda.stream"})
"""Contexts that initialise CUDA when they are entered."""
VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"

RUN_MODELS = {
    "torch.jit.trace": ("func", "example_inputs"),
    "torch.onnx.export": ("model", "args"),
    "torch.export.export": ("mod", "args"),
    "thop.profile": ("model", "inputs"),
    "fvcore.nn.FlopCountAnalysis": ("model", "inputs"),
    "fvcore.nn.flop_count": ("model", "inputs"),
}
"""What calls a model with inputs that it is given, once; the names of both, which are the first two arguments."""

OTHER_RUNTIMES = frozenset(
    "is_scripting is_tracing _is_tracing is_in_onnx_export is_exporting is_torch_fx_proxy is_fx_tracing".split()
)
"""Tests for a program that is traced, scripted or exported: a path of its own."""
