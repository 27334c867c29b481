# SPDX-License-Identifier: BSD-3-Clause
"""Libraries by dotted name: which names are classes that are modelled, which functions are known, which are harmless."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

from .values import Class, External, Native

__all__ = ["CLASSES", "FUNCTIONS", "builtin", "external", "function", "is_harmless", "library_class", "models"]

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""Dotted name -> `act(machine, args, kwargs)`."""

CLASSES: dict[str, Class] = {}
"""Dotted name -> the class that stands for it."""

_BUILTINS = frozenset(dir(builtins))

_HARMLESS = frozenset(
    "numpy scipy pandas matplotlib seaborn sklearn PIL cv2 skimage tqdm wandb tensorboard tensorboardX yaml requests "
    "h5py gym gymnasium nltk spacy rich colorama termcolor psutil GPUtil omegaconf absl fire click tabulate visdom "
    "mlflow comet_ml neptune imageio plotly joblib numba networkx librosa soundfile sacrebleu rouge simplejson ujson "
    "dill cloudpickle attr attrs loguru easydict prettytable six natsort pytest mujoco_py dm_control pybullet "
    "torchsummary torchinfo thop fvcore ptflops torchviz sentencepiece tokenizers datasets".split()
)

_ALIASES = {
    "torch.functional": "torch",
    "torch.nn.modules.linear": "torch.nn",
    "torch.nn.modules.conv": "torch.nn",
    "torch.nn.modules.loss": "torch.nn",
    "torch.nn.modules": "torch.nn",
    "torch.nn.parameter": "torch.nn",
    "torch.optim.optimizer": "torch.optim",
    "torch.optim.adam": "torch.optim",
    "torch.optim.sgd": "torch.optim",
    "torch.autograd.function": "torch.autograd",
    "torch.autograd.variable": "torch.autograd",
    "torch.utils.data.dataloader": "torch.utils.data",
    "torch.utils.data.dataset": "torch.utils.data",
    "torch.utils.data.sampler": "torch.utils.data",
    "torch.distributions.categorical": "torch.distributions",
    "torch.distributions.normal": "torch.distributions",
    "torch._tensor": "torch",
    "collections.abc": "typing",
    "pytorch_lightning.core.lightning": "pytorch_lightning",
    "pytorch_lightning.callbacks": "pytorch_lightning",
    "lightning.pytorch.callbacks": "pytorch_lightning",
    "lightning.pytorch": "pytorch_lightning",
    "lightning": "pytorch_lightning",
    "lightning.fabric": "pytorch_lightning",
    "lightning_fabric": "pytorch_lightning",
    "ignite.engine.engine": "ignite.engine",
    "ignite.engine.events": "ignite.engine",
    "transformers.trainer": "transformers",
    "transformers.trainer_seq2seq": "transformers",
    "transformers.modeling_utils": "transformers",
    "torch.cuda.amp.grad_scaler": "torch.cuda.amp",
    "torch.nn.parallel.distributed": "torch.nn.parallel",
}
_NAMES = {
    "torch.no_grad": "torch.no_grad",
    "torch.autograd.no_grad": "torch.no_grad",
    "torch.autograd.grad_mode.no_grad": "torch.no_grad",
    "torch.Tensor.backward": "torch.autograd.backward",
    "numpy.random": "numpy.random",
    "tqdm.auto": "tqdm",
    "tqdm.notebook": "tqdm",
    "tqdm.autonotebook": "tqdm",
}
_PACKAGES = (
    "torch.nn.utils",
    "torch.nn",
    "torch.optim",
    "torch.utils.data",
    "torch.distributions",
    "torch.autograd",
)
"""Packages that have the names of the modules below them: `torch.nn.modules.module.Module` is `torch.nn.Module`."""


def builtin(name: str) -> Any:
    """A built-in name, or None."""
    return External(f"builtins.{name}") if name in _BUILTINS else None


def external(name: str) -> External:
    """A dotted name of a library, under its usual name."""
    name = _NAMES.get(name, name)
    head, _, tail = name.rpartition(".")
    if name in _ALIASES:
        name = _ALIASES[name]
    elif head in _ALIASES:
        name = f"{_ALIASES[head]}.{tail}"
    elif name not in CLASSES and name not in FUNCTIONS:
        for package in _PACKAGES:
            usual = f"{package}.{tail}"
            if head.startswith(package) and (usual in CLASSES or usual in FUNCTIONS):
                name = usual
    return External(name)


_STANDARD = frozenset(
    "math cmath time os sys random json re datetime logging string pathlib shutil glob argparse typing warnings statistics "
    "struct socket platform uuid hashlib csv io textwrap subprocess tempfile pprint traceback secrets decimal fractions "
    "numbers calendar locale gc getpass signal urllib zipfile tarfile gzip bisect cProfile timeit codecs base64 getopt "
    "configparser enum abc typing_extensions unicodedata difflib html http inspect".split()
)
_OPEN = frozenset("builtins.eval builtins.exec builtins.compile".split())


def is_harmless(name: str) -> bool:
    """Whether code of that library leaves graphs, gradients and parameters alone and gives back plain values."""
    top = name.partition(".")[0]
    return (top in _HARMLESS or top in _STANDARD or top == "builtins") and name not in _OPEN


def is_library(name: str) -> bool:
    """Whether a name belongs to the standard library, which never trains anything itself."""
    return name.partition(".")[0] in sys.stdlib_module_names


def function(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers what a library function does."""

    def register(act: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            FUNCTIONS[name] = act
        return act

    return register


def models(name: str, *bases: str, **methods: Callable[..., Any]) -> Class:
    """Registers a class that stands for one of a library; methods are `act(machine, [self, *args], kwargs)`."""
    made = Class(name.rpartition(".")[2], [CLASSES[b] for b in bases], None, name)
    made.attrs = {n: Native(n, act) for n, act in methods.items()}
    CLASSES[name] = made
    return made


def library_class(name: str) -> Class | None:
    """The class that stands for a library class."""
    found = CLASSES.get(name)
    if found is not None:
        return found
    if name.startswith("builtins.") and (
        name.endswith(("Error", "Exception", "Warning")) or name == "builtins.KeyboardInterrupt"
    ):
        return models(name)
    return None
