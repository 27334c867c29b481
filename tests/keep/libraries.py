# SPDX-License-Identifier: BSD-3-Clause
"""Models that others wrote, from small configurations with their default settings and random weights."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import nn

transformers = pytest.importorskip("transformers")
logging.getLogger("transformers").setLevel(logging.ERROR)

WORDS = 64


def tokens(seed: int) -> torch.Tensor:
    return torch.randint(3, WORDS, (2, 12), generator=torch.Generator().manual_seed(seed))


def pixels(seed: int) -> torch.Tensor:
    return torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(seed))


def text_batch(seed: int) -> dict[str, Any]:
    return {"input_ids": tokens(seed), "labels": tokens(seed)}


def image_batch(seed: int) -> dict[str, Any]:
    return {"pixel_values": pixels(seed), "labels": torch.tensor([0, 1])}


def sound_batch(seed: int) -> dict[str, Any]:
    sound = torch.randn(2, 8, 32, generator=torch.Generator().manual_seed(seed))
    return {"input_features": sound, "labels": tokens(seed)}


@dataclass(frozen=True)
class Example:
    """One model: how it is made and called."""

    kind: str
    config: str
    settings: dict[str, Any]
    batch: Callable[[int], dict[str, Any]] = text_batch
    options: dict[str, Any] = field(default_factory=dict)

    def make(self) -> nn.Module:
        torch.manual_seed(0)
        config = getattr(transformers, self.config)(**self.settings)
        return getattr(transformers, self.kind)(config).train()

    def inputs(self, seed: int) -> dict[str, Any]:
        return {**self.batch(seed), **self.options}


_LLAMA = {
    "num_hidden_layers": 3, "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": WORDS,
}  # fmt: skip
_BERT = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64}
_STAGES = {"hidden_sizes": [8, 16, 16, 16], "depths": [1, 2, 2, 1]}
_TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 0}
_GPT2 = {"n_layer": 3, "n_embd": 32, "n_head": 4, "vocab_size": WORDS, "n_positions": 32}

EXAMPLES = {
    "gpt2": Example("GPT2LMHeadModel", "GPT2Config", {**_GPT2, "bos_token_id": 1, "eos_token_id": 2}),
    "llama": Example("LlamaForCausalLM", "LlamaConfig", _LLAMA),
    "mixtral": Example(
        "MixtralForCausalLM", "MixtralConfig", {**_LLAMA, "num_local_experts": 4},
        options={"output_router_logits": True},
    ),
    "qwen2-moe": Example(
        "Qwen2MoeForCausalLM", "Qwen2MoeConfig",
        {**_LLAMA, "num_experts": 4, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 32},
        options={"output_router_logits": True},
    ),
    "t5": Example(
        "T5ForConditionalGeneration", "T5Config",
        {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": WORDS, **_TOKENS},
    ),
    "bert": Example("BertForMaskedLM", "BertConfig", {**_BERT, "vocab_size": WORDS}),
    "vit": Example(
        "ViTForImageClassification", "ViTConfig", {**_BERT, "image_size": 32, "patch_size": 8}, image_batch
    ),
    "whisper": Example(
        "WhisperForConditionalGeneration", "WhisperConfig",
        {
            "vocab_size": WORDS, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
            "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "num_mel_bins": 8,
            "max_source_positions": 16, "max_target_positions": 16, "suppress_tokens": None,
            "begin_suppress_tokens": None, **_TOKENS,
        },
        sound_batch,
    ),
    "mamba": Example(
        "MambaForCausalLM", "MambaConfig",
        {"vocab_size": WORDS, "hidden_size": 32, "state_size": 4, "num_hidden_layers": 3},
    ),
    "resnet": Example(
        "ResNetForImageClassification", "ResNetConfig", {"embedding_size": 8, "layer_type": "basic", **_STAGES},
        image_batch,
    ),
    "regnet": Example(
        "RegNetForImageClassification", "RegNetConfig", {"embedding_size": 8, "groups_width": 8, **_STAGES}, image_batch
    ),
    "convnext": Example(
        "ConvNextForImageClassification", "ConvNextConfig", {"patch_size": 4, "drop_path_rate": 0.2, **_STAGES},
        image_batch,
    ),
    "swin": Example(
        "SwinForImageClassification", "SwinConfig",
        {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4},
        image_batch,
    ),
    "efficientnet": Example(
        "EfficientNetForImageClassification", "EfficientNetConfig",
        {"image_size": 32, "width_coefficient": 0.25, "depth_coefficient": 0.5, "hidden_dim": 320},
        image_batch,
    ),
}  # fmt: skip
