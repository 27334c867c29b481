# SPDX-License-Identifier: BSD-3-Clause
"""The machine put together: what Python's syntax means, and what PyTorch does with tensors and modules.

Expressions need calls, calls need statements, statements need expressions, and all of them need tensors: each asks the
machine, and here, above them all, the machine is given their functions as its methods.
"""

from __future__ import annotations

from ..interpreter import calls, expressions, generators, items, statements
from ..interpreter.machine import Machine
from . import (
    hooks,
    libraries,  # noqa: F401  (libraries must be known before the first import of a program is read)
    methods,
    module_memo,
    modules,
    optimizers,
    tensors,
    unread_calls,
    unread_networks,
)

__all__ = ["TorchMachine"]


class TorchMachine(Machine):
    """Reads programs that use PyTorch."""

    block = statements.block
    yields = generators.yields
    evaluate = expressions.evaluate
    assign = expressions.assign
    placed = expressions.placed
    make_function = expressions.make_function
    call = calls.call
    set_item = items.set_item

    call_external = unread_calls.call_external
    call_unknown = unread_calls.call_unknown
    operate = tensors.operate
    operate_in_place = tensors.operate_in_place
    tensor_element = tensors.element
    tensor_item = tensors.index
    set_tensor_item = tensors.put
    tensor_attribute = methods.tensor_attribute
    set_tensor_attribute = methods.set_tensor_attribute
    custom_function = methods.custom_function
    members = staticmethod(modules.members)
    named = staticmethod(modules.named)
    before_forward = hooks.before_forward
    after_forward = hooks.after_forward
    remembered = module_memo.remembered
    as_tensor = staticmethod(unread_networks.as_tensor)
    member = unread_networks.member
    part = unread_networks.part
    establish = unread_networks.establish
    name_optimizer = optimizers.name_optimizer
