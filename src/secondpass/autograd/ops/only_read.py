# SPDX-License-Identifier: BSD-3-Clause
"""Operations that are only read, never computed: convolutions, recurrent layers, aliases, functions that are several operations.

NOTE [ One table ]
What saves what is said in `secondpass.autograd.ops` and nowhere else. Rows here have the same form as those that are computed,
so that reading and running agree; each is compared with the nodes that PyTorch makes. A name that may save one thing or
another, depending on what is not read (types, sizes), has no row: nothing is said of it.
"""

from __future__ import annotations

import ast
from functools import cache

from .table import OPS, Op

__all__ = [
    "ALIASES", "COMPOSED", "CREATION", "FIRST", "MORE", "NO_HISTORY", "OVERWRITTEN", "REDUCES", "composed", "row",
]  # fmt: skip


def _more(name: str, node: str, inputs: str, saves: str = "", integral: tuple[int, ...] = ()) -> Op:
    """A row; `saves` are names, each with the input whose derivative reads it (`other:self`) where it is one alone."""
    names = tuple(n.lstrip("*") for n in inputs.split())
    star = next((i for i, n in enumerate(inputs.split()) if n.startswith("*")), -1)
    rule = {s.partition(":")[0]: s.partition(":")[2] for s in saves.split()}
    return Op(name, node, names, _nothing, rule, names, several=bool(integral), integral=integral, star=star)


def _nothing(*args: object) -> None:
    raise NotImplementedError("this operation is only read, never computed")


