# SPDX-License-Identifier: BSD-3-Clause
"""More models that others wrote, each with something that the others do not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from libraries import WORDS, Example, image_batch, pixels, text_batch, tokens, transformers

_SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
_BERT = {**_SIZES, "vocab_size": WORDS, "max_position_embeddings": 64, "pad_token_id": 0}
_LLAMA = {**_BERT, "num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2}
_CODERS = {
    "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "d_model": 32,
}  # fmt: skip
_BART = {
    **_CODERS, "vocab_size": WORDS, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "decoder_start_token_id": 0, "forced_eos_token_id": None,
}  # fmt: skip
_IMAGE = {**_SIZES, "image_size": 32, "patch_size": 8}
_SERIES = {**_CODERS, "prediction_length": 4, "context_length": 8, "lags_sequence": [1, 2], "num_time_features": 2}
_EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 16}
_HEADS = {"q_lora_rank": 16, "kv_lora_rank": 8, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}


def _noise(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _padded(seed: int) -> dict[str, Any]:
    mask = torch.ones(2, 12, dtype=torch.long)
    mask[1, 8:] = 0
    return {**text_batch(seed), "attention_mask": mask}


def _pair(seed: int) -> dict[str, Any]:
    return {"input_ids": tokens(seed), "pixel_values": pixels(seed), "return_loss": True}


def _sound(seed: int) -> dict[str, Any]:
    return {"input_values": _noise(seed, 2, 640), "labels": tokens(seed)[:, :5]}


def _film(seed: int) -> dict[str, Any]:
    return {"pixel_values": _noise(seed, 2, 4, 3, 16, 16), "labels": torch.tensor([0, 1])}


def _map(seed: int) -> dict[str, Any]:
    return {"pixel_values": pixels(seed), "labels": torch.arange(2 * 32 * 32).reshape(2, 32, 32) % 4}


def _wave(seed: int) -> dict[str, Any]:
    return {"input_values": _noise(seed, 1, 1, 320)}


def _series(seed: int) -> dict[str, Any]:
    return {
        "past_values": _noise(seed, 2, 10).abs(), "past_time_features": _noise(seed, 2, 10, 2),
        "past_observed_mask": torch.ones(2, 10), "future_values": _noise(seed, 2, 4).abs(),
        "future_time_features": _noise(seed, 2, 4, 2),
    }  # fmt: skip


def _of(kind: str, settings: dict[str, Any], batch: Callable[[int], dict[str, Any]] = text_batch) -> Example:
    config = next(base.config_class for base in getattr(transformers, kind).__mro__ if hasattr(base, "config_class"))
    return Example(kind, config.__name__, settings, batch)


MORE = {
    example.kind: example
    for example in (
        _of("OPTForCausalLM", {**_BERT, "ffn_dim": 64, "word_embed_proj_dim": 16, "layerdrop": 0.2}),
        _of("BloomForCausalLM", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": WORDS}),
        _of("FalconForCausalLM", {**_LLAMA, "alibi": True, "hidden_dropout": 0.1}, _padded),
        _of("Gemma2ForCausalLM", {**_LLAMA, "head_dim": 8, "sliding_window": 8}),
        _of("PhiForCausalLM", _LLAMA, _padded),
        _of("GptOssForCausalLM", {**_LLAMA, "head_dim": 8, "num_local_experts": 4, "sliding_window": 4}),
        _of(
            "DeepseekV3ForCausalLM",
            {
                **_LLAMA, **_HEADS, **_EXPERTS, "num_key_value_heads": 4, "n_routed_experts": 4, "n_group": 2,
                "topk_group": 1, "first_k_dense_replace": 1,
            },
        ),
        _of("JambaForCausalLM", {**_LLAMA, "attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 4}),
        _of("RwkvForCausalLM", {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": WORDS, "context_length": 32}),
        _of("XLNetLMHeadModel", {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64, "vocab_size": WORDS}),
        _of("DebertaV2ForMaskedLM", {**_BERT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
        _of("AlbertForMaskedLM", {**_BERT, "embedding_size": 16, "hidden_dropout_prob": 0.1}),
        _of("FNetForMaskedLM", {key: size for key, size in _BERT.items() if key != "num_attention_heads"}),
        _of("BartForConditionalGeneration", {**_BART, "encoder_layerdrop": 0.2}),
        _of("LEDForConditionalGeneration", {**_BART, "attention_window": 4, "max_encoder_position_embeddings": 64}),
        _of("LongformerForMaskedLM", {**_BERT, "attention_window": 4}),
        _of("CLIPModel", {"text_config": {**_BERT, "eos_token_id": 2}, "vision_config": _IMAGE}, _pair),
        _of(
            "Wav2Vec2ForCTC",
            {
                **_SIZES, "vocab_size": WORDS, "conv_dim": (8, 8), "conv_stride": (4, 4), "conv_kernel": (8, 4),
                "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4, "mask_time_length": 4,
                "layerdrop": 0.2,
            },
            _sound,
        ),
        _of("BeitForImageClassification", {**_IMAGE, "use_relative_position_bias": True}, image_batch),
        _of("VideoMAEForVideoClassification", {**_IMAGE, "image_size": 16, "num_frames": 4}, _film),
        _of("TimeSeriesTransformerForPrediction", _SERIES, _series),
        _of(
            "RecurrentGemmaForCausalLM",
            {**_LLAMA, "num_hidden_layers": 3, "attention_window_size": 4, "lru_width": 32},
        ),
        _of(
            "Qwen3NextForCausalLM",
            {
                **_LLAMA, **_EXPERTS, "layer_types": ["linear_attention", "full_attention"], "head_dim": 8,
                "linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_num_key_heads": 2,
                "linear_num_value_heads": 4, "num_experts": 4, "shared_expert_intermediate_size": 16,
            },
        ),
        _of(
            "SwitchTransformersForConditionalGeneration",
            {
                "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 4,
                "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1, "num_experts": 4, "expert_capacity": 8,
                "vocab_size": WORDS, "pad_token_id": 0, "decoder_start_token_id": 0,
            },
        ),
        _of(
            "SegformerForSemanticSegmentation",
            {
                "hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2],
                "decoder_hidden_size": 16, "num_labels": 4,
            },
            _map,
        ),
        _of(
            "EncodecModel",
            {
                "num_filters": 4, "hidden_size": 16, "codebook_size": 8, "codebook_dim": 16, "upsampling_ratios": [4, 2],
                "num_lstm_layers": 1, "target_bandwidths": [24.0],
            },
            _wave,
        ),
        _of("AutoformerForPrediction", {**_SERIES, "label_length": 4, "moving_average": 3}, _series),
    )
}  # fmt: skip
