"""The cases of lesson 04: ReLU and the feed-forward block, and a decoder with it."""
import numpy as np
from torch import nn

from references.case import write_lesson
from references.decoder_cases import partial_models
from references.tiny_models import save_tiny
from references.values import EPSILON, linear_weight, norm_weight, normal, scalar, signed
from train.torch_decoder import Config, Layer


def run_relu(record, a, model):
    record.out("x", nn.ReLU()(a["x"]), "token", "hidden")


def run_feed_forward(record, a, model):
    (F, C), x = a["up.weight"].shape, a["x"]
    layer = Layer(Config(0, C, 1, F, 1, 0, a["epsilon"])).to(x.dtype)
    layer.ffn_norm.load_state_dict({name: a[f"ffn_norm.{name}"] for name in ("weight", "bias")})
    layer.feed_forward.load_state_dict({name: a[name] for name in ("up.weight", "up.bias", "down.weight", "down.bias")})
    record.out("x", layer.add_feed_forward(x, record.tap), "token", "channel")


def feed_forward_inputs(rng, T, C, F):
    return {"x": normal(rng, T, C), "ffn_norm.weight": norm_weight(rng, C), "ffn_norm.bias": signed(rng, 0.2, 0.8, C),
            "up.weight": linear_weight(rng, F, C), "up.bias": signed(rng, 0.2, 0.8, F),
            "down.weight": linear_weight(rng, C, F), "down.bias": signed(rng, 0.2, 0.8, C), "epsilon": scalar(EPSILON)}


def cases(lesson):
    size = lesson.size
    for what, shape, says in (("one_token", (1, 4), "a single row"), ("two_tokens", (2, 3), "small enough to be read in full"),
                              ("five_tokens", (5, 7), "some rows, both signs")):
        x = normal(lesson.rng(what), *size(*shape))
        x[0, 1] = 0.0
        lesson.add(f"relu_{what}", "relu", says, {"x": x}, run_relu)
    for what, shape, says in (("one_token", (1, 3, 5), "a single row"),
                              ("two_tokens", (2, 4, 3), "small enough to be read in full"),
                              ("square", (3, 4, 4), "C = F: a missing transpose or a swapped matrix shows only in the values"),
                              ("five_tokens", (5, 6, 9), "all sizes differ"),
                              ("large_residual", (3, 5, 7), "x is far larger than what is added: the norm stands before, not after")):
        inputs = feed_forward_inputs(lesson.rng(what), *size(*shape))
        if what == "large_residual":
            inputs["x"] *= np.float32(16)
        lesson.add(f"feed_forward_{what}", "feed_forward", says, inputs, run_feed_forward)
    partial_models(lesson)


def make(root, seed):
    save_tiny(root, seed)
    write_lesson(root, "04_feed_forward", seed, cases)