_ROWS = [
    _more("convolution", "ConvolutionBackward0", "input weight bias", "input weight"),
    _more("batch_norm", "NativeBatchNormBackward0", "input weight bias", "input result1 weight"),
    _more("group_norm", "NativeGroupNormBackward0", "input weight bias", "input result1 weight"),
    _more("rms_norm", "FusedRmsNormBackward0", "input weight", "input weight rstd"),
    _more("recurrent", "MkldnnRnnLayerBackward0", "*tensors", "tensors result"),
    _more("lstm_cell", "AddmmBackward0", "*tensors", "tensors"),
    _more("gru_cell", "AddmmBackward0", "*tensors", "tensors"),
    _more("rnn_cell", "TanhBackward0", "*tensors", "tensors result"),
    _more("attention", "ScaledDotProductFlashAttentionForCpuBackward0", "*tensors", "logsumexp"),
    _more("max_pool", "MaxPool2DWithIndicesBackward0", "self", "self result1"),
    _more("avg_pool", "AvgPool2DBackward0", "self", "self"),
    _more("adaptive_avg_pool", "AdaptiveAvgPool2DBackward0", "self", "self"),
    _more("interpolate", "UpsampleNearest2DBackward0", "self"),
    _more("pad", "ConstantPadNdBackward0", "self"),
    _more("grid_sampler", "GridSampler2DBackward0", "input grid", "grid input"),
    _more("prelu", "PreluKernelBackward0", "self weight", "self weight"),
    _more("elu", "EluBackward0", "self", "self"),
    _more("hardtanh", "HardtanhBackward0", "self", "self"),
    _more("hardswish", "HardswishBackward0", "self", "self"),
    _more("mish", "MishBackward0", "self", "self"),
    _more("logsigmoid", "LogSigmoidBackward0", "self", "self"),
    _more("glu", "GluBackward0", "self", "self"),
    _more("cross", "LinalgCrossBackward0", "self other", "other self"),
    _more("einsum", "BmmBackward0", "*tensors", "tensors"),
    _more("cdist", "CdistBackward0", "x1 x2", "result x1 x2"),
    _more("ctc_loss", "CtcLossBackward0", "log_probs", "log_probs log_alpha"),
    _more("kl_div", "XlogyBackward0", "self target", "self target"),
    _more("embedding_loss", "ClampMinBackward0", "*tensors", "difference"),
    _more("embedding_bag", "EmbeddingBagBackward0", "indices weight", "offset2bag"),
    _more("nansum", "NansumBackward0", "self", "self"),
    _more("slogdet", "LinalgSlogdetBackward0", "self", "self"),
    _more("matrix_exp", "LinalgMatrixExpBackward0", "self", "self"),
    _more("threshold", "ThresholdBackward0", "self", "self"),
    _more("fmod", "FmodBackward1", "self other", "other:other self:other"),
    _more("logaddexp", "LogaddexpBackward0", "self other", "other self"),
    _more("index_copy", "IndexCopyBackward0", "self dim index source", "index"),
    _more("quantile", "LerpBackward1", "self", "weight"),
    _more("take", "TakeBackward0", "self index", "index"),
    _more("rfft", "FftR2CBackward0", "self", "self"),
    _more("huber_loss", "HuberLossBackward0", "self target", "self target"),
    _more("log_prob", "GatherBackward0", "*tensors", "tensors"),
    _more("entropy", "MulBackward0", "*tensors", "tensors"),
    _more("rsample", "MulBackward0", "*tensors", "tensors"),
    _more("irfft", "FftC2RBackward0", "self"),
    _more("real", "RealBackward0", "self"),
    _more("atan2", "Atan2Backward0", "self other", "other self"),
    _more("tan", "TanBackward0", "self", "result"),
    _more("asin", "AsinBackward0", "self", "self"),
    _more("acos", "AcosBackward0", "self", "self"),
    _more("atan", "AtanBackward0", "self", "self"),
    _more("sinh", "SinhBackward0", "self", "self"),
    _more("cosh", "CoshBackward0", "self", "self"),
    _more("log2", "Log2Backward0", "self", "self"),
    _more("log10", "Log10Backward0", "self", "self"),
    _more("erfinv", "ErfinvBackward0", "self", "self"),
    _more("lgamma", "LgammaBackward0", "self", "self"),
    _more("addcmul", "AddcmulBackward0", "self tensor1 tensor2", "tensor1 tensor2"),
    _more("addcdiv", "AddcdivBackward0", "self tensor1 tensor2", "tensor1 tensor2"),
    _more("cumprod", "CumprodBackward0", "self", "result self"),
    _more("inverse", "LinalgInvExBackward0", "self", "inverse"),
    _more("det", "LinalgDetBackward0", "self", "result"),
    _more("cholesky", "LinalgCholeskyExBackward0", "self", "L"),
    _more("solve", "LinalgSolveExBackward0", "A B", "A result"),
    _more("svd", "LinalgSvdBackward0", "self", "U"),
    _more("triangular_solve", "LinalgSolveTriangularBackward0", "A B", "A result"),
    _more("cholesky_solve", "CholeskySolveBackward0", "self input2", "self input2 result"),
    _more("cholesky_inverse", "CholeskyInverseBackward0", "self", "self result"),
    _more("eigh", "LinalgEighBackward0", "self", "eigenvectors"),
    _more("qr", "LinalgQrBackward0", "self", "Q"),
    _more("pinv", "LinalgPinvBackward0", "self", "self result"),
    _more("digamma", "DigammaBackward0", "self", "self"),
    _more("polygamma", "PolygammaBackward0", "n self", "self"),
    _more("block_diag", "BlockDiagBackward0", "*tensors"),
    _more("frac", "FracBackward0", "self"),
    _more("affine_grid", "AffineGridGeneratorBackward0", "theta size"),
    _more("erf", "ErfBackward0", "self", "self"),
    _more("logsumexp", "LogsumexpBackward0", "self", "self result"),
    _more("sort", "SortBackward0", "self", "indices", (1,)),
    _more("topk", "TopkBackward0", "self", "indices", (1,)),
    _more("diagonal", "DiagonalBackward0", "self"),
    _more("repeat", "RepeatBackward0", "self"),
    _more("baddbmm", "BaddbmmBackward0", "self batch1 batch2", "batch1 batch2"),
    _more("index_select", "IndexSelectBackward0", "self dim index", "index"),
    _more("index_add", "IndexAddBackward0", "self dim index source", "index source"),
    _more("function", "Backward", "*tensors", ""),
]
MORE = {r.name: r for r in _ROWS}
"""Rows of operations that are not computed here."""

