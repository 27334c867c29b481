# SPDX-License-Identifier: BSD-3-Clause
"""Computing saved tensors again from what a forward wrote down."""
