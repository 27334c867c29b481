# SPDX-License-Identifier: BSD-3-Clause
"""Saved tensors: in the graph, on the device, as bits, on the host."""
