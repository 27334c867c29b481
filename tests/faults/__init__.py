# SPDX-License-Identifier: BSD-3-Clause
"""A thousand faults: right programs, broken in known ways by a machine. docs/faults.md tells how."""
