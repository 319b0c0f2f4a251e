"""Write references/: for each lesson its models and its cases, with inputs, answers, taps and budgets.

    python3 make_references.py                        the committed references of all lessons
    python3 make_references.py --lesson 06            those of one lesson, by its number or its name; several may stand there
    python3 make_references.py --check                make them again elsewhere and compare to 1e-12
    python3 make_references.py --seed 7 --out DIR     other cases of the same format, for hidden tests

needs: PyTorch and NumPy; for lessons 14 and 24 tokenizers 0.20; for lessons 15, 20 and 22 transformers 4.46, which brings tokenizers with it; for
lessons 22 and 24 gguf 0.19.
"""
import argparse
import json
import tempfile
from importlib import import_module
from pathlib import Path

import numpy as np
import torch

from references.case import WEIGHTS
from references.values import SEED

LESSONS = sorted(path.stem.removeprefix("lesson_") for path in (WEIGHTS / "references").glob("lesson_*.py"))


def wanted(lesson):
    """The full name of a lesson. 6, 06 and 06_causal are the same lesson; 8b and 08b are the one after 8."""
    number = lesson if lesson[:2].isdigit() else "0" + lesson
    found = [name for name in LESSONS if name.split("_")[0] == number] or [name for name in LESSONS if name.startswith(number)]
    if len(found) != 1:
        raise argparse.ArgumentTypeError(f"{lesson}: wanted one of {', '.join(LESSONS)}")
    return found[0]


def make(root, seed, lessons):
    for name in lessons:
        import_module(f"references.lesson_{name}").make(root, seed)  # only now: some need packages that others do not


def compare(old, new):
    """Fail where the folders of `new` differ from those in `old` by more than 1e-12 of the size of a value (1 for smaller ones)."""
    files = sorted(path.relative_to(new) for path in new.rglob("*") if path.is_file())
    written = {old.joinpath(*file.parts[:2 if file.parts[0] in ("models", "held_out") else 1]) for file in files}
    committed = [path.relative_to(old) for made in written for path in ([made] if made.is_file() else made.rglob("*"))]
    assert files == sorted(file for file in committed if file.suffix in (".npy", ".json", ".safetensors")), "other files"
    worst = 0.0
    for file in files:
        if file.suffix == ".npy":
            a, b = np.load(old / file), np.load(new / file)
            assert a.shape == b.shape and a.dtype == b.dtype, file
            if a.dtype.kind == "i":
                assert np.array_equal(a, b), file
                continue
            difference = np.abs(a - b) / np.maximum(1, np.abs(a))
            worst = max(worst, difference.max(initial=0.0))
            assert not np.any(~(difference <= 1e-12)), f"{file} differs by {difference.max()}"
        elif file.name == "case.json":
            a, b = (json.loads((folder / file).read_text()) for folder in (old, new))
            for case in (a, b):
                case["tensors"] = [(t["name"], t["dims"]) for t in case["tensors"]]  # error32 belongs to the machine
                case["margin"] = round(case.get("margin", 0), 9)
            assert a == b, file
        else:
            assert (old / file).read_bytes() == (new / file).read_bytes(), file
    print(f"{len(files)} files agree; the largest difference is {worst:.1g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lesson", type=wanted, nargs="+", default=LESSONS, metavar="NN", help="one lesson or several; all without it")
    parser.add_argument("--seed", type=int, default=SEED, help="another one than %(default)s gives hidden cases")
    parser.add_argument("--out", type=Path, default=WEIGHTS / "references", help="the folder to write, or to compare with")
    parser.add_argument("--check", action="store_true", help="compare with the folder instead of writing it")
    options = parser.parse_args()
    torch.set_num_threads(1)  # one order of sums
    if not options.check:
        return make(options.out, options.seed, options.lesson)
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), options.seed, options.lesson)
        compare(options.out, Path(folder))


if __name__ == "__main__":
    main()
