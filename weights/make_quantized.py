"""What quantizing some rows gives, by the `gguf` package: references/quantized/.

    python3 make_quantized.py             writes it
    python3 make_quantized.py --check     makes it again and compares: all equal

x.npy: rows of 32, a block each. TYPE.npy: the bytes of each block, as i32. TYPE_values.npy: the numbers that they stand for, f32.
Blocks of Q4_K and Q6_K, which the package reads and does not make, are random.
needs: NumPy, gguf 0.19 or newer
"""
import argparse
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, quants

HERE = Path(__file__).parent / "references" / "quantized"


def rows():
    """Blocks as they come, and those at the edges: zeros, one number alone, equal magnitudes, ties, very small and very large ones."""
    rng = np.random.default_rng(24)
    usual = rng.standard_normal((40, 32)) * 10.0 ** rng.uniform(-3, 3, (40, 1))
    heavy = rng.standard_t(2, (20, 32))
    alone = np.zeros((2, 32))
    alone[0, 5], alone[1, 31] = 3.5, -0.01
    equal = np.where(rng.integers(0, 2, (4, 32)), 1.5, -1.5)
    ties = np.concatenate([np.arange(-16, 16)[None] / 2 + 0.25, np.arange(-16, 16)[None] * 8 - 0.5])
    small = rng.standard_normal((4, 32)) * np.array([[1e-4], [1e-6], [3e-8], [1e-20]])
    large = rng.standard_normal((1, 32)) * 1e5
    near = rng.standard_normal((40, 1)) * (rng.integers(-8, 8, (40, 32)) + 0.5) / 8  # halves, but for a rounding
    near[:, 7] = near[:, 6] / np.abs(near[:, 6]) * np.abs(near).max(axis=1) * 16 / 15
    return np.concatenate([np.zeros((1, 32)), usual, heavy, alone, equal, ties, small, large, near]).astype("<f4")


def random_blocks(rng, kind, count, scale):
    """Any bytes are a block; but for the scales, f16 numbers, around `scale`."""
    size = {"Q4_K": 144, "Q6_K": 210}[kind]
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    d = (scale * rng.uniform(0.5, 1.5, (count, 1))).astype("<f2")
    if kind == "Q4_K":
        blocks[:, 0:2], blocks[:, 2:4] = d.view(np.uint8), (7.5 * d).astype("<f2").view(np.uint8)
    else:
        blocks[:, 208:210] = d.view(np.uint8)
    return blocks


def files():
    x = rows()
    made = {"x": x}
    for kind in ("Q8_0", "Q4_0"):
        blocks = quants.quantize(x, GGMLQuantizationType[kind])
        made[kind.lower()] = blocks.astype("<i4")
        made[kind.lower() + "_values"] = quants.dequantize(blocks, GGMLQuantizationType[kind]).astype("<f4")
    for number, kind in enumerate(("Q4_K", "Q6_K")):
        rng = np.random.default_rng([24, number])
        blocks = np.concatenate([random_blocks(rng, kind, 10, scale) for scale in (0.01, -3, 1e-7)])
        made[kind.lower()] = blocks.astype("<i4")
        made[kind.lower() + "_values"] = quants.dequantize(blocks, GGMLQuantizationType[kind]).astype("<f4")
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    HERE.mkdir(exist_ok=True)
    for name, array in files().items():
        if check:
            assert np.array_equal(np.load(HERE / f"{name}.npy"), array), name
        else:
            np.save(HERE / f"{name}.npy", array)
    print("equal" if check else f"written to {HERE}")


if __name__ == "__main__":
    main()
