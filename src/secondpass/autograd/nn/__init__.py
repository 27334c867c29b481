# SPDX-License-Identifier: BSD-3-Clause
"""`torch.nn`: modules, layers, losses."""

from . import functional, utils
from .layers import *  # noqa: F403  all of them
from .layers import __all__ as _layers
from .modules import Module, ModuleDict, ModuleList, Parameter, Sequential

__all__ = [*_layers, "Module", "ModuleDict", "ModuleList", "Parameter", "Sequential", "functional", "utils"]
