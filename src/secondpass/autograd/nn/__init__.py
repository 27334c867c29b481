# SPDX-License-Identifier: BSD-3-Clause
"""Modules"""
from . import functional
