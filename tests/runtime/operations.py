"""A small call of every operation that the linter knows, with its tensors by letters.

``"m, [i], v"`` are the arguments of a function; a method has the first of them as its receiver. The methods take the
arguments of the function of their name, where `METHODS` has no others.
"""

from __future__ import annotations

MADE = {
    "m": "torch.eye(3{at})",
    "v": "torch.ones(3{at})",
    "s": "torch.tensor(0.5{at})",
    "i": "torch.arange(3{at})",
    "n": "torch.zeros(3, 3, dtype=torch.long{at})",
    "b": "torch.ones(3, 3, dtype=torch.bool{at})",
    "x": "torch.ones(3, 3, 3{at})",
    "y": "torch.ones(3, 3, 3, 3{at})",
    "z": "torch.ones(3, 3, 3, 3, 3{at})",
    "c": "torch.eye(3, dtype=torch.cfloat{at})",
    "g": "torch.ones(3, dtype=torch.int32{at})",
    "r": "torch.ones(4{at})",
    "k": "torch.ones(3, 3, 3, 2{at})",
    "t": "torch.ones(3, 2, 3{at})",
}
"""How a letter is written; ``{at}`` is empty, or a further argument that says where."""
SCALARS = {"i": "torch.tensor(0)", "n": "torch.tensor(0)", "b": "torch.tensor(True)", "c": "torch.tensor(0.5 + 0j)"}
"""A 0-dim tensor of the same kind on the CPU; ``torch.tensor(0.5)`` for the other letters."""

FUNCTIONS = {
    "c": "imag view_as_real",
    "i": "bitwise_not",
    "k": "view_as_complex",
    "m": """
        abs absolute acos acosh adjoint all amax amin aminmax angle any arccos arccosh arcsin arcsinh arctan arctanh
        argmax argmin argsort argwhere asin asinh atan atanh bernoulli ceil celu cholesky cholesky_inverse clone
        conj conj_physical corrcoef cos cosh count_nonzero cov deg2rad dequantize det detach diag diag_embed
        diagflat diagonal digamma erf erfc erfinv exp exp2 expm1 fix flatten fliplr flipud floor frac frexp
        from_dlpack geqrf get_device gradient hardshrink hash_tensor histc i0 inverse is_complex is_conj
        is_distributed is_floating_point is_inference is_neg is_signed isfinite isinf isnan isneginf isposinf isreal
        lgamma lobpcg log log10 log1p log2 logdet logical_not logit matrix_exp mean median mode msort nan_to_num
        nanmean nanmedian nansum neg negative nonzero norm norm_except_dim nuclear_norm numel pdist pinverse poisson
        positive prod qr rad2deg ravel real reciprocal relu resolve_conj resolve_neg rot90 round rrelu rsqrt selu
        sgn sigmoid sign signbit sin sinc sinh slogdet sort sqrt square squeeze std std_mean sum svd t tan tanh
        trace tril triu trunc unbind unique unique_consecutive var var_mean zero_
    """,
    "s": "is_nonzero",
    "v": "combinations vander",
    "1, m": "polygamma",
    "i, 1": "unravel_index",
    "i, i": "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm",
    "i, v": "bincount",
    "m, 0": """
        adaptive_avg_pool1d adaptive_max_pool1d cummax cummin cumprod cumsum frobenius_norm log_softmax logcumsumexp
        logsumexp matrix_power roll softmax topk unsqueeze
    """,
    "m, 1": """
        avg_pool1d chunk hsplit kthvalue max_pool1d max_pool1d_with_indices multinomial mvlgamma split tensor_split
        unsafe_chunk unsafe_split vsplit
    """,
    "m, b": "masked_select",
    "m, g": "lu_unpack",
    "m, i": "embedding take take_along_dim",
    "m, m": """
        add allclose arctan2 atan2 atleast_1d atleast_2d atleast_3d binomial block_diag broadcast_tensors cdist
        chain_matmul cholesky_solve clamp_max clamp_min complex copysign cosine_similarity cross
        cumulative_trapezoid dist div divide eq equal float_power floor_divide fmax fmin fmod ge greater
        greater_equal gt heaviside hinge_embedding_loss hypot igamma igammac inner is_same_size isclose isin kl_div
        kron ldexp le less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor lt matmul max maximum
        min minimum mm mul multiply ne nextafter normal not_equal pairwise_distance polar pow remainder resize_as_
        result_type rsub searchsorted slice_inverse slice_scatter sub subtract tensordot trapezoid trapz
        triangular_solve true_divide xlogy
    """,
    "m, s": "fill",
    "m, v": "bucketize diagonal_scatter histogram mv nanquantile orgqr prelu quantile",
    "v, i": "repeat_interleave",
    "v, v": "cartesian_prod dot ger meshgrid outer vdot",
    "x, 1": "channel_shuffle dsplit max_pool2d pixel_shuffle pixel_unshuffle",
    "x, x": "bmm",
    "y, 1": "max_pool3d",
    "[m, m]": "cat column_stack concat concatenate dstack hstack row_stack stack vstack",
    "m, [0]": "flip tile",
    "b, m, m": "where",
    "m, 0, 1": "moveaxis movedim select swapaxes swapdims threshold transpose",
    "m, 0, i": "index_select",
    "m, 0, n": "gather",
    "m, b, m": "masked_scatter",
    "m, b, s": "masked_fill",
    "m, i, v": "put",
    "m, m, g": "lu_solve",
    "m, m, m": "addcdiv addcmul addmm clamp clip lerp margin_ranking_loss triplet_margin_loss",
    "m, m, v": "cosine_embedding_loss",
    "m, v, m": "ormqr",
    "m, v, v": "addr",
    "m, x, x": "addbmm baddbmm",
    "v, m, v": "addmv",
    "x, x, v": "conv1d conv_tbc conv_transpose1d",
    "y, y, v": "conv2d conv_transpose2d",
    "z, z, v": "conv3d conv_transpose3d",
    "m, (3, 3)": "broadcast_to reshape",
    "m, [0, 1]": "constant_pad_nd permute",
    "m, [1, 2]": "split_with_sizes unsafe_split_with_sizes",
    "m, [i], v": "index_put",
    "m, size=2": "nonzero_static",
    "m, (3,), v": "rms_norm",
    "m, 0, i, m": "index_add index_copy",
    "m, 0, i, s": "index_fill",
    "m, 0, n, m": "scatter scatter_add",
    "m, 1, 0, 1": "narrow renorm",
    "m, 3, v, v": "group_norm",
    "m, i, 3, 1": "embedding_renorm_",
    "m, m, x, v": "bilinear",
    "m, v, 0, 0": "select_scatter",
    "x, i, i, i": "ctc_loss",
    "m, 0, (3, 1)": "unflatten",
    "m, [3], v, v": "layer_norm",
    "m, 0, 1, 0, 1": "fake_quantize_per_tensor_affine",
    "m, 0.5, False": "alpha_dropout dropout feature_alpha_dropout feature_dropout",
    "m, 1, 0, m, m": "diff",
    "m, m, m, v, 1": "binary_cross_entropy_with_logits",
    "c, 4, window=r": "istft",
    "m, v, [3], [1]": "as_strided_scatter",
    '"ij,jk->ik", m, m': "einsum",
    "m, [1, 1], [1, 1]": "as_strided",
    "y, k, 0, 0, False": "grid_sampler grid_sampler_2d",
    "z, z, 0, 0, False": "grid_sampler_3d",
    "m, 0, i, m, 'mean'": "index_reduce",
    "m, 0, n, m, 'mean'": "scatter_reduce",
    'v, "max", lengths=i': "segment_reduce",
    "t, [3, 1, 2, 2], False": "affine_grid_generator",
    "m, 0.1, 0, torch.quint8": "quantize_per_tensor",
    "m, m, True, False, 0.1, 1": "poisson_nll_loss",
    "m, i, i, False, 0, False, v": "embedding_bag",
    "m, v, v, v, v, True, 0.1, 0.1, False": "batch_norm instance_norm",
    "x, x, v, [1], [0], [1], False, [0], 1": "convolution",
    "v, 3, 1, window=v, return_complex=True": "stft",
}

