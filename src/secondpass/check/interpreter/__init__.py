# SPDX-License-Identifier: BSD-3-Clause
"""What Python code does, over values that may be unknown."""
