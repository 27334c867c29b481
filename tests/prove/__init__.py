# SPDX-License-Identifier: BSD-3-Clause
"""Proof by many programs that the specification is PyTorch's rule book: `python -m tests.prove --count 10000`."""
