"""Tests of the model loader for vLLM in ``examples/vllm``, with a stand-in for the interface that vLLM documents."""

from __future__ import annotations

import importlib
import sys
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import corpus
import numpy as np
import pytest

import zten

torch: Any = pytest.importorskip("torch")

EXAMPLE = corpus.CORPUS.parent / "examples/vllm"

LOADERS: dict[str, type] = {}


class BaseModelLoader(ABC):
    """A stand-in for the base class of model loaders in vLLM, with the methods that vLLM documents."""

    def __init__(self, load_config: Any) -> None:
        self.load_config = load_config

    @abstractmethod
    def download_model(self, model_config: Any) -> None: ...

    @abstractmethod
    def load_weights(self, model: Any, model_config: Any) -> None: ...

    def load_model(self, vllm_config: Any, model_config: Any) -> Any:
        model = vllm_config.create()
        self.load_weights(model, model_config)
        return model.eval()


def register_model_loader(load_format: str) -> Callable[[type], type]:
    def registered(loader: type) -> type:
        if not issubclass(loader, BaseModelLoader):
            raise ValueError("the loader is not a BaseModelLoader")
        LOADERS[load_format] = loader
        return loader

    return registered


class Model(torch.nn.Module):  # type: ignore[misc, name-defined, valid-type, unused-ignore]
    """A model that joins two tensors of the checkpoint into one parameter, as models of vLLM do."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(8, 4)
        self.qk = torch.nn.Linear(4, 8, bias=False)

    def load_weights(self, weights: Iterable[tuple[str, Any]]) -> set[str]:
        loaded = set()
        for name, tensor in weights:
            if name in ("q.weight", "k.weight"):
                start = 0 if name == "q.weight" else 4
                self.qk.weight.data[start : start + 4].copy_(tensor)
                loaded.add("qk.weight")
            else:
                self.get_parameter(name).data.copy_(tensor)
                loaded.add(name)
        return loaded


ARRAYS: dict[str, Any] = {
    "embed.weight": np.arange(32, dtype=np.float32).reshape(8, 4),
    "q.weight": np.full((4, 4), 2, np.float32),
    "k.weight": np.full((4, 4), 3, np.float32),
}


@pytest.fixture
def loader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Registers zten's loader through its entry point, as vLLM does, and yields a function that creates a loader from its options."""
    for name in ("vllm", "vllm.model_executor", "vllm.model_executor.model_loader", "vllm.model_executor.model_loader.base_loader"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(sys.modules["vllm.model_executor.model_loader"], "register_model_loader", register_model_loader, raising=False)
    monkeypatch.setattr(
        sys.modules["vllm.model_executor.model_loader.base_loader"], "BaseModelLoader", BaseModelLoader, raising=False
    )
    monkeypatch.syspath_prepend(str(EXAMPLE))
    points = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]["vllm.general_plugins"]
    module, function = points["zten"].split(":")
    LOADERS.clear()
    getattr(importlib.import_module(module), function)()

    def make(**options: Any) -> Any:
        return LOADERS["zten"](SimpleNamespace(model_loader_extra_config=options, download_dir=None))

    yield make
    sys.modules.pop(module, None)


def config(path: Path | str, **more: Any) -> Any:
    return SimpleNamespace(model=str(path), revision=None, quantization=None, **more)


def loaded(loader: Any, path: Path | str) -> Any:
    model = loader.load_model(SimpleNamespace(create=Model), config(path))
    assert torch.equal(model.embed.weight, torch.from_numpy(ARRAYS["embed.weight"]))
    assert model.qk.weight[:4].eq(2).all() and model.qk.weight[4:].eq(3).all()
    return model


@pytest.mark.parametrize("name", ["model.safetensors", "model.zt"])
def test_weights_are_loaded_from_a_folder_and_from_a_file(name: str, loader: Any, tmp_path: Path) -> None:
    zten.numpy.save_file(ARRAYS, tmp_path / name)
    (tmp_path / "config.json").write_text("{}")
    loaded(loader(), tmp_path)
    loaded(loader(file=name), tmp_path)
    loaded(loader(), tmp_path / name)
    loader().download_model(config(tmp_path))


