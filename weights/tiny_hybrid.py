"""The tiny random models of references/models/hybrid_*: one for each of lessons 09 to 13, and two of another shape.

    python3 tiny_hybrid.py              write the committed ones
make_references.py draws them with other values and sizes for another seed, through tiny_hybrid().
"""
import zlib

import numpy as np
import torch

from hybrid import STAGES, Hybrid, save_hybrid, stage_config
from reference_case import WEIGHTS
from reference_values import SEED, draw_values

SHAPE = dict(vocabulary=29, context=24, channels=12, heads=4, kv_heads=2, head_dim=6, hidden=20)
OTHER = dict(vocabulary=23, context=32, channels=10, heads=6, kv_heads=3, head_dim=4, hidden=18)

# Name below references/models/ -> lesson and sizes.
TINY_HYBRIDS = {f"hybrid_{stage[:2]}": (stage, SHAPE) for stage in STAGES}
TINY_HYBRIDS |= {f"hybrid_{stage[:2]}_b": (stage, OTHER) for stage in ("10_grouped_query", "13_swiglu")}


def tiny_hybrid(name, seed=SEED):
    """The model of that name. Another seed than the committed one gives other values, and sizes that grow by 1 to 3."""
    stage, sizes = TINY_HYBRIDS[name]
    more = 0 if seed == SEED else 1 + seed % 3
    sizes = {what: size + more for what, size in sizes.items()}
    sizes |= {"head_dim": sizes["head_dim"] + more, "heads": sizes["kv_heads"] * 2}  # an even width; groups of two
    model = Hybrid(stage_config(stage, layers=2, **sizes))
    return draw_values(np.random.default_rng([seed, zlib.crc32(name.encode())]), model)


if __name__ == "__main__":
    for name in TINY_HYBRIDS:
        model = tiny_hybrid(name)
        save_hybrid(WEIGHTS / "references" / "models" / name, model)
        print(name, model.config, sum(p.numel() for p in model.parameters()))
