# SPDX-License-Identifier: BSD-3-Clause
"""Every name of the package's top level, gathered on first use."""

from __future__ import annotations

import math
from typing import Any

from . import creation, products, thread_state
from .dtypes import ALIASES, ALL, device, dtype
from .functions import FUNCTIONS, JOINS
from .methods import Tensor
from .random import Generator, manual_seed
from .tensors import Size
from .tracing import Trace

NAMES: dict[str, Any] = {
    **FUNCTIONS,
    **JOINS,
    **{n: getattr(home, n) for home in (creation, products, thread_state) for n in home.__all__},
    **ALL,
    **{name: ALL[kind] for name, kind in ALIASES.items()},
    "Tensor": Tensor,
    "Size": Size,
    "device": device,
    "dtype": dtype,
    "manual_seed": manual_seed,
    "Generator": Generator,
    "trace": Trace,
    "set_num_threads": lambda count: None,
    **{name: getattr(math, name) for name in ("pi", "inf", "nan", "e")},
}
