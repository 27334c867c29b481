# SPDX-License-Identifier: BSD-3-Clause
"""Is a repair right? The repaired program is run, and its passes and steps are held against those of the broken one."""
