"""The tiny random models of references/models: tiny_a and tiny_b for lessons 02 to 08, hybrid_* for lessons 09 to 13."""
import zlib

import numpy as np
import torch

from references.values import SEED, Sizes, linear_weight, norm_weight, normal, signed
from train.hybrid import STAGES, Hybrid, save_hybrid, stage_config
from train.torch_decoder import Config, Decoder, save_model

TINY_A, TINY_B = "references/models/tiny_a", "references/models/tiny_b"
TINY = {TINY_A: dict(vocabulary=29, context=24, channels=12, head_dim=8, hidden=20),
        TINY_B: dict(vocabulary=23, context=32, channels=10, head_dim=14, hidden=18)}

SHAPE = dict(vocabulary=29, context=24, channels=12, heads=4, kv_heads=2, head_dim=6, hidden=20)
OTHER = dict(vocabulary=23, context=32, channels=10, heads=6, kv_heads=3, head_dim=4, hidden=18)

# Name below references/models/ -> lesson and sizes.
TINY_HYBRIDS = {f"hybrid_{stage[:2]}": (stage, SHAPE) for stage in STAGES}
TINY_HYBRIDS |= {f"hybrid_{stage[:2]}_b": (stage, OTHER) for stage in ("10_grouped_query", "13_swiglu")}


def draw_values(rng, model):
    """Give every parameter random values that tell mistakes apart."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "embedding" in name:
                array = normal(rng, *value.shape, scale=2.0)
            elif value.dim() == 1:
                array = norm_weight(rng, len(value)) if name.endswith("norm.weight") else signed(rng, 0.2, 0.8, len(value))
            else:
                gain = 1.3 if ".q." in name or ".k." in name else 2.0 if name == "output.weight" else 1.0
                array = linear_weight(rng, *value.shape, gain)
            value.copy_(torch.from_numpy(array))
        # No token may be the best one everywhere, or greedy text would be the same whatever the model reads.
        if model.output.bias is not None:
            tokens = torch.from_numpy(rng.integers(0, model.config.vocabulary, (64, model.config.context)))
            mean = model.double()(tokens).mean((0, 1))
            model.output.bias -= torch.round(64 * mean) / 64  # coarse: the same on every machine
    return model.float()


def save_tiny(root, seed):
    """Write tiny_a and tiny_b."""
    more = Sizes(seed).more
    for number, (name, sizes) in enumerate(TINY.items()):
        config = Config(layers=2, epsilon=1e-5, **{what: size + more for what, size in sizes.items()})
        save_model(root / name.removeprefix("references/"), draw_values(np.random.default_rng([seed, number]), Decoder(config)))


def tiny_hybrid(name, seed=SEED):
    """The model of that name. Another seed than the committed one gives other values, and sizes that grow by 1 to 3."""
    stage, sizes = TINY_HYBRIDS[name]
    more = Sizes(seed).more
    sizes = {what: size + more for what, size in sizes.items()}
    sizes |= {"head_dim": sizes["head_dim"] + more, "heads": sizes["kv_heads"] * 2}  # an even width; groups of two
    model = Hybrid(stage_config(stage, layers=2, **sizes))
    return draw_values(np.random.default_rng([seed, zlib.crc32(name.encode())]), model)


def save_tiny_hybrids(root, stage, seed):
    """Write the models of one lesson, as 10_grouped_query."""
    for name, (of, _) in TINY_HYBRIDS.items():
        if of == stage:
            save_hybrid(root / "models" / name, tiny_hybrid(name, seed))
