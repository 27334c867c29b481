# SPDX-License-Identifier: BSD-3-Clause
"""How many bytes, and what is held within them."""
