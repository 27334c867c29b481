# SPDX-License-Identifier: BSD-3-Clause
"""What is known of PyTorch's functions: which only look, which are random, which must not be run again.

NOTE [ What may be run again ]
A function is run again only if its result depends on its arguments alone:
1. Functions of PyTorch's own, not of other libraries: those may depend on anything.
2. None that draws random numbers, except where its numbers are known: dropout saves its noise, and attention and
   recurrent layers are run again from the state that the generator had.
3. None that makes memory for others to write to, with zeros in it or with nothing: somebody whom we do not see (a kernel
   of another library) may have done so.
4. None that makes a tensor from Python's data, which may have changed since.
5. On a GPU none that adds in an order that differs from run to run.
A result of any other function is held.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

__all__ = ["EXPOSING", "PASSIVE", "Traits", "draws_random_numbers", "traits"]

Function = Callable[..., Any]

_OWNERS = (torch.Tensor, torch, functional)


def _all(names: str) -> set[Function]:
    return {getattr(owner, name) for owner in _OWNERS for name in names.split() if hasattr(owner, name)}


_VIEWS = _all(
    "adjoint as_strided chunk detach diagonal dsplit expand expand_as hsplit mH moveaxis movedim mT narrow permute "
    "select split split_with_sizes squeeze swapaxes swapdims t tensor_split transpose unbind unflatten unfold "
    "unsqueeze unsafe_chunk unsafe_split view view_as view_as_complex view_as_real vsplit"
)
"""Their results lie in the memory of their argument: what lies there is known already."""

_LOOKS = _all(
    "__array__ __bool__ __contains__ __deepcopy__ __dlpack__ __float__ __format__ __hash__ __index__ __int__ __len__ "
    "__reduce_ex__ __repr__ __setstate__ __str__ allclose backward data_ptr dim element_size equal get_device "
    "is_complex is_contiguous is_floating_point is_inference is_nonzero is_pinned is_same_size is_set_to is_shared "
    "is_signed is_tensor item ndimension nelement numel numpy record_stream register_hook "
    "register_post_accumulate_grad_hook requires_grad_ retain_grad share_memory_ size storage storage_offset stride "
    "tolist untyped_storage"
)
_LOOKS |= {torch.autograd.grad, torch.autograd.backward, torch._C._set_grad_enabled}
"""They compute no tensor, or run passes."""


def _attributes() -> set[Function]:
    found: set[Function] = set()
    for kind in (torch.Tensor, *torch.Tensor.__mro__):
        for value in vars(kind).values():
            if isinstance(value, (types.GetSetDescriptorType, property)):
                found |= {value.__get__, value.__set__}
    return found


PASSIVE: frozenset[Function] = frozenset(_VIEWS | _LOOKS | _attributes())
"""Functions that are called as if nobody looked."""

EXPOSING: frozenset[Function] = frozenset(
    _all("__array__ __dlpack__ data_ptr numpy share_memory_ storage untyped_storage") | {torch.Tensor.data.__get__}  # type: ignore[attr-defined]
)
"""Of these, those that hand memory out to others, who may write there without a version that tells so."""

_HEAVY: frozenset[Function] = frozenset(
    _all(
        "__matmul__ __rmatmul__ addbmm addmm addmv baddbmm bilinear bmm chain_matmul conv1d conv2d conv3d "
        "conv_transpose1d conv_transpose2d conv_transpose3d convolution einsum grouped_mm linear matmul mm "
        "multi_head_attention_forward mv scaled_dot_product_attention tensordot"
    )
    | {torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu}
)
_RECURRENT = frozenset({torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu})
_NORMS = {functional.batch_norm, functional.instance_norm, torch.batch_norm, torch.instance_norm}
_ATTENTION = {functional.scaled_dot_product_attention, functional.multi_head_attention_forward}

_RESHAPING = frozenset(_all("linear matmul __matmul__ __rmatmul__"))
_SAVING = _RESHAPING | _all(
    "addmm baddbmm bmm conv1d conv2d conv3d convolution group_norm layer_norm log mm pow __pow__"
)
"""Functions that save nothing of the size of an argument but their arguments and results; some may reshape them first."""

_RANDOM = re.compile(
    r"rand|dropout|bernoulli|multinomial|normal_|^normal$|poisson|rrelu|gumbel|exponential_|geometric_|cauchy_|uniform_"
    r"|fractional_max_pool|binomial|_standard_gamma|_sample_dirichlet"
)
_MADE = re.compile(
    r"^_?(new_)?(empty|zeros|ones|full)|^zero_$|^fill_$|^resize|^set_|^as_tensor$|^tensor$|^from_|^frombuffer$|^asarray$"
    r"|^new$|^new_tensor$|^arange$|^linspace$|^eye$"
)
_UNORDERED = re.compile(
    r"index_add|scatter_add|scatter_reduce|index_put|put_|histc|bincount|cumsum|embedding_bag|ctc_loss|kthvalue|median"
    r"|max_unpool|index_reduce|segment_reduce|conv_transpose"
)


class Traits:
    """What is known of one function."""

    __slots__ = (
        "attention", "draws", "dropout", "foreign", "heavy", "recurrent", "repeatable", "reshapes", "saves_arguments",
        "statistics",
    )  # fmt: skip

    def __init__(self, function: Function) -> None:
        name = getattr(function, "__name__", "").split(".")[0]
        self.foreign = _foreign(function)
        """It is not PyTorch's own."""
        once = self.foreign or bool(_RANDOM.search(name) or _MADE.search(name))
        self.dropout = function is functional.dropout
        self.repeatable = (not once or self.dropout, (not once or self.dropout) and not _UNORDERED.search(name))
        """May it be run again, on a CPU and on a GPU? See NOTE [ What may be run again ]."""
        self.heavy = function in _HEAVY
        """It multiplies matrices: to run it again takes long."""
        self.saves_arguments, self.reshapes = function in _SAVING, function in _RESHAPING
        """See NOTE [ Casts ] 2."""
        self.recurrent = function in _RECURRENT
        self.attention = function in _ATTENTION
        self.statistics = function in _NORMS
        """It writes to running statistics, without a version that tells so."""
        self.draws = self.recurrent or self.attention
        """It may draw random numbers."""


_traits: dict[Function, Traits] = {}


def traits(function: Function) -> Traits:
    """What is known of a function."""
    found = _traits.get(function)
    if found is None:
        found = _traits[function] = Traits(function)
    return found


def _foreign(function: Function) -> bool:
    if isinstance(function, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return str(function).split(".")[0] not in ("aten", "prims")
    if isinstance(function, types.FunctionType):
        module = function.__module__ or ""
        return module.split(".")[0] != "torch" or module.startswith("torch.nn.init")
    return isinstance(function, torch._ops.OperatorBase)  # of higher order: it is given functions


def draws_random_numbers(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Does this call of an attention or a recurrent layer drop something out?"""
    if function is functional.scaled_dot_product_attention:
        return bool(kwargs.get("dropout_p", args[4] if len(args) > 4 else 0.0))
    if function is functional.multi_head_attention_forward:
        return bool(kwargs.get("training", args[13] if len(args) > 13 else True))
    return any(type(value) is float and value > 0 for value in args)
