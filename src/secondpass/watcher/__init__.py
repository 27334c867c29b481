# SPDX-License-Identifier: BSD-3-Clause
"""Watching a live PyTorch program: PyTorch -> Trace, and nothing else. Importing this package loads nothing."""
