# SPDX-License-Identifier: BSD-3-Clause
"""Which files there are to read, and what stands in them."""
