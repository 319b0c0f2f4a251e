"""The cases of lesson 13: SiLU and the gated feed-forward block."""
from torch.nn import functional

from references.head_cases import rms_norm
from references.hybrid_cases import make_hybrid_lesson
from references.values import EPSILON, linear_weight, norm_weight, normal, scalar, signed


def run_silu(record, a, model):
    record.out("x", functional.silu(a["x"]), "token", "hidden")


def run_swiglu(record, a, model):
    record.out("hidden", functional.silu(a["gate"]) * a["up"], "token", "hidden")


def run_feed_forward(record, a, model):
    normed = rms_norm(a["x"], a["ffn_norm.weight"], a["epsilon"])
    gate, up = (functional.linear(normed, a[f"{name}.weight"]) for name in ("gate", "up"))
    hidden = functional.silu(gate) * up
    record.tap("normed", normed, "token", "channel")
    for name, tensor in (("gate", gate), ("up", up), ("hidden", hidden)):
        record.tap(name, tensor, "token", "hidden")
    record.out("x", a["x"] + functional.linear(hidden, a["down.weight"]), "token", "channel")


def cases(lesson):
    for what, shape, scale, says in (("one_token", (1, 5), 1.5, "a single row"), ("two_tokens", (2, 3), 1.5, "small enough to be read in full"),
                                     ("large_values", (3, 6), 60.0, "values beyond ±90, where exp overflows"),
                                     ("odd_sizes", (7, 13), 3.0, "sizes that no block divides")):
        x = normal(lesson.rng(f"silu_{what}"), *lesson.size(*shape), scale=scale)
        x[0, 1] = 0.0
        if what == "large_values":
            x[0, 0], x[1, 1] = 96.0, -96.0
        lesson.add(f"silu_{what}", "silu", says, {"x": x}, run_silu)
    for what, shape, says in (("one_token", (1, 4), "a single row"), ("two_tokens", (2, 3), "small enough to be read in full"),
                              ("square", (4, 4), "as many tokens as columns"), ("five_tokens", (5, 7), "both signs of both factors")):
        rng, shape = lesson.rng(f"swiglu_{what}"), lesson.size(*shape)
        inputs = {"gate": normal(rng, *shape, scale=1.5), "up": signed(rng, 0.5, 2.0, *shape)}
        lesson.add(f"swiglu_{what}", "swiglu", says, inputs, run_swiglu)
    for what, shape, says in (("one_token", (1, 3, 5), "a single row"), ("two_tokens", (2, 4, 3), "small enough to be read in full"),
                              ("square", (3, 4, 4), "C = F: a missing transpose or a swapped matrix shows only in the values"),
                              ("five_tokens", (5, 6, 9), "all sizes differ"),
                              ("large_residual", (3, 5, 7), "x is far larger than what is added: the norm stands before, not after")):
        rng, (T, C, F) = lesson.rng(f"feed_forward_{what}"), lesson.size(*shape)
        inputs = {"x": normal(rng, T, C, scale=16.0 if what == "large_residual" else 1.0), "ffn_norm.weight": norm_weight(rng, C),
                  "gate.weight": linear_weight(rng, F, C, 1.5), "up.weight": linear_weight(rng, F, C),
                  "down.weight": linear_weight(rng, C, F), "epsilon": scalar(EPSILON)}
        lesson.add(f"feed_forward_{what}", "feed_forward", says, inputs, run_feed_forward)


def make(root, seed):
    make_hybrid_lesson(root, "13_swiglu", seed, cases)
