# SPDX-License-Identifier: BSD-3-Clause
"""Which operation saves what: the table of the specification, and rows for operations that it does not compute.

NOTE [ One table ]
What saves what is said in `secondpass.autograd.ops` and nowhere else. `MORE` has operations that the specification does
not compute (convolutions, recurrent layers ...), in the same form, so that reading and running agree.
"""

from __future__ import annotations

import ast
from functools import cache

from ...autograd.ops import OPS, Op

__all__ = ["ALIASES", "CREATION", "FIRST", "NO_HISTORY", "composed", "row"]


def _more(name: str, node: str, inputs: str, saves: str = "", integral: tuple[int, ...] = ()) -> Op:
    names = tuple(n.lstrip("*") for n in inputs.split())
    star = next((i for i, n in enumerate(inputs.split()) if n.startswith("*")), -1)
    rule = dict.fromkeys(saves.split(), "")
    return Op(name, node, names, _nothing, rule, names, several=bool(integral), integral=integral, star=star)


def _nothing(*args: object) -> None:
    raise NotImplementedError("this operation is only read, never computed")


_ROWS = [
    _more("convolution", "ConvolutionBackward0", "input weight bias", "input weight"),
    _more("batch_norm", "NativeBatchNormBackward0", "input weight bias", "input result1 weight"),
    _more("group_norm", "NativeGroupNormBackward0", "input weight bias", "input result1 weight"),
    _more("rms_norm", "RmsNormBackward0", "input weight", "input result"),
    _more("recurrent", "MkldnnRnnLayerBackward0", "*tensors", "tensors result"),
    _more("lstm_cell", "AddmmBackward0", "*tensors", "tensors"),
    _more("gru_cell", "AddmmBackward0", "*tensors", "tensors"),
    _more("rnn_cell", "TanhBackward0", "*tensors", "tensors result"),
    _more("attention", "ScaledDotProductFlashAttentionForCpuBackward0", "*tensors", "tensors result"),
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
    _more("ctc_loss", "CtcLossBackward0", "log_probs", "log_probs result"),
    _more("kl_div", "XlogyBackward0", "self target", "self target"),
    _more("embedding_loss", "ClampMinBackward0", "*tensors", "tensors"),
    _more("huber_loss", "HuberLossBackward0", "self target", "self target"),
    _more("log_prob", "GatherBackward0", "*tensors", "tensors"),
    _more("entropy", "MulBackward0", "*tensors", "tensors"),
    _more("rsample", "MulBackward0", "*tensors", "tensors"),
    _more("fft", "FftC2CBackward0", "self"),
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
    _more("erf", "ErfBackward0", "self", "self"),
    _more("logsumexp", "LogsumexpBackward0", "self", "self result"),
    _more("sort", "SortBackward0", "self", "indices", (1,)),
    _more("topk", "TopkBackward0", "self", "indices", (1,)),
    _more("diagonal", "DiagonalBackward0", "self"),
    _more("repeat", "RepeatBackward0", "self"),
    _more("baddbmm", "BaddbmmBackward0", "self batch1 batch2", "batch1 batch2"),
    _more("index_select", "IndexSelectBackward0", "self index", "index"),
    _more("index_add", "IndexAddBackward0", "self index source", "index source"),
    _more("function", "Backward", "*tensors", ""),
]
_MORE = {r.name: r for r in _ROWS}

