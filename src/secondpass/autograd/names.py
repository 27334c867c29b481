# SPDX-License-Identifier: BSD-3-Clause
"""Every name of the package's top level, gathered on first use."""

from __future__ import annotations

import math
from typing import Any

from . import api, creation, functions, methods, products, state, tensors, tracing
from . import random as random_
from .dtypes import ALIASES, ALL, device, dtype, get_default_dtype, set_default_dtype
from .namespaces import tensors as rows

_BOUND = methods.METHODS  # tensors have their methods once that module has been imported
_GATHERED: dict[str, Any] = {
    **api.FUNCTIONS,
    **{name: getattr(creation, name) for name in creation.__all__},
    **{name: getattr(state, name) for name in state.__all__ if name not in ("state", "Listener")},
    **ALL,
    **{name: ALL[kind] for name, kind in ALIASES.items()},
    "Tensor": tensors.Tensor,
    "Size": tensors.Size,
    "device": device,
    "dtype": dtype,
    "get_default_dtype": get_default_dtype,
    "set_default_dtype": set_default_dtype,
    "manual_seed": random_.manual_seed,
    "Generator": random_.Generator,
    "cat": functions.joined,
    "concat": functions.joined,
    "stack": functions.stack,
    "where": functions.where,
    "einsum": products.einsum,
    "trace": tracing.trace,
    "set_num_threads": lambda count: None,
    "is_grad_enabled": state.is_grad_enabled,
    "strided": "strided",
    "index_put": rows.index_put,
    "pi": math.pi,
    "inf": math.inf,
    "nan": math.nan,
    "e": math.e,
}
globals().update(_GATHERED)

__all__ = sorted(_GATHERED)  # pyright: ignore
