"""A model loader for vLLM: verified tensors from a file of any format that zten reads.

vLLM finds :func:`register` by its entry point, and calls it in each of its processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zten
from vllm.model_executor.model_loader import register_model_loader
from vllm.model_executor.model_loader.base_loader import BaseModelLoader

if TYPE_CHECKING:
    import torch

_OPTIONS = {"file", "digests", "dequantize", "limits", "skip"}
"""The keys of ``model_loader_extra_config``. ``README.md`` describes them."""

_PATTERNS = ["*.zt", "*.safetensors", "*.safetensors.index.json", "*.gguf"]
"""The files of a model on a hub that are downloaded. PyTorch checkpoints are read only if ``file`` names one."""


class ZtenModelLoader(BaseModelLoader):  # type: ignore[misc, unused-ignore]
    """Loads the weights of a model from a file that zten reads. The header is validated before the first tensor is read, and each
    tensor that has a digest is compared with it before the model gets the tensor."""

    def __init__(self, load_config: Any) -> None:
        super().__init__(load_config)
        options = load_config.model_loader_extra_config or {}
        if not isinstance(options, Mapping) or options.keys() - _OPTIONS:
            raise ValueError(f"model_loader_extra_config is {options!r}, expected a mapping with keys of {sorted(_OPTIONS)}")
        if isinstance(options.get("skip"), str):
            # A single text would be taken for a list of its characters, and one of them often is "*", which matches all
            # names.
            raise ValueError(f"skip is {options['skip']!r}, expected a list of patterns")
        self._options = dict(options)

    def download_model(self, model_config: Any) -> None:
        """Downloads the files of a model on the Hugging Face hub. A local model is only looked for."""
        self._path(model_config)

    def load_weights(self, model: Any, model_config: Any) -> None:
        """Loads all weights into ``model``, whose own ``load_weights`` takes names and tensors.

        Raises:
            zten.Error: the file breaks a rule, or a tensor differs from its digest. The tensors before it have been loaded.
            ValueError: the file lacks a parameter of the model. This is not checked for a quantized model, and if the model does
                not say what it has loaded.
        """
        options = self._options
        path, limits, digests = self._path(model_config), options.get("limits"), options.get("digests")
        with zten.open(path, limits=limits, digests=digests) as file:
            loaded = model.load_weights(self._weights(file))
        # Models that quantize while they load, or do not keep a record, return None.
        if loaded is not None and getattr(model_config, "quantization", None) is None:
            missing = {name for name, _ in model.named_parameters()} - set(loaded) - _optional(model)
            if missing:
                raise ValueError(f"{path} lacks {len(missing)} parameters of the model, such as {min(missing)!r}")

    def _weights(self, file: zten.File) -> Iterator[tuple[str, torch.Tensor]]:
        """Yields the name and the verified content of each tensor that no pattern of ``skip`` matches, one after another, so that
        one tensor at a time is in memory twice. Quantized tensors are dequantized if the option ``dequantize`` says so."""
        dequantize = self._options.get("dequantize")
        skipped = self._options.get("skip", [])
        for name, tensor in file.items():
            if any(fnmatchcase(name, pattern) for pattern in skipped):
                continue
            if tensor.quantization is not None and dequantize:
                yield name, tensor.dequantize().torch(dtype="f32" if dequantize is True else dequantize)
            else:
                yield name, tensor.torch()

    def _path(self, model_config: Any) -> str:
        """Returns the path of the model: a file, or a folder with one model. Models that are not on this machine are downloaded."""
        model, file = model_config.model, self._options.get("file")
        if not os.path.exists(model):
            from huggingface_hub import snapshot_download

            model = snapshot_download(
                model,
                revision=getattr(model_config, "revision", None),
                cache_dir=self.load_config.download_dir,
                allow_patterns=[file] if file else _PATTERNS,
            )
        return str(Path(model, file) if file else model)


def _optional(model: Any) -> set[str]:
    """Returns the names of the parameters that a checkpoint may lack: those of modules that make them after loading, such as the
    scales of a quantized cache. vLLM's own loader leaves them out of its check, too."""
    names = set()
    for prefix, module in model.named_modules():
        method = getattr(module, "quant_method", None)
        if hasattr(method, "process_weights_after_loading") or getattr(method, "uses_meta_device", False):
            names |= {f"{prefix}.{name}" if prefix else name for name, _ in module.named_parameters()}
    return names


def register() -> None:
    """Registers the loader under the name ``zten``: ``load_format="zten"``."""
    register_model_loader("zten")(ZtenModelLoader)
