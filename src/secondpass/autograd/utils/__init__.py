# SPDX-License-Identifier: BSD-3-Clause
"""`torch.utils`."""

from . import checkpoint

__all__ = ["checkpoint"]
