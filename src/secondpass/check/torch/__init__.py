# SPDX-License-Identifier: BSD-3-Clause
"""What PyTorch and the libraries around it do with the values of the interpreter."""
