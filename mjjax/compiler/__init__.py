"""Compiles a `Spec` to a `Model`: ids, poses, inertia, parameters and derived constants."""

from mjjax.compiler.common.fields import Compiled
from mjjax.compiler.compile import compile_spec
from mjjax.compiler.constants.set_const import set_const
from mjjax.compiler.copy_back import copy_back
from mjjax.compiler.load import compile_model

__all__ = [
    "Compiled",
    "compile_model",
    "compile_spec",
    "copy_back",
    "set_const",
]