def test_a_damaged_tensor_is_not_loaded(loader: Any, tmp_path: Path) -> None:
    for name, how in (("model.zt", {}), ("model.safetensors", {"digests": str(tmp_path / "model.digests")})):
        path = tmp_path / name
        zten.numpy.save_file(ARRAYS, path)
        (tmp_path / "model.digests").write_text(zten.hash(path).text)
        loaded(loader(file=name, **how), tmp_path)
        with zten.open(path) as file:
            offset = file["k.weight"].components["data"].offset
        with path.open("r+b") as opened:
            opened.seek(offset)
            opened.write(b"\1")
        model = Model()
        with pytest.raises(zten.Invalid, match=r"k\.weight"):
            loader(file=name, **how).load_weights(model, config(tmp_path))
        assert not model.qk.weight[4:].eq(3).any()


def test_a_missing_parameter_is_an_error(loader: Any, tmp_path: Path) -> None:
    zten.numpy.save_file({"q.weight": ARRAYS["q.weight"]}, tmp_path / "model.zt")
    with pytest.raises(ValueError, match=r"lacks 1 parameters of the model, such as 'embed\.weight'"):
        loader().load_weights(Model(), config(tmp_path))
    # A layer with this method may create parameters after loading, which no file has. Like vLLM's own loader, zten's
    # loader does not require them.
    model = Model()
    model.embed.quant_method = SimpleNamespace(process_weights_after_loading=None)
    with pytest.raises(ValueError, match=r"lacks 1 parameters of the model, such as 'qk\.weight'"):
        zten.numpy.save_file({}, tmp_path / "model.zt")
        loader().load_weights(model, config(tmp_path))
    model.qk.quant_method = SimpleNamespace(uses_meta_device=True)
    loader().load_weights(model, config(tmp_path))
    # A model that is quantized while it is loaded has parameters that no file has, so none are required.
    loader().load_weights(Model(), SimpleNamespace(model=str(tmp_path), quantization="fp8"))


def test_names_are_skipped(loader: Any, tmp_path: Path) -> None:
    zten.numpy.save_file({**ARRAYS, "rotary.inv_freq": np.ones(3, np.float32)}, tmp_path / "model.zt")
    loaded(loader(skip=["*.inv_freq"]), tmp_path)
    with pytest.raises(AttributeError):
        loaded(loader(), tmp_path)


def test_quantized_tensors_are_loaded_as_floats(loader: Any, tmp_path: Path) -> None:
    gguf: Any = pytest.importorskip("gguf")
    kind, writer = gguf.GGMLQuantizationType.Q8_0, gguf.GGUFWriter(tmp_path / "model.gguf", "llama")
    values = np.full((8, 32), 2, np.float32)
    writer.add_tensor("weight", gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    for dequantize, dtype in ((True, torch.float32), ("bf16", torch.bfloat16)):
        seen = []
        model = SimpleNamespace(load_weights=lambda weights: seen.extend(weights))  # noqa: B023
        loader(dequantize=dequantize).load_weights(model, config(tmp_path))
        ((name, tensor),) = seen
        assert name == "weight" and tensor.dtype == dtype and torch.allclose(tensor.float(), torch.full((8, 32), 2.0), rtol=1e-2)
    with pytest.raises(zten.Unsupported, match="dequantize"):
        loader().load_weights(SimpleNamespace(load_weights=list), config(tmp_path))


def test_a_model_on_a_hub_is_downloaded(loader: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zten.numpy.save_file(ARRAYS, tmp_path / "model.zt")
    asked = []

    def snapshot_download(name: str, **how: Any) -> str:
        asked.append((name, how["revision"], how["allow_patterns"]))
        return str(tmp_path)

    hub = ModuleType("huggingface_hub")
    monkeypatch.setattr(hub, "snapshot_download", snapshot_download, raising=False)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    loader(file="model.zt").download_model(config("org/model"))
    loaded(loader(), "org/model")
    assert asked[0] == ("org/model", None, ["model.zt"])
    assert not any(fnmatch.endswith((".bin", ".pt", ".pth")) for fnmatch in asked[1][2])


def test_an_unknown_option_is_an_error(loader: Any) -> None:
    for options in ({"files": "x"}, {"digest": "x", "file": "y"}):
        with pytest.raises(ValueError, match="expected a mapping with keys"):
            loader(**options)


def test_one_pattern_alone_is_an_error(loader: Any) -> None:
    with pytest.raises(ValueError, match="expected a list of patterns"):
        loader(skip="*.inv_freq")
