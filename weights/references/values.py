"""The values that go into reference cases. All are exact in float32, and none is near 0, near 1 or equal to its neighbour."""
import random

import numpy as np
import torch

from train.story_grammar import make_story
from train.tokenizer import BOS, Tokenizer

SEED = 2024
EPSILON = float(np.float32(1e-5))
DECODER = "decoder"  # the trained decoder, below weights/


class Sizes:
    """The sizes of the cases. Another seed than the committed one also has other sizes."""

    def __init__(self, seed):
        self.more = 0 if seed == SEED else 1 + seed % 3

    def __call__(self, *sizes):
        """Sizes that grow with the seed. A size of 1 is a case of its own and stays."""
        return [size if size == 1 else size + self.more for size in sizes]

    def heads(self, H, G):
        """G grows, and H keeps its multiple of G."""
        grown, = self(G)
        return (H // G * grown, grown) if H != G else (grown, grown)

    def width(self, D):
        """D stays even where it was."""
        return D + 2 * self.more


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


def attention_inputs(rng, T, C, D, H=1, G=1):
    """The gain of q and k spreads the scores over several units."""
    inputs = {"x": normal(rng, T, C)}
    for name, heads, gain in (("q", H, 1.8), ("k", G, 1.8), ("v", G, 1.0)):
        inputs[f"{name}.weight"] = linear_weight(rng, heads * D, C, gain)
        inputs[f"{name}.bias"] = signed(rng, 0.2, 0.8, heads * D)
    inputs["o.weight"] = linear_weight(rng, C, H * D)
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


def story_tokens(directory, rng, length):
    """<bos> and the first tokens of a story, as the trained decoder knows them."""
    tokenizer = Tokenizer.load(directory / "vocabulary.json")
    story = make_story(random.Random(int(rng.integers(2 ** 31))))
    return integers(*([BOS] + tokenizer.encode(story))[:length])


def random_tokens(lesson, what, model, length=None):
    """Distinct where there are enough; of the whole context where no length is given."""
    config = lesson.model(model)(torch.float64).config
    length = length or config.context
    rng = lesson.rng(what)
    order = rng.permutation(config.vocabulary)
    return integers(*np.concatenate([order, rng.permutation(order)])[:length])
