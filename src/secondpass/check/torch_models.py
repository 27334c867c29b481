# SPDX-License-Identifier: BSD-3-Clause
"""Everything that is known of libraries: importing it registers the models."""

from . import (  # noqa: F401
    catalogue,
    data,
    frameworks,
    huggingface,
    layers,
    lightning,
    optimizers,
    python_models,
    python_types,
    stateless,
    torch_functions,
)

__all__: list[str] = []
