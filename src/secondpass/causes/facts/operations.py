# SPDX-License-Identifier: BSD-3-Clause
"""What PyTorch's nodes do to a value, by their names: the one list of those that only add up, scale or rearrange."""

from __future__ import annotations

from ...record import Node

__all__ = [
    "adds",
    "averages",
    "is_linear",
    "is_row",
    "is_view",
    "joins",
    "measures",
    "mixes",
    "multiplies",
    "scales",
    "subtracts",
    "takes_data",
]

_SUBTRACT = frozenset({"Sub", "RSub", "Rsub"})
_ADD = _SUBTRACT | {"Add", "Sum", "Stack", "Cat"}
_SCALE = frozenset({"Mul", "Div", "Neg", "Mean"})
_MEASURE = _ADD | {"Neg", "Mean", "Pow", "Abs", "Norm", "LinalgVectorNorm", "Sqrt"}
_SAME = frozenset({
    "View", "UnsafeView", "Reshape", "ReshapeAlias", "Squeeze", "Unsqueeze", "Expand", "Clone", "Alias", "To", "ToCopy",
})  # fmt: skip
_PART = frozenset({
    "Select", "Slice", "Permute", "Transpose", "T", "Unbind", "Split", "Index", "IndexSelect", "Gather", "Narrow",
    "AsStrided",
})  # fmt: skip
_MIX = frozenset(
    "Mm Addmm Bmm Baddbmm Mv Addmv Dot Linear Convolution ConvolutionOverrideable CudnnConvolution MkldnnConvolution Cdist "
    "EuclideanDist Einsum NativeLayerNorm NativeBatchNorm NativeGroupNorm CudnnBatchNorm GridSampler2D Bilinear "
    "ScaledDotProductFlashAttention ScaledDotProductFlashAttentionForCpu ScaledDotProductEfficientAttention "
    "MkldnnRnnLayer CudnnRnn ThnnFusedLstmCell ThnnFusedGruCell".split()
)
_FACTORS = {"Mm": 2, "Bmm": 2, "Mv": 2, "Dot": 2, "Addmm": 3, "Baddbmm": 3}
_CHOOSE = frozenset({"Embedding", "Index", "IndexSelect", "Gather"})


def _name(node: Node) -> str:
    return node.op.partition("Backward")[0]


def _alone(node: Node) -> bool:
    """Whether only one of the things that it multiplies has a history: otherwise a product is no scaling."""
    return len(node.parents or ()) < 2


def adds(node: Node) -> bool:
    """Whether a node only adds up, or hands a value on."""
    return _name(node) in _ADD or _name(node) in _SAME


def subtracts(node: Node) -> bool:
    """Whether a node takes one value from another."""
    return _name(node) in _SUBTRACT


def scales(node: Node) -> bool:
    """Whether a node multiplies by a constant, averages, or hands a value on."""
    return (_name(node) in _SCALE and _alone(node)) or _name(node) in _SAME


def multiplies(node: Node) -> bool:
    """Whether a node multiplies by a constant."""
    return _name(node) in ("Mul", "Div") and _alone(node)


def averages(node: Node) -> bool:
    """Whether a node adds up, or divides by a count: a mean of losses is made of such."""
    return adds(node) or (_name(node) in ("Div", "Mean") and _alone(node))


def is_linear(node: Node) -> bool:
    """Whether a node only adds up, scales or rearranges."""
    return adds(node) or scales(node) or _name(node) in _PART


def measures(node: Node) -> bool:
    """Whether a node is what norms and distances are made of, but for the data that a value may be multiplied by."""
    return _name(node) in _MEASURE or _name(node) in _SAME


def is_row(node: Node) -> bool:
    """Whether a node takes a tensor apart, as a loop over it does."""
    return _name(node) == "Unbind"


def is_view(node: Node) -> bool:
    """Whether a node hands memory on as it is, whole or in part: of a parameter, nothing is out of date."""
    return _name(node) in (_SAME | _PART | {"Detach"}) - {"Clone", "ToCopy", "To", "Index", "IndexSelect", "Gather"}


def joins(node: Node) -> bool:
    """Whether a node puts several values into one."""
    return _name(node) in ("Stack", "Cat")


def mixes(node: Node) -> bool:
    """Whether a node is what layers are made of: a product of matrices, a convolution, a normalisation."""
    return _name(node) in _MIX


def takes_data(node: Node) -> bool:
    """Whether a node puts something without history through what layers are made of, or chooses rows by it."""
    factors = _FACTORS.get(_name(node), 0)
    return (mixes(node) or _name(node) in _CHOOSE) and len(node.parents or ()) != factors