ALIASES = {
    "absolute": "abs", "arccos": "acos", "adaptive_avg_pool1d": "adaptive_avg_pool",
    "adaptive_avg_pool2d": "adaptive_avg_pool", "adaptive_avg_pool3d": "adaptive_avg_pool", "addbmm": "addmm",
    "addmv": "addmm", "unfold": "as_strided", "arcsin": "asin", "arctan": "atan", "arctan2": "atan2",
    "multi_head_attention_forward": "attention", "scaled_dot_product_attention": "attention",
    "avg_pool1d": "avg_pool", "avg_pool2d": "avg_pool", "avg_pool3d": "avg_pool", "instance_norm": "batch_norm",
    "binary_cross_entropy_with_logits": "bce_with_logits", "multilabel_soft_margin_loss": "bce_with_logits",
    "column_stack": "cat", "concat": "cat", "concatenate": "cat", "dstack": "cat", "hstack": "cat", "vstack": "cat",
    "clip": "clamp", "conv1d": "convolution", "conv2d": "convolution", "conv3d": "convolution",
    "conv_transpose1d": "convolution", "conv_transpose2d": "convolution", "conv_transpose3d": "convolution",
    "diag": "diagonal", "diag_embed": "diagonal", "divide": "div", "softsign": "div", "true_divide": "div",
    "solve_triangular": "triangular_solve", "eigvalsh": "eigh", "matrix_norm": "norm",
    "alpha_dropout": "dropout", "dropout1d": "dropout", "dropout2d": "dropout", "dropout3d": "dropout",
    "bilinear": "einsum", "chain_matmul": "einsum", "cosine_similarity": "einsum", "ger": "einsum", "inner": "einsum",
    "kron": "einsum", "multi_dot": "einsum", "tensordot": "einsum", "celu": "elu", "selu": "elu",
    "cosine_embedding_loss": "embedding_loss", "gaussian_nll_loss": "embedding_loss",
    "hinge_embedding_loss": "embedding_loss", "margin_ranking_loss": "embedding_loss",
    "multi_margin_loss": "embedding_loss", "triplet_margin_loss": "embedding_loss", "exp2": "exp",
    "broadcast_to": "expand", "expand_as": "expand", "fliplr": "flip", "flipud": "flip", "rot90": "flip",
    "take_along_dim": "gather", "grid_sample": "grid_sampler", "hardsigmoid": "hardtanh", "relu6": "hardtanh",
    "upsample": "interpolate", "inv": "inverse", "pinverse": "inverse", "irfft2": "irfft", "irfftn": "irfft",
    "rrelu": "leaky_relu", "logit": "log", "index_fill": "masked_fill", "median": "max",
    "adaptive_max_pool1d": "max_pool", "adaptive_max_pool2d": "max_pool", "adaptive_max_pool3d": "max_pool",
    "max_pool1d": "max_pool", "max_pool2d": "max_pool", "max_pool3d": "max_pool", "poisson_nll_loss": "mse_loss",
    "soft_margin_loss": "mse_loss", "multiply": "mul", "nanmean": "nansum", "negative": "neg", "movedim": "permute",
    "imag": "real", "view_as_complex": "real", "view_as_real": "real", "tile": "repeat", "rfft2": "rfft",
    "rfftn": "rfft", "logdet": "slogdet", "gumbel_softmax": "softmax", "softmin": "softmax", "std_mean": "std",
    "subtract": "sub", "sum_to_size": "sum", "trace": "sum", "H": "t", "T": "t", "mT": "t",
    "hardshrink": "threshold", "softshrink": "threshold", "bfloat16": "to_copy", "double": "to_copy",
    "float": "to_copy", "half": "to_copy", "type_as": "to_copy", "swapaxes": "transpose", "var_mean": "var",
    "pixel_shuffle": "view", "ravel": "view", "reshape_as": "view", "unflatten": "view", "view_as": "view",
}  # fmt: skip
"""Functions whose node saves as another row says; the name of the node may differ in PyTorch."""

