# SPDX-License-Identifier: BSD-3-Clause
"""Functions of `torch` that are more than an operation of the table: making tensors, passes, modes, distributions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...autograd.ops.only_read import CREATION
from ..interpreter.attributes import get_attribute
from ..interpreter.containers import is_concrete
from ..interpreter.contexts import Lasting, Switch
from ..interpreter.library import function, models
from ..interpreter.machine import Machine
from ..interpreter.nodes import where_lost
from ..interpreter.values import Function, Object, Tensor, Unknown
from .methods import parts, tensor_attribute
from .passes import backward, gradients, tensors_of
from .tensors import computed, operate, operate_in_place, packed, unknown_operation

__all__ = ["call_torch"]

_HARMLESS = (
    "torch.cuda.", "torch.backends.", "torch.distributed.", "torch.utils.tensorboard", "torch.optim.lr_scheduler.",
    "torch.random.", "torch.version", "torch.profiler", "torch.hub.", "torch.multiprocessing",
    "torch.mps.", "torch.onnx", "torch.utils.cpp_extension", "torch.testing", "torch.initial_seed", "torch.hub",
)  # fmt: skip
_FACTS = set(
    "torch.device torch.manual_seed torch.save torch.get_num_threads torch.set_num_threads torch.is_tensor "
    "torch.set_default_dtype torch.set_default_tensor_type torch.Generator torch.seed torch.get_rng_state torch.Size "
    "torch.set_rng_state torch.set_printoptions torch.numel torch.finfo torch.iinfo "
    "torch.autograd.set_detect_anomaly torch.autograd.detect_anomaly torch.set_float32_matmul_precision "
    "torch.use_deterministic_algorithms torch.get_default_dtype torch.is_floating_point torch.result_type "
    "torch.autocast torch.amp.autocast torch.set_default_device torch.typename".split()
)


_DRAWN = set(
    "rand randn randint randperm rand_like randn_like randint_like normal bernoulli multinomial poisson".split()
)


def call_torch(m: Machine, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A function of torch by its dotted name."""
    last = name.rpartition(".")[2]
    if name in _FACTS or name.startswith(_HARMLESS):
        return Unknown(plain=True)
    if name.startswith("torch.nn.init."):
        # They fill the tensor that they are given, and give it back.
        first = args[0] if args else kwargs.get("tensor")
        return first if isinstance(first, Tensor) else Unknown(plain=True)
    if last in CREATION and not name.startswith("torch.nn.functional"):
        return create(m, last, args, kwargs)
    if name.startswith("torch.Tensor.") and args and isinstance(args[0], Tensor):
        return tensor_attribute(m, args[0], last, None).act(m, args[1:], kwargs)
    if last in ("split", "chunk", "unbind", "tensor_split") and args and isinstance(args[0], Tensor):
        return parts(m, args[0], last, args[1:], kwargs)
    if (
        name.startswith(("torch.nn.functional.", "torch.special.", "torch.linalg.", "torch.fft."))
        or name.count(".") == 1
    ):
        if last.endswith("_") and args and isinstance(args[0], Tensor):
            return operate_in_place(m, last[:-1], args[0], args[1:], "")
        if kwargs.pop("inplace", False) is True and args and isinstance(args[0], Tensor):
            return operate_in_place(m, last, args[0], [], "")
        if last == "norm":
            last = "vector_norm"
        return operate(m, last, list(args), kwargs)
    return unknown_operation(m, last, args, kwargs)


def create(m: Machine, name: str, args: list[Any], kwargs: dict[str, Any]) -> Tensor:
    """A tensor made out of values: without history, whatever they were."""
    first = args[0] if args else kwargs.get("data")
    if name in ("as_tensor", "asarray") and isinstance(first, Tensor):
        return first
    lost = _first_with_history(first) if m.grad and name in ("tensor", "FloatTensor", "as_tensor") else None
    flag = m.known_truth(kwargs.get("requires_grad", False))
    made = Tensor(flag)
    made.lost = where_lost([first])
    if lost is not None:
        made.lost = m.engine.cut("wrap", "", m.place(), lost.edge)
    if flag is not False:
        m.engine.leaf(made)
    if name in _DRAWN or not is_concrete(first):
        made.born = made.store.serial
    made.exact = name in ("randint", "LongTensor", "IntTensor", "ByteTensor", "BoolTensor", "randperm")
    return made


def _first_with_history(value: Any) -> Tensor | None:
    if isinstance(value, (list, tuple)):
        return next((found for v in value if (found := _first_with_history(v)) is not None), None)
    return value if isinstance(value, Tensor) and value.needs else None