METHODS = {
    "m": """
        bfloat16 bool byte cauchy_ cdouble cfloat chalf char contiguous cpu dense_dim dim double element_size
        exponential_ float half int is_contiguous is_pinned log_normal_ long normal_ random_ requires_grad_ short
        size sparse_dim storage_offset stride to_dense to_mkldnn to_sparse to_sparse_coo to_sparse_csc to_sparse_csr
        uniform_
    """,
    "s": "item",
    "m, 0": "copy_ fill_diagonal_ new_empty new_ones new_tensor new_zeros",
    "m, 1": "polygamma sum_to_size to_sparse_bsc to_sparse_bsr",
    "m, m": "expand_as is_set_to reshape_as resize_as type_as view_as",
    "m, s": "fill_",
    "v, 3": "resize",
    "m, 0.5": "geometric_",
    "m, 0, 1": "index repeat",
    "m, b, m": "where",
    "m, (3, 3)": "expand view",
    "m, 1, 0, 1": "unfold",
    "m, (2,), 0.5": "new_full",
    "m, torch.double": "to",
    "m, [1, 1], [1, 1]": "new_empty_strided",
}

FUNCTIONAL = {
    "i": "one_hot",
    "m": """
        alpha_dropout celu dropout dropout1d dropout2d dropout3d elu feature_alpha_dropout gelu gumbel_softmax
        hardshrink hardsigmoid hardswish hardtanh leaky_relu log_softmax logsigmoid mish normalize pdist relu relu6
        rrelu selu sigmoid silu softmax softmin softplus softshrink softsign tanh tanhshrink
    """,
    "r": "glu",
    "i, m": "embedding",
    "m, 0": "adaptive_avg_pool1d adaptive_max_pool1d adaptive_max_pool1d_with_indices",
    "m, 1": "adaptive_avg_pool2d avg_pool1d max_pool1d max_pool1d_with_indices",
    "m, m": """
        cosine_similarity hinge_embedding_loss kl_div pairwise_distance poisson_nll_loss smooth_l1_loss
        soft_margin_loss
    """,
    "m, n": "multilabel_margin_loss",
    "m, v": "prelu",
    "x, 0": "adaptive_max_pool2d adaptive_max_pool2d_with_indices",
    "x, 1": """
        adaptive_avg_pool3d avg_pool2d channel_shuffle interpolate local_response_norm max_pool2d
        max_pool2d_with_indices pixel_shuffle pixel_unshuffle unfold upsample upsample_nearest
    """,
    "y, 0": "adaptive_max_pool3d adaptive_max_pool3d_with_indices",
    "y, 1": "avg_pool3d max_pool3d max_pool3d_with_indices upsample_bilinear",
    "y, k": "grid_sample",
    "m, 0, 1": "threshold",
    "m, i, v": "cross_entropy nll_loss",
    "m, m, m": """
        binary_cross_entropy gaussian_nll_loss linear linear_cross_entropy margin_ranking_loss
        multilabel_soft_margin_loss triplet_margin_loss triplet_margin_with_distance_loss
    """,
    "m, m, v": "cosine_embedding_loss",
    "x, 1, 1": "fractional_max_pool2d fractional_max_pool2d_with_indices",
    "x, x, v": "conv1d conv_tbc conv_transpose1d",
    "y, 1, 1": "fractional_max_pool3d fractional_max_pool3d_with_indices",
    "y, y, v": "conv2d conv_transpose2d",
    "z, z, v": "conv3d conv_transpose3d",
    "m, -1, 1": "lp_pool1d",
    "x, -1, 1": "lp_pool2d",
    "y, -1, 1": "lp_pool3d",
    "m, [0, 1]": "pad",
    "m, (3,), v": "rms_norm",
    "m, m, x, v": "bilinear",
    "x, 3, v, v": "group_norm",
    "x, i, i, i": "ctc_loss",
    "x, x, x, x": "scaled_dot_product_attention",
    "m, (3,), v, v": "layer_norm",
    "m, v, v, v, v": "batch_norm",
    "x, v, v, v, v": "instance_norm",
    "m, i, weight=v": "multi_margin_loss",
    "m, m, weight=m": "huber_loss l1_loss mse_loss",
    "x, x.long(), 2": "max_unpool1d",
    "y, y.long(), 2": "max_unpool2d",
    "z, z.long(), 2": "max_unpool3d",
    "t, [3, 1, 2, 2]": "affine_grid",
    "x, (1, 5), (1, 3)": "fold",
    "m, m, m, pos_weight=v": "binary_cross_entropy_with_logits",
    'i, m, i, per_sample_weights=v, mode="sum"': "embedding_bag",
}

