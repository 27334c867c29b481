# SPDX-License-Identifier: BSD-3-Clause
"""Everything that is known of libraries: importing it registers the models."""

from ..interpreter import python_models, python_types  # noqa: F401
from . import (  # noqa: F401
    catalogue,
    data,
    frameworks,
    functions,
    huggingface,
    ignite,
    layers,
    lightning,
    optimizers,
    stateless,
    trees,
)

__all__: list[str] = []
