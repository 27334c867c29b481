# SPDX-License-Identifier: BSD-3-Clause
"""What came of reading, and what of it is told."""
