# SPDX-License-Identifier: BSD-3-Clause
"""Everything that is known of libraries: importing it registers the models."""

from . import data, frameworks, huggingface, layers, lightning, optimizers, python_models, torch_functions

__all__: list[str] = []

_MODELS = (data, frameworks, huggingface, layers, lightning, optimizers, python_models, torch_functions)
