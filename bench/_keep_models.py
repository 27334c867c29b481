# SPDX-License-Identifier: BSD-3-Clause
"""The models that are measured: from transformers' configurations with random weights, and some of PyTorch's layers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

Words = tuple[int, int]


@dataclass
class Subject:
    """A trunk, its input, and how its features come out: the last dimension is `width`."""

    trunk: nn.Module
    inputs: dict[str, Any]
    width: int
    features: Callable[[Any], torch.Tensor]
    switch: Callable[[bool], None]
    """Turns checkpointing on and off, as the library that the model comes from does it."""
    size: str


class Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.out(y.transpose(1, 2).reshape(batch, length, width)))
        return x + self.dropout(self.down(nn.functional.gelu(self.up(self.norm2(x)))))


class Chain(nn.Module):
    """Blocks in a row, each perhaps in a checkpoint."""

    def __init__(self, first: nn.Module, blocks: list[nn.Module], last: nn.Module) -> None:
        super().__init__()
        self.first, self.blocks, self.last = first, nn.ModuleList(blocks), last
        self.checkpointed = False

    def switch(self, on: bool) -> None:
        self.checkpointed = on

    def block(self, block: nn.Module, *args: Any) -> Any:
        return checkpoint(block, *args, use_reentrant=False) if self.checkpointed else block(*args)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for block in self.blocks:
            x = self.block(block, x)
        return self.last(x)


class Recurrent(nn.Module):
    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.lstm, self.dropout = nn.LayerNorm(width), nn.LSTM(width, width), nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.dropout(self.lstm(self.norm(x))[0])


class Residual(nn.Module):
    """As in diffusion models: GroupNorm, SiLU and convolution, twice."""

    def __init__(self, given: int, made: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, given), nn.Conv2d(given, made, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(8, made), nn.Conv2d(made, made, 3, padding=1)
        self.skip = nn.Conv2d(given, made, 1) if given != made else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv1(nn.functional.silu(self.norm1(x)))
        return self.skip(x) + self.conv2(nn.functional.silu(self.norm2(y)))


class UNet(Chain):
    def __init__(self, width: int, levels: int, depth: int) -> None:
        widths = [width * 2**level for level in range(levels)]
        downs, ups, channels, skips = [], [], width, [width]
        for level, made in enumerate(widths):
            for _ in range(depth):
                downs.append(Residual(channels, made))
                channels = made
                skips.append(made)
            if level < levels - 1:
                downs.append(nn.Conv2d(made, made, 3, stride=2, padding=1))
                skips.append(made)
        for level, made in reversed(list(enumerate(widths))):
            for _ in range(depth + 1):
                ups.append(Residual(channels + skips.pop(), made))
                channels = made
            if level:
                ups.append(nn.Upsample(scale_factor=2))
        super().__init__(nn.Conv2d(3, width, 3, padding=1), downs, nn.GroupNorm(8, width))
        self.ups = nn.ModuleList(ups)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        seen = [x]
        for block in self.blocks:
            x = self.block(block, x) if isinstance(block, Residual) else block(x)
            seen.append(x)
        for block in self.ups:
            x = self.block(block, torch.cat([x, seen.pop()], dim=1)) if isinstance(block, Residual) else block(x)
        return self.last(x)


def _words(shape: Words) -> torch.Tensor:
    return torch.randint(0, 256, shape)


def _last(out: Any) -> torch.Tensor:
    return out.last_hidden_state


def _channels_last(out: Any) -> torch.Tensor:
    return (out if isinstance(out, torch.Tensor) else out.last_hidden_state).movedim(1, -1)


def _itself(out: torch.Tensor) -> torch.Tensor:
    return out


def _library(kind: str, config: str, **settings: Any) -> tuple[nn.Module, Callable[[bool], None]]:
    import transformers

    logging.getLogger("transformers").setLevel(logging.ERROR)
    model = getattr(transformers, kind)(getattr(transformers, config)(**settings)).train()

    def switch(on: bool) -> None:
        if on:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        else:
            model.gradient_checkpointing_disable()

    return model, switch


def transformer(small: bool, batch: int, shape: tuple[int, int, int]) -> Subject:
    layers, width, length = shape
    blocks: list[nn.Module] = [Block(width, max(1, width // 64), 0.1) for _ in range(layers)]
    model = Chain(nn.Embedding(256, width), blocks, nn.LayerNorm(width))
    size = f"{layers} layers of width {width}, {batch} x {length} tokens"
    return Subject(model, {"x": _words((batch, length))}, width, _itself, model.switch, size)


def gpt2(small: bool, batch: int, shape: tuple[int, int, int]) -> Subject:
    layers, width, length = shape
    settings = {"n_layer": layers, "n_embd": width, "n_head": max(1, width // 64), "n_positions": length}
    model, switch = _library("GPT2Model", "GPT2Config", **settings, **({"vocab_size": 256} if small else {}))
    size = f"GPT2Model, {layers} layers of width {width}, {batch} x {length} tokens"
    return Subject(model, {"input_ids": _words((batch, length))}, width, _last, switch, size)


def llama(small: bool, batch: int, shape: tuple[int, int, int]) -> Subject:
    layers, width, length = shape
    model, switch = _library(
        "LlamaModel", "LlamaConfig", num_hidden_layers=layers, hidden_size=width, intermediate_size=width * 11 // 4,
        num_attention_heads=max(1, width // 64), num_key_value_heads=max(1, width // 128), vocab_size=1024,
    )  # fmt: skip
    size = f"LlamaModel, {layers} layers of width {width}, {batch} x {length} tokens"
    return Subject(model, {"input_ids": _words((batch, length))}, width, _last, switch, size)


def vit(small: bool, batch: int, shape: tuple[int, int, int]) -> Subject:
    layers, width, side = shape
    model, switch = _library(
        "ViTModel", "ViTConfig", num_hidden_layers=layers, hidden_size=width, intermediate_size=4 * width,
        num_attention_heads=max(1, width // 64), image_size=side, patch_size=8 if small else 16,
    )  # fmt: skip
    size = f"ViTModel, {layers} layers of width {width}, {batch} images of {side}"
    return Subject(model, {"pixel_values": torch.randn(batch, 3, side, side)}, width, _last, switch, size)


def resnet(small: bool, batch: int, shape: tuple[int, int, int]) -> Subject:
    depth, width, side = shape
    depths = [depth] * 4 if small else [3, 4, 6, 3]
    sizes = [width * 2**level for level in range(4)]
    settings = {"depths": depths, "hidden_sizes": sizes, "embedding_size": width if small else 64}
    model, _ = _library("ResNetModel", "ResNetConfig", **settings, layer_type="basic" if small else "bottleneck")
    layers = [layer for stage in model.encoder.stages for layer in stage.layers]

    def switch(on: bool) -> None:  # this model has no switch of its own: by layer, as others have it
        for layer in layers:
            vars(layer).pop("forward", None)
            if on:
                plain = layer.forward
                layer.forward = lambda x, plain=plain: checkpoint(plain, x, use_reentrant=False)

    size = f"ResNetModel {depths}, {batch} images of {side}"
    inputs = {"pixel_values": torch.randn(batch, 3, side, side)}
    return Subject(model, inputs, sizes[-1], _channels_last, switch, size)


def unet(small: bool, batch: int, shape: tuple[int, int, int]) -> Subject:
    depth, width, side = shape
    model = UNet(width, 3, depth)
    size = f"U-Net of width {width}, 3 levels of {depth} blocks, {batch} images of {side}"
    return Subject(model, {"x": torch.randn(batch, 3, side, side)}, width, _channels_last, model.switch, size)


def lstm(small: bool, batch: int, shape: tuple[int, int, int]) -> Subject:
    layers, width, length = shape
    model = Chain(nn.Embedding(256, width), [Recurrent(width, 0.1) for _ in range(layers)], nn.LayerNorm(width))
    size = f"{layers} LSTM layers of width {width}, {length} steps of {batch}"
    return Subject(model, {"x": _words((length, batch))}, width, _itself, model.switch, size)


Shape = tuple[int, tuple[int, int, int]]
MODELS: dict[str, tuple[Callable[..., Subject], Shape, Shape]] = {
    "transformer": (transformer, (2, (12, 256, 128)), (32, (12, 768, 1024))),
    "gpt2": (gpt2, (2, (12, 192, 128)), (16, (12, 768, 1024))),
    "llama": (llama, (2, (12, 192, 128)), (4, (16, 2048, 1024))),
    "vit": (vit, (4, (12, 192, 64)), (128, (12, 768, 224))),
    "resnet": (resnet, (16, (3, 16, 64)), (128, (0, 256, 224))),
    "unet": (unet, (4, (2, 32, 32)), (32, (2, 128, 64))),
    "lstm": (lstm, (8, (6, 192, 48)), (128, (6, 1024, 256))),
}
"""How each is made; its batch and shape on a CPU and on a GPU."""


def make(name: str, device: str, batch: int | None = None, shape: tuple[int, int, int] | None = None) -> Subject:
    build, on_cpu, on_gpu = MODELS[name]
    usual_batch, usual = on_cpu if device == "cpu" else on_gpu
    torch.manual_seed(0)
    found = build(device == "cpu", batch or usual_batch, shape or usual)
    found.trunk.to(device).train()
    found.inputs = {key: value.to(device) for key, value in found.inputs.items()}
    return found