ALIASES = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "absolute": "abs", "negative": "neg",
    "cat": "cat", "concat": "cat", "concatenate": "cat", "hstack": "cat", "vstack": "cat",
    "dstack": "cat", "column_stack": "cat", "mT": "t", "T": "t", "H": "t", "swapaxes": "transpose",
    "movedim": "permute", "clamp_": "clamp", "clip": "clamp", "log_softmax": "log_softmax", "sum_to_size": "sum",
    "nanmean": "mean", "type_as": "to_copy", "float": "to_copy", "double": "to_copy", "half": "to_copy",
    "bfloat16": "to_copy", "take_along_dim": "gather", "view_as": "view", "reshape_as": "view", "expand_as": "expand",
    "broadcast_to": "expand", "repeat_interleave": "index_select", "tile": "repeat", "binary_cross_entropy_with_logits":
    "bce_with_logits", "max_pool1d": "max_pool", "max_pool2d": "max_pool", "max_pool3d": "max_pool",
    "adaptive_max_pool1d": "max_pool", "adaptive_max_pool2d": "max_pool", "avg_pool1d": "avg_pool",
    "avg_pool2d": "avg_pool", "avg_pool3d": "avg_pool", "adaptive_avg_pool1d": "adaptive_avg_pool",
    "adaptive_avg_pool2d": "adaptive_avg_pool", "adaptive_avg_pool3d": "adaptive_avg_pool",
    "conv1d": "convolution", "conv2d": "convolution", "conv3d": "convolution", "conv_transpose1d": "convolution",
    "conv_transpose2d": "convolution", "conv_transpose3d": "convolution", "instance_norm": "batch_norm",
    "grid_sample": "grid_sampler", "upsample": "interpolate", "selu": "elu", "celu": "elu", "relu6": "hardtanh",
    "hardsigmoid": "hardtanh", "swish": "silu", "dropout1d": "dropout", "dropout2d": "dropout", "dropout3d": "dropout",
    "alpha_dropout": "dropout", "scaled_dot_product_attention": "attention", "multi_head_attention_forward":
    "attention", "mul_": "mul", "logit": "log", "exp2": "exp", "rrelu": "leaky_relu", "poisson_nll_loss": "mse_loss",
    "gaussian_nll_loss": "mse_loss", "soft_margin_loss": "mse_loss", "multilabel_soft_margin_loss": "bce_with_logits",
    "cosine_similarity": "einsum", "pairwise_distance": "cdist", "cosine_embedding_loss": "embedding_loss",
    "triplet_margin_loss": "embedding_loss", "margin_ranking_loss": "embedding_loss", "hinge_embedding_loss":
    "embedding_loss", "multi_margin_loss": "embedding_loss", "log_sigmoid": "logsigmoid", "softmin": "softmax",
    "gumbel_softmax": "softmax", "bilinear": "einsum", "addmv": "addmm", "addbmm": "addmm", "ger": "einsum",
    "inner": "einsum", "tensordot": "einsum", "chain_matmul": "einsum", "multi_dot": "einsum", "kron": "einsum",
    "fftn": "fft", "ifft": "fft", "rfft": "fft", "irfft": "fft", "fft2": "fft", "rfft2": "fft", "irfft2": "fft",
    "ifft2": "fft", "stft": "fft", "istft": "fft", "imag": "real", "view_as_real": "real", "view_as_complex": "real",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "diag": "diagonal", "diag_embed":
    "diagonal", "trace": "sum", "nansum": "sum", "logaddexp": "logsumexp", "median": "max", "quantile": "gather",
    "amax_dim": "amax", "std_mean": "std", "var_mean": "var", "fmod": "remainder", "unfold": "as_strided",
    "pixel_shuffle": "view", "unflatten": "view", "ravel": "view", "squeeze_dim": "squeeze", "softsign": "div",
    "rot90": "flip", "fliplr": "flip", "flipud": "flip", "index_copy": "index_put", "index_fill": "masked_fill",
    "take": "index", "linalg_norm": "norm", "vector_norm": "vector_norm", "linalg_inv": "inverse", "inv": "inverse",
    "pinverse": "inverse", "slogdet": "det", "logdet": "det", "matrix_exp": "exp", "lerp_tensor": "lerp",
    "threshold": "relu", "hardshrink": "relu", "softshrink": "relu", "tanhshrink": "tanh", "bmm_": "bmm",
    "embedding_bag": "embedding", "nll_loss2d": "nll_loss", "smooth_l1": "smooth_l1_loss", "l1": "l1_loss",
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
}

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
    return OPS.get(name) or _MORE.get(name)
