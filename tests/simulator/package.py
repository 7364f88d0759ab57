"""A package ``aiter`` that holds two real files and stand-ins for the rest."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from mlaprobe.deciding.capability import Capability
from mlaprobe.rulefiles.layouts import layouts
from tests.simulator.natives import Natives

OWN = ("aiter", "csrc", "triton")
"""Top-level packages that are replaced while AITER's code runs."""
UNITS = 6
"""Compute units of the pretended GPU: few, so that small batches are split in many ways."""
DTYPES = ("bf16", "fp16", "fp32", "i32", "u64", "fp8", "u8", "i8")


class Hollow:
    """Something that AITER's files mention and a decode never needs: it can be named and
    annotated with, and not called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Hollow:
        if name.startswith("__"):
            raise AttributeError(name)
        return Hollow(f"{self._name}.{name}")

    def __or__(self, other: Any) -> Hollow:
        return self

    __ror__ = __or__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{self._name} has no stand-in")


class HollowModule(types.ModuleType):
    """A module of such things."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Hollow(f"{self.__name__}.{name}")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a hollow module wherever AITER's files look for one."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.split(".")[0] not in OWN or name.split(".")[-1].startswith("flydsl"):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        module = HollowModule(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: types.ModuleType) -> None: ...


class _OnCpu:
    """PyTorch as AITER's files see it: the GPU's memory is the host's."""

    def __init__(self, torch: Any, units: int) -> None:
        self._torch = torch
        properties = types.SimpleNamespace(multi_processor_count=units)
        self.cuda = types.SimpleNamespace(
            current_device=lambda: 0, get_device_properties=lambda device: properties
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)

    def arange(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("device") == "cuda":
            kwargs["device"] = "cpu"
        return self._torch.arange(*args, **kwargs)


class _Kernel:
    """A Triton kernel of AITER's files: launched, it is one more native call."""

    def __init__(self, function: Callable[..., Any], natives: Natives) -> None:
        self._function = function
        self._natives = natives

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        def launch(*args: Any, **kwargs: Any) -> None:
            signature = inspect.signature(self._function)
            known = {k: v for k, v in kwargs.items() if k in signature.parameters}
            bound = signature.bind(*args, **known).arguments
            self._natives.kernel(self._function.__name__, bound)

        return launch


class Simulation:
    """One AITER on one pretended GPU."""

    def __init__(self, capability: Capability, arch: str, *, units: int = UNITS) -> None:
        self.capability = capability
        self.arch = arch
        self.units = units
        self._torch = importlib.import_module("torch")
        self.natives = Natives(capability, arch, units)
        self._modules: dict[str, types.ModuleType] = {}
        with self._in_place():
            self._prepare()
            self._load("aiter.ops.attention", "aiter/ops/attention.py")
            self._load("aiter.mla", "aiter/mla.py")

    def find(self, name: str) -> Callable[..., Any] | None:
        """A function of the simulated AITER, as the driver wants it."""
        for module, function in layouts().python_places(name):
            found = getattr(self._modules.get(module), function, None)
            if found is not None:
                return self._bound(found)
        return None

    def _bound(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self._in_place():
                return function(*args, **kwargs)

        return call

    @contextlib.contextmanager
    def _in_place(self) -> Iterator[None]:
        """The package in the place of any real one."""
        mine = [name for name in sys.modules if name.split(".")[0] in OWN]
        saved = {name: sys.modules.pop(name) for name in mine}
        finder = _Finder()
        sys.meta_path.insert(0, finder)
        sys.modules.update(self._modules)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)
            for name in [name for name in sys.modules if name.split(".")[0] in OWN]:
                self._modules.setdefault(name, sys.modules.pop(name))
                sys.modules.pop(name, None)
            sys.modules.update(saved)

    def _prepare(self) -> None:
        """What the two files import."""
        t = self._torch
        fp8 = getattr(t, f"float8_{layouts().fp8_variant(self.arch)}")
        own = dict(
            zip(
                DTYPES,
                (t.bfloat16, t.float16, t.float32, t.int32, t.uint64, fp8, t.uint8, t.int8),
                strict=True,
            )
        )
        put = self._put
        put("aiter.dtypes", **own)
        put("aiter.utility.dtypes", **own, _aiter_dtype_id=self.natives.dtype_id)
        version = types.SimpleNamespace
        put("aiter.ops.enum", MlaVersion=version(V32=version(value=0), V40=version(value=1)))
        put("aiter.jit.core", compile_ops=self._compile_ops, is_experimental_enabled=lambda: False)
        chip = {"get_gfx": lambda: self.arch, "get_cu_num": lambda: self.units}
        put("aiter.jit.utils.chip_info", **chip, get_gfx_runtime=chip["get_gfx"])
        put("csrc.cpp_itfs.torch_utils", direct_register_custom_op=lambda *a, **k: None)
        put(
            "triton",
            jit=self._jit,
            cdiv=lambda a, b: -(-a // b),
            next_power_of_2=lambda n: 1 << (n - 1).bit_length(),
        )
        aiter = importlib.import_module("aiter")
        aiter.__dict__["dtypes"] = self._modules["aiter.dtypes"]

    def _put(self, name: str, **values: Any) -> None:
        module = importlib.import_module(name)
        module.__dict__.update(values)
        self._modules[name] = module

    def _load(self, name: str, path: str) -> None:
        """A real file, as a module."""
        text = self.capability.source_text(path)
        assert text is not None, f"there is no {path}"
        module = types.ModuleType(name)
        module.__package__ = name.rpartition(".")[0]
        module.__file__ = path
        sys.modules[name] = self._modules[name] = module
        exec(compile(text, path, "exec"), module.__dict__)
        if "torch" in module.__dict__:
            module.__dict__["torch"] = _OnCpu(self._torch, self.units)
        public = {k: v for k, v in module.__dict__.items() if not k.startswith("__")}
        sys.modules["aiter"].__dict__.update({k: v for k, v in public.items() if callable(v)})

    def _compile_ops(self, *args: Any, fc_name: str | None = None, **kwargs: Any) -> Any:
        """AITER's decorator for stubs of compiled functions."""

        def decorate(stub: Callable[..., Any]) -> Callable[..., Any]:
            name = fc_name or stub.__name__

            @functools.wraps(stub)
            def call(*given: Any, **named: Any) -> Any:
                bound = inspect.signature(stub).bind(*given, **named)
                bound.apply_defaults()
                return self.natives.call(name, bound.arguments)

            return call

        return decorate

    def _jit(self, function: Callable[..., Any] | None = None, **options: Any) -> Any:
        if function is None:
            return lambda found: _Kernel(found, self.natives)
        return _Kernel(function, self.natives)