LINALG = {
    "m": """
        cholesky cholesky_ex cond det diagonal eig eigh eigvals eigvalsh inv inv_ex ldl_factor ldl_factor_ex lu
        lu_factor lu_factor_ex matrix_exp matrix_norm matrix_rank norm pinv qr slogdet svd svdvals vander
        vector_norm
    """,
    "m, 0": "matrix_power",
    "m, 1": "tensorinv",
    "m, m": "cross lstsq matmul solve solve_ex vecdot",
    "m, v": "householder_product tensorsolve",
    "[m, m]": "multi_dot",
    "m, g, m": "ldl_solve lu_solve",
    "m, m, upper=True": "solve_triangular",
}

FFT = {
    "m": """
        fft fft2 fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2 irfftn
        rfft rfft2 rfftn
    """,
}

FACTORIES = {
    "2": """
        arange bartlett_window blackman_window empty eye hamming_window hann_window kaiser_window ones rand randn
        randperm scalar_tensor zeros
    """,
    "0, 1": "range",
    "2, 2": "tril_indices triu_indices",
    "0, 1, 2": "linspace logspace",
    "3, (2,)": "randint",
    "(2,), 0.5": "full",
    "(2,), (1,)": "empty_strided",
    "(2,), (0,)": "empty_permuted",
    "0.0, 1.0, (2,)": "normal",
    "[0.5]": "as_tensor asarray tensor",
    "[[0, 1]], [0.5, 0.5]": "sparse_coo_tensor",
    "[0, 1, 2], [0, 1], [0.5, 0.5]": "sparse_csr_tensor sparse_csc_tensor",
    "[0, 1], [0], [[[0.5]]]": "sparse_bsr_tensor sparse_bsc_tensor",
    "[0, 1, 2], [0, 1], [0.5, 0.5], layout=torch.sparse_csr": "sparse_compressed_tensor",
    "bytearray(4), dtype=torch.float": "frombuffer",
}
"""Calls of the functions of `torch` that make tensors of numbers."""
NEW = {
    "2": "new new_empty new_ones new_zeros",
    "(2,), 0.5": "new_full",
    "[0.5]": "new_tensor",
    "(2,), (1,)": "new_empty_strided",
}
"""Calls of the methods of a tensor that make another where it is."""