COMPOSED: dict[str, str] = {
    "matmul": "mm(self, other)",
    "linear": "addmm(bias, input, t(weight))",
    "linear_without_bias": "mm(input, t(weight))",
    "reshape": "view(self)",
    "flatten": "view(self)",
    "chunk": "split(self)",
    "narrow": "slice(self)",
    "square": "pow(self)",
    "norm": "vector_norm(self)",
    "outer": "mul(view(self), other)",
    "cross_entropy": "nll_loss(log_softmax(input), target)[0]",
    "l1_loss": "mean(abs(sub(input, target)))",
    "dropout": "mul(input, noise)",
    "layer_norm": "native_layer_norm(input, weight, bias)[0]",
    "normalize": "div(input, expand(clamp_min(vector_norm(input))))",
    "rtruediv": "mul(reciprocal(self), other)",
    "tanhshrink": "sub(self, tanh(self))",
    "pairwise_distance": "vector_norm(sub(x1, x2))",
}
"""Functions that are several operations, as the expression that is recorded in the usual case: names are rows, `result[0]`
is the first output."""

_SIGNATURES = {
    "linear": "input weight bias",
    "cross_entropy": "input target",
    "l1_loss": "input target",
    "dropout": "input",
    "layer_norm": "input shape weight bias",
    "normalize": "input",
    "matmul": "self other",
    "outer": "self other",
    "pairwise_distance": "x1 x2",
}

REDUCES = frozenset(
    "mse_loss l1_loss smooth_l1_loss huber_loss cross_entropy nll_loss binary_cross_entropy bce_with_logits kl_div "
    "binary_cross_entropy_with_logits ctc_loss cosine_embedding_loss triplet_margin_loss margin_ranking_loss "
    "hinge_embedding_loss multi_margin_loss multilabel_soft_margin_loss soft_margin_loss poisson_nll_loss "
    "gaussian_nll_loss".split()
)
"""Losses that take a `reduction`: one number unless it is "none"."""

OVERWRITTEN = frozenset({"leaky_relu", "rrelu", "elu", "celu", "selu"})
"""Functions that save what they give, not what they got, where they work in place."""

FIRST = frozenset({"nll_loss"})
"""Operations whose other outputs are for their own backward: the function of that name gives back the first one alone."""

NO_HISTORY = set(
    "eq ne lt le gt ge argmax argmin argsort isnan isinf isfinite any all logical_and logical_or logical_not "
    "logical_xor nonzero bincount histc unique searchsorted bucketize one_hot long int short bool byte multinomial "
    "bernoulli floor_divide is_nonzero equal allclose isclose randperm numel count_nonzero "
    "sign_bit bitwise_and bitwise_or bitwise_xor bitwise_not lshift rshift greater less greater_equal less_equal "
    "not_equal eq_ lt_ gt_ ge_ le_ ne_ argwhere isin unique_consecutive tril_indices triu_indices".split()
)
"""Functions whose result never has history."""

CREATION = set(
    "tensor as_tensor from_numpy zeros ones empty full rand randn randint arange linspace logspace eye randperm "
    "zeros_like ones_like empty_like full_like rand_like randn_like randint_like new_zeros new_ones new_empty new_full "
    "new_tensor normal tril_indices triu_indices meshgrid_ range hann_window hamming_window frombuffer asarray "
    "FloatTensor LongTensor IntTensor DoubleTensor ByteTensor BoolTensor HalfTensor complex polar_ sparse_coo_tensor "
    "bernoulli multinomial poisson from_file blackman_window".split()
)
"""Functions that make a tensor out of values."""


@cache
def composed(name: str) -> tuple[tuple[str, ...], ast.expr] | None:
    """The inputs and the expression of a function that is several operations."""
    text = COMPOSED.get(ALIASES.get(name, name))
    if text is None:
        return None
    inputs = _SIGNATURES.get(ALIASES.get(name, name), "self")
    return tuple(inputs.split()), ast.parse(text, mode="eval").body


@cache
def row(name: str) -> Op | None:
    """The row of an operation, by the name that PyTorch's function or method has."""
    name = ALIASES.get(name, name)
    return OPS.get(name) or MORE.get(name)
