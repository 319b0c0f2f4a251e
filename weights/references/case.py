"""One reference case: named tensors in, named tensors out, and what PyTorch's own float32 makes of them.

A case is computed by the same function twice: in float64 for the answer and in float32 for the error that an honest float32
program makes. See references/README.md for the files.
"""
import json
import shutil
import zlib
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from references.values import Sizes
from train.torch_decoder import load_model

WEIGHTS = Path(__file__).parents[1]
UNIT = 2.0 ** -24  # unit roundoff of float32
FLOAT32_RUNS = 8


class Record:
    """What one run makes: taps and outputs in order of computation."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.tensors = {}  # name -> (folder, dims, array)
        self.budgets = {}  # name -> array
        self.margin = None

    def tap(self, name, tensor, *dims):
        self._add("taps", name, tensor, dims)

    def out(self, name, tensor, *dims):
        self._add("out", name, tensor, dims)

    def _add(self, folder, name, tensor, dims):
        assert name not in self.tensors and tensor.dim() == len(dims), name
        self.tensors[name] = folder, dims, tensor.detach().clone().numpy()


def sum_budget(terms, squares):
    """The error that each element of a bare sum may have. squares: the sums of its `terms` squared terms."""
    return (8 * np.sqrt(terms) * UNIT * squares.sqrt()).numpy()


@contextmanager
def shuffled_sums(generator):
    """Every sum over channels is taken in a random order: one float32 run can be exact by luck, eight are not."""
    linear, matmul, mean, layer_norm = functional.linear, torch.matmul, torch.mean, functional.layer_norm

    def shuffled_linear(x, weight, bias=None):
        order = torch.randperm(weight.shape[1], generator=generator)
        return linear(x[..., order], weight[:, order], bias)

    def shuffled_matmul(a, b):
        order = torch.randperm(b.shape[-2], generator=generator)
        return matmul(a[..., order], b[..., order, :])

    def shuffled_mean(x, dim):
        return mean(x[..., torch.randperm(x.shape[dim], generator=generator)], dim)

    def shuffled_layer_norm(x, shape, weight, bias, epsilon):
        order = torch.randperm(x.shape[-1], generator=generator)
        return layer_norm(x[..., order], shape, weight[order], bias[order], epsilon)[..., order.argsort()]

    functional.linear, torch.matmul = shuffled_linear, shuffled_matmul
    torch.mean, functional.layer_norm = shuffled_mean, shuffled_layer_norm
    try:
        yield
    finally:
        functional.linear, torch.matmul, torch.mean, functional.layer_norm = linear, matmul, mean, layer_norm


def as_argument(array, dtype):
    """float32 values take the dtype of the run; scalars become Python's; draws stay float64."""
    if array.ndim == 0:
        return array.item()
    if array.dtype == np.float32:
        return torch.from_numpy(array.copy()).to(dtype)
    return torch.from_numpy(array.astype(np.int64 if array.dtype.kind == "i" else np.float64))


@torch.no_grad()
def compute(function, inputs, model, dtype):
    """model: None, or what gives the model in a dtype."""
    record = Record(dtype)
    arguments = {name: as_argument(array, dtype) for name, array in inputs.items()}
    function(record, arguments, model(dtype) if model else None)
    return record


def largest_error(want, got):
    """Over finite elements. Where the reference is infinite or an integer, the run must agree exactly."""
    exact = ~np.isfinite(want) if want.dtype.kind == "f" else np.ones(want.shape, bool)
    assert np.array_equal(want[exact], got[exact])
    return np.abs(want - got.astype(want.dtype))[~exact].max(initial=0.0)


def reference(function, inputs, model=None):
    """The float64 record, and the error32 of each of its tensors."""
    want = compute(function, inputs, model, torch.float64)
    errors = {name: 4 * UNIT * np.abs(array[np.isfinite(array)]).max(initial=0.0) if array.dtype.kind == "f" else 0.0
              for name, (_, _, array) in want.tensors.items()}
    generator = torch.Generator().manual_seed(1)
    for run in range(FLOAT32_RUNS):
        if run == 0:
            got = compute(function, inputs, model, torch.float32)
        else:
            with shuffled_sums(generator):
                got = compute(function, inputs, model, torch.float32)
        for name, (_, _, array) in want.tensors.items():
            errors[name] = max(errors[name], largest_error(array, got.tensors[name][2]))
    return want, errors


def model_path(root, model):
    """A case names its model below weights/; the models of references/ stand in the folder that is being written."""
    return root / model.removeprefix("references/") if model.startswith("references/") else WEIGHTS / model


def file_type(array):
    return "<i4" if array.dtype.kind == "i" else "<f8"


class Lesson:
    """Writes the cases of one lesson, numbered in the order in which they are added."""

    def __init__(self, root, name, seed, load=load_model):
        """load(directory, dtype) gives a model."""
        self.root, self.name, self.seed, self.load, self.count = root, name, seed, load, 0
        self.size = Sizes(seed)

    def rng(self, what):
        """Random numbers that belong to one case, so that a new case changes no other."""
        return np.random.default_rng([self.seed, zlib.crc32(f"{self.name}/{what}".encode())])

    def model(self, name):
        """What gives the model of that name in a dtype; None where there is no name."""
        return partial(self.load, model_path(self.root, name)) if name else None

    def skip(self):
        self.count += 1

    def add(self, what, run, says, inputs, function, model=None, taps=True):
        record, errors = reference(function, inputs, self.model(model))
        directory = self.directory(what, inputs)
        entries = []
        for name, (folder, dims, array) in record.tensors.items():
            if folder == "taps" and not taps:
                continue
            self.save(directory / folder / name, array.astype(file_type(array)))
            entries.append({"name": name, "dims": list(dims), "error32": float(f"{errors[name]:.6g}")})
        for name, array in record.budgets.items():
            self.save(directory / "tolerance" / name, array.astype("<f8"))
        self.describe(directory, run, says, model, {"margin": record.margin} if record.margin is not None else {}, entries)

    def add_error(self, what, run, says, inputs, error, model=None):
        """A case whose right answer is to throw."""
        self.describe(self.directory(what, inputs), run, says, model, {"error": error}, [])

    def directory(self, what, inputs):
        """The folder of the next case, with its inputs in it."""
        self.count += 1
        directory = self.root / self.name / f"{self.count:02d}_{what}"
        for name, array in inputs.items():
            assert array.dtype in (np.float32, np.int32, np.float64) and (array.dtype != np.float64 or array.ndim < 2 or name == "draws")
            self.save(directory / "in" / name, array)
        return directory

    @staticmethod
    def save(path, array):
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(f"{path}.npy", np.ascontiguousarray(array) if array.ndim else array)

    @staticmethod
    def describe(directory, run, says, model, more, entries):
        """Write case.json."""
        head = {"run": run, "says": says, **({"model": model} if model else {}), **more}
        lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
        tensors = ",\n".join(f"    {json.dumps(entry)}" for entry in entries)
        lines.append('  "tensors": [' + (f"\n{tensors}\n  ]" if entries else "]"))
        (directory / "case.json").write_text("{\n" + "\n".join(lines) + "\n}\n")


def write_lesson(root, name, seed, cases, load=load_model):
    """Write the folder of a lesson anew. cases(lesson) adds its cases."""
    shutil.rmtree(root / name, ignore_errors=True)
    lesson = Lesson(root, name, seed, load)
    cases(lesson)
    print(f"{name}: {lesson.count} cases", flush=True)
