# SPDX-License-Identifier: BSD-3-Clause
"""The catalogue of `torch.nn`: its layers, each with its parameters and the operations of its forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd.ops.only_read import REDUCES, row
from ..interpreter.calls import MORE
from ..interpreter.library import function, models
from ..interpreter.loops import iterate
from ..interpreter.machine import Machine
from ..interpreter.values import Dict, List, Object, Tensor, Unknown
from . import layers  # noqa: F401 - registers `torch.nn.Module`
from .modules import is_module, make_parameter
from .tensors import Packed, apply_row, computed, opaque, operate, operate_in_place, packed

__all__: list[str] = []

_BASE = "torch.nn.Module"


def _layer(name: str, params: str, forward: Callable[..., Any]) -> None:
    """A layer with parameters; `name?word` exists unless the keyword `word` is False (`?-word`: only if it is True)."""

    def init(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
        owner = args[0]
        owner.attrs.setdefault("training", True)
        for item in params.split():
            label, _, word = item.partition("?")
            flag = kwargs.get(word.lstrip("-"), not word.startswith("-")) if word else True
            if m.known_truth(flag) is not False:
                owner.attrs[label] = make_parameter(m, label)
            else:
                owner.attrs[label] = None
        owner.hidden["args"], owner.hidden["kwargs"] = list(args[1:]), dict(kwargs)
        for position, attr in enumerate(_POSITIONS.get(name, ())):
            value = args[position + 1] if len(args) > position + 1 else kwargs.get(attr, Unknown(plain=True))
            owner.attrs[attr] = value

    models(f"torch.nn.{name}", _BASE, __init__=init, forward=forward)


_POSITIONS = {
    "Linear": ("in_features", "out_features"),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "LSTM": ("input_size", "hidden_size", "num_layers"),
    "GRU": ("input_size", "hidden_size", "num_layers"),
    "RNN": ("input_size", "hidden_size", "num_layers"),
    "LSTMCell": ("input_size", "hidden_size"),
    "GRUCell": ("input_size", "hidden_size"),
    "RNNCell": ("input_size", "hidden_size"),
}


def _get(owner: Object, name: str) -> Any:
    return owner.attrs.get(name)


def _by_weight(op: str) -> Callable[..., Any]:
    def forward(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
        owner = args[0]
        x = args[1] if len(args) > 1 else next(iter(kwargs.values()), Unknown())
        weight, bias = _get(owner, "weight"), _get(owner, "bias")
        if op == "linear":
            return operate(m, "linear", [x, weight, bias], {})
        found = row(op)
        assert found is not None
        if op == "embedding":
            return apply_row(m, found, {"weight": weight, "indices": x})
        values = apply_row(m, found, dict(zip(found.inputs, [x, weight, bias], strict=False)))
        return values[0] if isinstance(values, tuple) else values

    return forward


for _name in ("Linear", "LazyLinear", "NonDynamicallyQuantizableLinear"):
    _layer(_name, "weight bias?bias", _by_weight("linear"))

for _name in ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv2d"):
    _layer(_name, "weight bias?bias", _by_weight("convolution"))

for _name in ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"):
    _layer(_name, "weight?affine bias?affine", _by_weight("batch_norm"))

for _name in ("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"):
    _layer(_name, "weight?-affine bias?-affine", _by_weight("batch_norm"))

_layer("GroupNorm", "weight?affine bias?affine", _by_weight("group_norm"))

_layer("LayerNorm", "weight?elementwise_affine bias?elementwise_affine", _by_weight("native_layer_norm"))

_layer("RMSNorm", "weight?elementwise_affine", _by_weight("rms_norm"))

_layer("Embedding", "weight", _by_weight("embedding"))

_layer("EmbeddingBag", "weight", _by_weight("embedding"))

_layer("PReLU", "weight", _by_weight("prelu"))


def _bilinear(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return operate(m, "einsum", [*args[1:], _get(args[0], "weight")], {})


_layer("Bilinear", "weight bias?bias", _bilinear)


def _together(m: Machine, owner: Object, values: list[Any], op: str = "recurrent") -> Any:
    tensors = [v for v in owner.attrs.values() if isinstance(v, Tensor) and v.is_param]
    return operate(m, op, [*values, *tensors], {})


def _recurrent(pair: bool) -> Callable[..., Any]:
    def forward(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
        out = _together(m, args[0], [*args[1:], *kwargs.values()])
        other = Tensor(out.needs, out.node) if isinstance(out, Tensor) else out
        third = Tensor(out.needs, out.node) if isinstance(out, Tensor) else out
        out = packed(out) if len(args) > 1 and isinstance(args[1], Packed) else out
        return (out, (other, third)) if pair else (out, other)

    return forward


def _cell(op: str, pair: bool) -> Callable[..., Any]:
    def forward(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
        out = _together(m, args[0], [*args[1:], *kwargs.values()], op)
        return (out, Tensor(out.needs, out.node) if isinstance(out, Tensor) else out) if pair else out

    return forward


for _name, _pair in (("LSTM", True), ("GRU", False), ("RNN", False)):
    _layer(_name, "weight_ih_l0 weight_hh_l0 bias_ih_l0?bias bias_hh_l0?bias", _recurrent(_pair))
    _layer(f"{_name}Cell", "weight_ih weight_hh bias_ih?bias bias_hh?bias", _cell(f"{_name.lower()}_cell", _pair))


def _attention(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    out = _together(
        m, args[0], [*args[1:4], *(v for k, v in kwargs.items() if k in ("query", "key", "value"))], "attention"
    )
    weights = Tensor(out.needs, out.node) if isinstance(out, Tensor) else out
    return out, (None if kwargs.get("need_weights") is False else weights)


def _transform(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return _together(
        m, args[0], [*args[1:3], *(v for k, v in kwargs.items() if k in ("src", "tgt", "memory"))], "attention"
    )


_layer("MultiheadAttention", "in_proj_weight in_proj_bias?bias out_proj", _attention)

for _name in (
    "TransformerEncoderLayer",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerDecoder",
    "Transformer",
):
    _layer(_name, "weight bias", _transform)


def _plain_layer(name: str, op: str) -> None:
    def forward(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
        owner, values = args[0], args[1:]
        words = dict(owner.hidden.get("kwargs", {}))
        positional = owner.hidden.get("args", [])
        inplace = words.get("inplace", positional[-1] if positional and positional[-1] is True else False)
        if op == "dropout":
            rate = words.get("p", positional[0] if positional else 0.5)
            if rate == 0 and not isinstance(rate, Unknown):
                return values[0] if values else Unknown()
            inplace = inplace is True and isinstance(rate, (int, float))
        if inplace is True and values and isinstance(values[0], Tensor):
            return operate_in_place(m, op, values[0], [], "")
        how = {k: v for k, v in words.items() if k in ("reduction", "reduce")} if op in REDUCES else {}
        return operate(m, op, list(values), {**how, **kwargs})

    _layer(name, "", forward)


_ACTIVATIONS = {
    "ReLU": "relu", "LeakyReLU": "leaky_relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "GELU": "gelu", "SiLU": "silu",
    "Softplus": "softplus", "ELU": "elu", "SELU": "elu", "CELU": "elu", "ReLU6": "hardtanh", "Hardtanh": "hardtanh",
    "Hardswish": "hardswish", "Mish": "mish", "LogSigmoid": "logsigmoid", "GLU": "glu", "Softmax": "softmax",
    "LogSoftmax": "log_softmax", "Softmax2d": "softmax", "Softmin": "softmax", "Softsign": "div", "Hardsigmoid":
    "hardtanh", "RReLU": "leaky_relu", "Threshold": "relu", "Tanhshrink": "tanh", "MaxPool1d": "max_pool",
    "MaxPool2d": "max_pool", "MaxPool3d": "max_pool", "AdaptiveMaxPool1d": "max_pool", "AdaptiveMaxPool2d": "max_pool",
    "AvgPool1d": "avg_pool", "AvgPool2d": "avg_pool", "AvgPool3d": "avg_pool", "AdaptiveAvgPool1d":
    "adaptive_avg_pool", "AdaptiveAvgPool2d": "adaptive_avg_pool", "AdaptiveAvgPool3d": "adaptive_avg_pool",
    "Flatten": "flatten", "Unflatten": "view", "Upsample": "interpolate", "UpsamplingNearest2d": "interpolate",
    "UpsamplingBilinear2d": "interpolate", "PixelShuffle": "view", "PixelUnshuffle": "view", "ZeroPad2d": "pad",
    "ReflectionPad1d": "pad", "ReflectionPad2d": "pad", "ReplicationPad2d": "pad", "ConstantPad1d": "pad",
    "ConstantPad2d": "pad", "Dropout": "dropout", "Dropout1d": "dropout", "Dropout2d": "dropout", "Dropout3d":
    "dropout", "AlphaDropout": "dropout", "Unfold": "index", "Fold": "index", "CosineSimilarity": "cosine_similarity",
    "PairwiseDistance": "pairwise_distance", "MSELoss": "mse_loss", "L1Loss": "l1_loss", "SmoothL1Loss":
    "smooth_l1_loss", "HuberLoss": "huber_loss", "CrossEntropyLoss": "cross_entropy", "NLLLoss": "nll_loss",
    "BCELoss": "binary_cross_entropy", "BCEWithLogitsLoss": "bce_with_logits", "KLDivLoss": "kl_div", "CTCLoss":
    "ctc_loss", "CosineEmbeddingLoss": "cosine_embedding_loss", "TripletMarginLoss": "triplet_margin_loss",
    "MarginRankingLoss": "margin_ranking_loss", "HingeEmbeddingLoss": "hinge_embedding_loss", "SoftMarginLoss":
    "mse_loss", "MultiLabelSoftMarginLoss": "bce_with_logits", "PoissonNLLLoss": "mse_loss", "GaussianNLLLoss":
    "mse_loss", "MultiMarginLoss": "multi_margin_loss", "NLLLoss2d": "nll_loss", "TripletMarginWithDistanceLoss":
    "triplet_margin_loss",
}  # fmt: skip

for _name, _op in _ACTIVATIONS.items():
    _plain_layer(_name, _op)

_layer("Identity", "", lambda m, args, kwargs: args[1] if len(args) > 1 else Unknown())


def _container(name: str, forward: Callable[..., Any] | None, named: bool = False) -> None:
    def init(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
        owner = args[0]
        given: Any = args[1] if len(args) > 1 else kwargs.get("modules", ())
        if named:
            owner.hidden["items"] = Dict(given if isinstance(given, dict) else {}, m.short)
            return
        if name == "Sequential":
            pairs = given.hidden.get("items") if isinstance(given, Object) else given
            if isinstance(pairs, dict):
                given = list(pairs.values())
                owner.hidden["names"] = list(map(str, pairs))
            elif len(args) > 1:
                given = List(v for v in args[1:] if not (isinstance(v, Unknown) and v.key == MORE))
                given.loose = len(given) < len(args) - 1
        box = List(depth=m.short)
        items = iterate(m, given) if not isinstance(given, tuple) or given else None
        if items is not None:
            box.loose = items.length is None
            for item in items:
                if isinstance(item, Unknown) and not name.startswith("Parameter"):
                    item.instance = True  # whatever it is, PyTorch takes nothing but modules
                box.append(item)
                if box.loose and len(box) >= (len(given) if isinstance(given, List) else 3):
                    break
        owner.hidden["items"] = box

    methods: dict[str, Any] = {"__init__": init}
    if forward is not None:
        methods["forward"] = forward
    models(f"torch.nn.{name}", _BASE, **methods)


def _in_turn(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    owner, value = args[0], args[1] if len(args) > 1 else Unknown()
    items = owner.hidden.get("items") or [v for v in owner.attrs.values() if is_module(v)]
    if not items and owner.loose:
        return Unknown(node=opaque(m, [value]))
    for item in items:
        value = m.call(item, [value], {})
    return value if not getattr(items, "loose", False) or isinstance(value, (Tensor, Unknown)) else Unknown()


_container("Sequential", _in_turn)

for _name in ("Rearrange", "Reduce"):
    models(
        f"einops.layers.torch.{_name}",
        _BASE,
        __init__=lambda m, args, kwargs: None,
        forward=lambda m, args, kwargs: computed(m, "?", args[1:], kwargs),
    )

_container("ModuleList", None)

_container("ParameterList", None)

_container("ModuleDict", None, named=True)

_container("ParameterDict", None, named=True)


@function("torch.nn.Parameter", "torch.nn.UninitializedParameter")
def _parameter(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Tensor:
    flag = m.known_truth(kwargs.get("requires_grad", args[1] if len(args) > 1 else True))
    made = make_parameter(m, "", flag)
    if args and isinstance(args[0], Tensor) and args[0].needs and m.grad and args[0].leaf is None:
        made.lost = m.engine.cut("wrap", args[0].name, m.place())
    return made


@function(
    "torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.DistributedDataParallel",
    "torch.compile", "torch.jit.script", "torch.nn.utils.spectral_norm", "torch.nn.utils.weight_norm",
    "torch.nn.utils.parametrizations.spectral_norm", "torch.nn.utils.parametrizations.weight_norm",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
)  # fmt: skip
def _wrapped(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    found = args[0] if args else next(iter(kwargs.values()), Unknown())
    if isinstance(found, Object):
        found.hidden["wrapped"] = True
    return found
