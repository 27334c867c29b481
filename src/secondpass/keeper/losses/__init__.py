# SPDX-License-Identifier: BSD-3-Clause
"""Several losses over one forward, and windows over time."""