@function("torch.from_numpy")
def _from_numpy(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Tensor:
    made = Tensor(False)
    made.lost = where_lost(args) or m.engine.cut("wrap", "", m.place())
    return made


@function("torch.Tensor")
def _tensor(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Tensor:
    return create(m, "tensor", args, kwargs)


@function("torch.autograd.Variable")
def _variable(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The memory of a tensor without its history: a new leaf, whatever went in."""
    first = args[0] if args else kwargs.get("data", Unknown())
    flag = m.known_truth(kwargs.get("requires_grad", args[1] if len(args) > 1 else False))
    made = Tensor(flag, None, first.store if isinstance(first, Tensor) and flag is False else None)
    made.lost = where_lost([first])
    if m.grad and isinstance(first, Tensor) and first.needs and first.leaf is None:
        made.lost = m.engine.cut("wrap", first.name, m.place())
    if flag is not False:
        m.engine.leaf(made)
    elif isinstance(first, Tensor):
        made.exact, made.base = first.exact, first.base
    return made


@function("torch.autograd.backward")
def _backward(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    names = ("tensors", "grad_tensors", "retain_graph", "create_graph", "grad_variables", "inputs")
    words = {**dict(zip(names, args, strict=False)), **kwargs}
    backward(m, tensors_of(m, words.get("tensors")), words)


@function("torch.autograd.grad")
def _grad(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    names = ("outputs", "inputs", "grad_outputs", "retain_graph", "create_graph", "only_inputs", "allow_unused")
    words = {**dict(zip(names, args, strict=False)), **kwargs}
    return gradients(m, words.get("outputs"), words.get("inputs"), words)


@function("torch.no_grad", "torch.inference_mode")
def _no_grad(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if args and isinstance(args[0], Function):
        args[0].marks.add("no_grad")
        return args[0]
    known = m.known_truth(args[0] if args else kwargs.get("mode", True))
    return Switch(False if known else m.grad if known is False else None)


@function("torch.enable_grad")
def _enable_grad(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if args and isinstance(args[0], Function):
        args[0].marks.add("enable_grad")
        return args[0]
    return Switch(True)


@function("torch.set_grad_enabled")
def _set_grad_enabled(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Takes effect at once, and until the `with` ends if it stands in one."""
    flag, before = m.known_truth(args[0] if args else kwargs.get("mode")), m.grad
    if flag is None:
        # Training code sets it by a flag, and the reading is about training; but where recording is off, it may stay off.
        flag = m.grad or None
    m.grad = flag
    m.changes.append(-1)
    return Lasting(flag, before)


@function("torch.is_grad_enabled")
def _is_grad_enabled(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return Unknown(("grad?",), plain=True) if m.grad is None else m.grad


@function("torch.is_tensor")
def _is_tensor(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    value = args[0]
    return Unknown(("tensor?", value.key), plain=True) if isinstance(value, Unknown) else isinstance(value, Tensor)


@function("torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential")
def _checkpoint(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    words = {k: v for k, v in kwargs.items() if k not in ("use_reentrant", "preserve_rng_state", "context_fn")}
    before, cuts, grad = len(m.engine.nodes), len(m.engine.cuts), m.grad
    given = [a for a in args[1:] if not isinstance(a, Tensor) or a.needs is not False]
    reentrant = kwargs.get("use_reentrant") is True
    given = [a for a in given if not is_concrete(a)]
    if reentrant and not given:
        m.grad = False  # what it gives has a history only where one of its arguments has
    try:
        made = m.call(args[0], args[1:], words)
    finally:
        m.grad = grad
    if m.grad and reentrant and not given and len(m.engine.cuts) > cuts:
        inside = [replace(c, kind="checkpoint", place=m.place()) for c in m.engine.cuts[cuts:]]
        m.engine.cuts[cuts:] = inside
        if isinstance(made, Tensor):
            made.lost = inside[-1]
    given = [a for a in given if isinstance(a, Tensor) and a.needs]
    if m.grad and reentrant and given and isinstance(made, Tensor):
        m.engine.enclose(made, given, before)
    return made


@function("torch.meshgrid", "torch.broadcast_tensors")
def _several(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return tuple(operate(m, "expand", [a], {}) if isinstance(a, Tensor) else Unknown() for a in args)


@function("torch.where")
def _where(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if len(args) == 1:
        return tuple(Tensor(False) for _ in range(3))
    return operate(m, "where", args, kwargs)


@function("torch.load")
def _load(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Unknown:
    return Unknown()


@function("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_norm", "torch.nn.utils.clip_grad_value_")
def _clip(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Tensor:
    return Tensor(False)


@function("torch.nn.utils.parameters_to_vector")
def _to_vector(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return operate(m, "cat", args, {})


@function("torch.nn.utils.rnn.pack_padded_sequence", "torch.nn.utils.rnn.pack_sequence")
def _pack(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    made = operate(m, "index_select", [args[0], Tensor(False)], {}) if isinstance(args[0], Tensor) else Unknown()
    return packed(made)


@function("torch.nn.utils.rnn.PackedSequence")
def _packed(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return packed(args[0] if args else kwargs.get("data", Unknown()))


@function("torch.nn.utils.rnn.pad_packed_sequence")
def _unpack(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return (operate(m, "index_select", [args[0], Tensor(False)], {}), Unknown(plain=True))


@function("torch.nn.utils.rnn.pad_sequence")
def _pad(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return operate(m, "stack", [args[0]], {})


@function(
    "einops.rearrange", "einops.reduce", "einops.repeat", "einops.einsum", "torch_scatter.scatter",
    "torch_scatter.scatter_add", "torch_scatter.scatter_sum", "torch_scatter.scatter_mean",
    "torch_scatter.scatter_softmax", "torch_scatter.scatter_log_softmax",
)  # fmt: skip
def _compute(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Tensor:
    return computed(m, "?", args, kwargs)


_PARAMETERS = {
    **dict.fromkeys(("Normal", "Laplace", "LogNormal"), ("loc", "scale")),
    **dict.fromkeys(("Categorical", "Bernoulli", "OneHotCategorical"), ("probs", "logits")),
    **dict.fromkeys(("Exponential", "Poisson"), ("rate",)),
    "Beta": ("concentration1", "concentration0"), "Dirichlet": ("concentration",), "Gamma": ("concentration", "rate"),
    "MultivariateNormal": ("loc", "covariance_matrix"), "Uniform": ("low", "high"), "Independent": ("base_dist",),
}  # fmt: skip
_MOMENTS = {"loc": ("mean", "mode"), "scale": ("stddev",)}


def _distribution_init(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    owner, given = args[0], [v for v in (*args[1:], *kwargs.values()) if isinstance(v, (Tensor, Unknown, Object))]
    owner.hidden["tensors"] = given
    kind = owner.cls.library().rpartition(".")[2]
    names = _PARAMETERS.get(kind, ())
    words = {**dict(zip(names, args[1:], strict=False)), **kwargs}
    for name in names:
        if "logits" in names:  # either is computed from the other, and normed
            owner.attrs[name] = computed(m, "?", _own(owner), {}) if _own(owner) else Unknown()
        elif name in words:
            for known in (name, *(_MOMENTS.get(name, ()) if kind == "Normal" else ())):
                owner.attrs[known] = words[name]


def _own(owner: Object) -> list[Any]:
    found: list[Any] = []
    for value in owner.hidden.get("tensors", []):
        found.extend(_own(value) if isinstance(value, Object) else [value])
    return found


def _distribution(op: str) -> Any:
    def act(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return operate(m, op, [*_own(args[0]), *args[1:]], {})

    return act


def _sample(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Tensor:
    return Tensor(False)


models(
    "torch.distributions.Distribution",
    __init__=_distribution_init,
    log_prob=_distribution("log_prob"),
    entropy=_distribution("entropy"),
    rsample=_distribution("rsample"),
    sample=_sample,
)
for _name in (
    "Categorical Normal Bernoulli Beta Dirichlet MultivariateNormal Independent Uniform Gamma Laplace OneHotCategorical "
    "LogNormal Multinomial Poisson Exponential StudentT TransformedDistribution RelaxedOneHotCategorical"
).split():
    models(f"torch.distributions.{_name}", "torch.distributions.Distribution")


@function("torch.distributions.kl_divergence", "torch.distributions.kl.kl_divergence")
def _kl(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return operate(m, "entropy", [t for a in args if isinstance(a, Object) for t in _own(a)], {})


def _scaler_scale(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if not isinstance(args[1], Tensor):
        return args[1]
    return operate(m, "mul", [args[1], Tensor(False)], {})


def _scaler_step(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return m.call(get_attribute(m, args[1], "step"), [], {})


for _name in (
    "torch.cuda.amp.GradScaler",
    "torch.amp.GradScaler",
    "torch.GradScaler",
    "torch.amp.grad_scaler.GradScaler",
):
    models(
        _name,
        scale=_scaler_scale,
        step=_scaler_step,
        unscale_=lambda m, args, kwargs: None,
        update=lambda m, args, kwargs: None,
        __init__=lambda m, args, kwargs: None,
    )

models("torch.autograd.Function")
