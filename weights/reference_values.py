"""The values that go into reference cases. All are exact in float32, and none is near 0, near 1 or equal to its neighbour."""
import random

import numpy as np
import torch

from story_grammar import make_story
from tokenizer import BOS, Tokenizer
from torch_decoder import Config, Decoder


SEED = 2024
EPSILON = float(np.float32(1e-5))
TINY_A, TINY_B, DECODER = "references/models/tiny_a", "references/models/tiny_b", "decoder"
TINY = {TINY_A: dict(vocabulary=29, context=24, channels=12, head_dim=8, hidden=20),
        TINY_B: dict(vocabulary=23, context=32, channels=10, head_dim=14, hidden=18)}


class Sizes:
    """The sizes of the cases. Another seed than the committed one also has other sizes."""

    def __init__(self, seed):
        self.more = 0 if seed == SEED else 1 + seed % 3

    def __call__(self, *sizes):
        """Sizes that grow with the seed. A size of 1 is a case of its own and stays."""
        return [size if size == 1 else size + self.more for size in sizes]

    def of_model(self, model):
        return {name: size + self.more for name, size in TINY[model].items()}


def normal(rng, *shape, scale=1.0):
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def signed(rng, low, high, *shape):
    """Of random sign, with a size between low and high: a forgotten one shows."""
    return (rng.choice([-1.0, 1.0], shape) * rng.uniform(low, high, shape)).astype(np.float32)


def norm_weight(rng, channels):
    """Not near 1, so that a forgotten weight shows."""
    return (signed(rng, 0.3, 0.6, channels) + np.sign(rng.standard_normal(channels)) * 1.1).astype(np.float32)


def linear_weight(rng, rows, columns, gain=1.0):
    return normal(rng, rows, columns, scale=gain / np.sqrt(columns))


def integers(*values):
    return np.array(values, np.int32)


def scalar(value):
    return np.array(value, np.int32 if isinstance(value, int) else np.float64)


def layer_norm_inputs(rng, x):
    C = x.shape[1]
    return {"x": x.astype(np.float32), "weight": norm_weight(rng, C), "bias": signed(rng, 0.2, 0.8, C), "epsilon": scalar(EPSILON)}


def attention_inputs(rng, T, C, D, gain=1.8):
    """The gain spreads the scores over several units."""
    inputs = {"x": normal(rng, T, C)}
    for name, gain in (("q", gain), ("k", gain), ("v", 1.0)):
        inputs[f"{name}.weight"] = linear_weight(rng, D, C, gain)
        inputs[f"{name}.bias"] = signed(rng, 0.2, 0.8, D)
    inputs["o.weight"] = linear_weight(rng, C, D)
    inputs["o.bias"] = signed(rng, 0.2, 0.8, C)
    return inputs


def filled_cache(rng, capacity, rows):
    """float32 (capacity, ...): `rows` from a real prefix, then what memory may hold where nothing was written yet."""
    junk = signed(rng, 2.0, 4.0, capacity - len(rows), *rows.shape[1:])
    return np.concatenate([rows.numpy().astype(np.float32), junk])


def attend_inputs(rng, T, S, D, offset=0.0):
    """With an offset, q and k share a direction, which lifts every score by about that much and keeps the weights mixed."""
    q, k, v = normal(rng, T, D, scale=1.5), normal(rng, S, D, scale=1.5), normal(rng, S, D)
    if offset:
        q[:, 0] += np.float32(np.sqrt(offset * np.sqrt(D)))
        k[:, 0] = np.float32(np.sqrt(offset * np.sqrt(D))) + 0.02 * k[:, 0]
    return {"q": q, "k": k, "v": v}


def feed_forward_inputs(rng, T, C, F):
    return {"x": normal(rng, T, C), "ffn_norm.weight": norm_weight(rng, C), "ffn_norm.bias": signed(rng, 0.2, 0.8, C),
            "up.weight": linear_weight(rng, F, C), "up.bias": signed(rng, 0.2, 0.8, F),
            "down.weight": linear_weight(rng, C, F), "down.bias": signed(rng, 0.2, 0.8, C), "epsilon": scalar(EPSILON)}


def tiny_model(rng, **sizes):
    return draw_values(rng, Decoder(Config(layers=2, epsilon=1e-5, **sizes)))


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


def story_tokens(directory, rng, length):
    """<bos> and the first tokens of a story, as the trained decoder knows them."""
    tokenizer = Tokenizer.load(directory / "vocabulary.json")
    story = make_story(random.Random(int(rng.integers(2 ** 31))))
    return integers(*([BOS] + tokenizer.encode(story))[:length])


def random_tokens(lesson, size, what, model, length=None):
    """Distinct where there are enough; of the whole context where no length is given."""
    sizes = size.of_model(model)
    length = length or sizes["context"]
    rng = lesson.rng(what)
    order = rng.permutation(sizes["vocabulary"])
    return integers(*np.concatenate([order, rng.permutation(order)])[:length])
