"""The cases of lesson 24: int8 per tensor and per group, Q4_0, zero points, products of whole numbers, errors.

needs: PyTorch, NumPy, gguf 0.19 or newer, and for the held-out stories tokenizers 0.20. The answers are those of PyTorch's own
quantizers and of the gguf package, wherever these round as the lesson does: PyTorch rounds halves to the even neighbour.
"""
import random

import numpy as np
import torch
from gguf import GGMLQuantizationType, quants

from references.case import WEIGHTS, Lesson, write_lesson
from references.values import integers, normal, scalar, signed
from train.more_stories import make_story
from train.stories_model import SHAPE, load_tokenizer
from train.train_stories import make_rows

BLOCK = 32
FAR = 1e-3  # of a step: no number is nearer to the middle of two whole ones, but for the cases about halves


def nearest(steps, halves=False):
    """The nearest whole number, halves away from zero."""
    assert halves or ((steps.abs() % 1 - 0.5).abs() > FAR).all(), "two answers are nearly as near"
    return (steps.sign() * (steps.abs() + 0.5).floor()).long()


def int8_scale(x):
    return x.abs().max() / 127


def to_int8(x, scale, halves=False):
    if scale == 0:
        return torch.zeros(x.shape, dtype=torch.int64)
    q = nearest(x / scale, halves)
    if not halves:
        assert q.equal(torch.quantize_per_tensor(x.float(), float(scale), 0, torch.qint8).int_repr().long())
    return q


def groups_of(row, group):
    return row.split(group)  # the last part is what is left


def quantize_groups(x, group):
    scale = torch.stack([torch.stack([int8_scale(part) for part in groups_of(row, group)]) for row in x])
    q = torch.stack([torch.cat([to_int8(part, s) for part, s in zip(groups_of(row, group), scales)]) for row, scales in zip(x, scale)])
    return q, scale


def run_scale(record, a, model):
    record.out("scale", int8_scale(a["x"]))


def run_to_int8(record, a, model):
    record.out("q", to_int8(a["x"], a["scale"], halves=bool((a["x"] / a["scale"] * 2 % 2 == 1).any())), "element")


def run_quantize_tensor(record, a, model):
    x, scale = a["x"], int8_scale(a["x"])
    record.out("scale", scale[None], "element")
    record.out("q", to_int8(x, scale), *("row", "column")[2 - x.dim():])


def run_quantize_groups(record, a, model):
    q, scale = quantize_groups(a["x"], a["group"])
    record.out("scale", scale, "row", "group")
    record.out("q", q, "row", "column")


def run_dequantize_tensor(record, a, model):
    record.out("out", a["q"] * a["scale"], "row", "column")


def run_dequantize_groups(record, a, model):
    wide = a["scale"].repeat_interleave(a["group"], 1)[:, :a["q"].shape[1]]
    record.out("out", a["q"] * wide, "row", "column")


def run_quantize_block(record, a, model):
    x = a["x"]
    block = quants.quantize(x.float().numpy(), GGMLQuantizationType.Q4_0)
    largest = x[x.abs().argmax()]
    scale = largest / -8
    steps = x / scale if scale != 0 else torch.zeros_like(x)
    nibble = (nearest(steps, halves=bool(scale == 0)) + 8).clamp(0, 15)
    packed = torch.from_numpy(block[2:].astype(np.int64))
    assert (packed & 15).equal(nibble[:BLOCK // 2]) and (packed >> 4).equal(nibble[BLOCK // 2:])  # gguf agrees
    record.tap("scale", scale)
    record.tap("nibble", nibble, "element")
    record.out("f16_scale", torch.tensor(block[:2].view(np.float16)[0].item(), dtype=record.dtype))
    record.out("q", packed, "byte")


def run_dequantize_block(record, a, model):
    block = np.concatenate([np.frombuffer(np.float16(a["scale"]).tobytes(), np.uint8), a["q"].numpy().astype(np.uint8)])
    record.out("out", torch.from_numpy(quants.dequantize(block, GGMLQuantizationType.Q4_0)).to(record.dtype), "element")


def run_quantize_affine(record, a, model):
    x = a["x"]
    lowest, highest = x.min().clamp(max=0), x.max().clamp(min=0)
    record.tap("lowest", lowest)
    record.tap("highest", highest)
    scale = (highest - lowest) / 255
    halves = bool((x / scale * 2 % 2 == 1).any())
    zero = nearest(-lowest / scale, halves) if scale != 0 else torch.tensor(0)
    q = (nearest(x / scale, halves) + zero).clamp(0, 255) if scale != 0 else torch.zeros(x.shape, dtype=torch.int64)
    if scale != 0 and not halves:
        assert q.equal(torch.quantize_per_tensor(x.float(), float(scale), int(zero), torch.quint8).int_repr().long())
    record.out("scale", scale)
    record.out("zero", zero[None], "element")
    record.out("q", q, "element")


def run_dequantize_affine(record, a, model):
    record.out("out", (a["q"] - a["zero"]) * torch.tensor(a["scale"], dtype=record.dtype), "element")


def run_dot(record, a, model):
    record.out("out", (a["w"] @ a["x"]).to(record.dtype) * a["w_scale"] * a["x_scale"])


def run_linear(record, a, model):
    group, weight = a["group"], a["weight_q"]
    q, scale = quantize_groups(a["x"], group)
    record.tap("x_scale", scale, "token", "group")
    record.tap("x_q", q.flatten(), "element")
    sums = [(x @ w.T).to(record.dtype) for x, w in zip(q.split(group, 1), weight.split(group, 1))]  # whole numbers
    record.out("out", sum(s * scale[:, g, None] * a["weight_scale"][None, :, g] for g, s in enumerate(sums)), "token", "output")


def run_scores(record, a, model):
    keys = a["keys_q"] * a["keys_scale"][..., None]  # (S, G, D)
    keys = keys.repeat_interleave(len(a["q"]) // keys.shape[1], 1)  # (S, H, D)
    record.out("scores", torch.einsum("hd,shd->hs", a["q"], keys) / keys.shape[2] ** 0.5, "head", "key")


def run_predicted_error(record, a, model):
    record.out("error", (a["scale"] ** 2 / 12).mean())


def run_measured_error(record, a, model):
    record.out("error", torch.nn.functional.mse_loss(a["x"], a["y"]))


def far_from_halves(make, *functions):
    """The first draw that no rounding of `functions` finds ambiguous."""
    for _ in range(1000):
        x = make()
        try:
            for function in functions:
                function(torch.from_numpy(x.astype(np.float64)))
            return x
        except AssertionError:
            pass
    raise AssertionError("every draw is ambiguous")


def affine_of(x):
    scale = (x.max().clamp(min=0) - x.min().clamp(max=0)) / 255
    nearest(x.min().clamp(max=0) / scale), nearest(x / scale)


def block_of(x):
    nearest(x / (x[x.abs().argmax()] / -8))


def whole(rng, low, high, *shape):
    return rng.integers(low, high + 1, shape).astype(np.int32)


def int8_cases(lesson):
    size = lesson.size
    with_negative = signed(lesson.rng("scale"), 0.1, 2.0, *size(7))
    with_negative[3] = -3.0
    for what, x, says in (("one", np.array([2.54], np.float32), "one element"),
                          ("negative", with_negative, "the largest magnitude is negative"),
                          ("positive", -with_negative, "the largest magnitude is positive"),
                          ("large", 1e6 * with_negative, "large numbers"),
                          ("zeros", np.zeros(5, np.float32), "only zeros: the scale is 0")):
        lesson.add(f"int8_scale_{what}", "int8_scale", says, {"x": x.astype(np.float32)}, run_scale)

    def to(what, says, x, scale):
        lesson.add(f"to_int8_{what}", "to_int8", says, {"x": np.array(x, np.float32), "scale": scalar(float(scale))}, run_to_int8)

    to("whole", "numbers that are whole already", [-127, -3, 0, 5, 127], 1)
    to("fractions", "fractions of a step, of both signs", [-2.75, -2.25, -0.75, 0.25, 0.75, 1.25, 2.75, 126.75], 1)
    to("halves", "halves go away from zero", [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], 1)
    to("small_step", "a step of an eighth", [-1.3, -0.2, 0.3, 1.45, 15.8], 0.125)
    to("zero_scale", "a group of zeros has the scale 0", [0, 0, 0], 0)

    def tensor(what, says, make):
        rng = lesson.rng(f"tensor_{what}")
        x = far_from_halves(lambda: make(rng), lambda x: to_int8(x, int8_scale(x)))
        lesson.add(f"quantize_tensor_{what}", "quantize_tensor", says, {"x": x}, run_quantize_tensor)

    def outlier(rng):
        x = normal(rng, *size(3, 5))
        x[1, 2] = 100
        return x

    tensor("small", "small enough to be read in full", lambda rng: normal(rng, *size(2, 3)))
    tensor("rows", "rows of different size share one step", lambda rng: normal(rng, *size(3, 7)) * np.array([[1], [10], [100], [1], [1], [1]], np.float32)[:size(3)[0]])
    tensor("outlier", "one number is 100 times the others, which become 0 or 1", outlier)
    for what, shape, scale, says in (("one_row", (1, 5), 3.5, "one row"), ("small", (3, 4), 0.0371, "whole numbers and one scale")):
        rng = lesson.rng(f"dequantize_tensor_{what}")
        lesson.add(f"dequantize_tensor_{what}", "dequantize_tensor", says,
                   {"q": whole(rng, -127, 127, *size(*shape)), "scale": np.array([scale], np.float32)}, run_dequantize_tensor)


def group_cases(lesson):
    size = lesson.size
    for what, (K, C), group, says in (
            ("one_row", (1, 8), 4, "two groups of four"), ("rows", (3, 8), 4, "each row has groups of its own"),
            ("tail", (3, 10), 4, "the last group of a row has two elements"), ("short_row", (2, 3), 4, "a row shorter than a group"),
            ("tail_of_one", (4, 9), 4, "the last group has one element, which becomes 127 or -127"),
            ("whole_row", (3, 6), 9, "one group for each row: a scale per row (per channel)"),
            ("square", (5, 5), 1, "groups of one: nothing is lost"), ("thirty_two", (2, 96), 32, "the groups of GGUF")):
        K, C = size(K, C)
        rng = lesson.rng(f"groups_{what}")
        make = lambda: normal(rng, K, C) * (10.0 ** rng.uniform(-2, 2, (K, C // group + 1))).repeat(group, 1)[:, :C].astype(np.float32)
        x = far_from_halves(make, lambda x: quantize_groups(x, group))
        lesson.add(f"quantize_groups_{what}", "quantize_groups", says, {"x": x, "group": scalar(group)}, run_quantize_groups)
    x = far_from_halves(lambda: normal(rng, 2, 8), lambda x: quantize_groups(torch.cat([x[:, :4] * 0, x[:, 4:]], 1), 4))
    x[:, :4] = 0
    lesson.add("quantize_groups_zeros", "quantize_groups", "a group of zeros beside one that is not", {"x": x, "group": scalar(4)}, run_quantize_groups)
    for what, (K, C), group, says in (("rows", (3, 8), 4, "each row has scales of its own"), ("tail", (2, 7), 3, "the last group is shorter"),
                                      ("square", (4, 4), 2, "as many rows as columns")):
        K, C = size(K, C)
        rng = lesson.rng(f"dequantize_groups_{what}")
        inputs = {"q": whole(rng, -127, 127, K, C), "scale": signed(rng, 0.01, 3, K, -(-C // group)), "group": scalar(group)}
        inputs["scale"] = np.abs(inputs["scale"])
        lesson.add(f"dequantize_groups_{what}", "dequantize_groups", says, inputs, run_dequantize_groups)


def block_cases(lesson):
    def add(what, says, make):
        rng = lesson.rng(f"block_{what}")
        x = far_from_halves(lambda: make(rng).astype(np.float32), block_of) if what != "zeros" else np.zeros(BLOCK, np.float32)
        lesson.add(f"quantize_block_{what}", "quantize_block", says, {"x": x}, run_quantize_block)

    def with_largest(rng, value, other=0.5):
        x = rng.uniform(-0.9, 0.9, BLOCK)
        x[11], x[20] = value, other
        return x

    add("negative", "the largest magnitude is negative: the scale is positive", lambda rng: with_largest(rng, -1.7))
    add("positive", "the largest magnitude is positive: the scale is negative", lambda rng: with_largest(rng, 1.7))
    add("normal", "as weights come", lambda rng: normal(rng, BLOCK, scale=0.05))
    add("both_ends", "a number near the other end, which has no +8", lambda rng: with_largest(rng, -1.02, 1.0))
    add("ramp", "each element differs from its neighbours", lambda rng: np.linspace(-1, 1.13, BLOCK) + 0.001 * rng.standard_normal(BLOCK))
    add("zeros", "only zeros: every nibble is 8", None)
    for what, scale, says in (("positive", 0.25, "a positive scale"), ("negative", -0.3125, "a negative scale")):
        rng = lesson.rng(f"dequantize_block_{what}")
        lesson.add(f"dequantize_block_{what}", "dequantize_block", says, {"q": whole(rng, 0, 255, BLOCK // 2), "scale": scalar(scale)}, run_dequantize_block)


def affine_cases(lesson):
    size, = lesson.size(9)
    for what, low, high, says in (("around_zero", -1.0, 3.0, "more above 0 than below"), ("below", -5.0, 0.5, "nearly all below 0"),
                                  ("positive", 2.0, 6.0, "all positive, as after ReLU: the range is stretched to 0"),
                                  ("negative", -7.0, -2.0, "all negative"), ("symmetric", -1.0, 1.0, "as much above as below")):
        rng = lesson.rng(f"affine_{what}")
        x = far_from_halves(lambda: rng.uniform(low, high, size).astype(np.float32), affine_of)
        lesson.add(f"quantize_affine_{what}", "quantize_affine", says, {"x": x}, run_quantize_affine)
    lesson.add("quantize_affine_halves", "quantize_affine", "0 and the largest number lie in the middle of two steps: both go up, to 256",
               {"x": np.array([-0.5, 254.5, 0.0, 10.25], np.float32)}, run_quantize_affine)
    lesson.add("quantize_affine_zeros", "quantize_affine", "only zeros", {"x": np.zeros(4, np.float32)}, run_quantize_affine)
    rng = lesson.rng("dequantize_affine")
    for what, zero in (("middle", 64), ("low", 0), ("high", 255)):
        inputs = {"q": whole(rng, 0, 255, size), "scale": scalar(0.03125), "zero": scalar(zero)}
        lesson.add(f"dequantize_affine_{what}", "dequantize_affine", f"zero is {zero}", inputs, run_dequantize_affine)


def product_cases(lesson):
    size = lesson.size

    def dot(what, says, w, x):
        inputs = {"w": w, "x": x, "w_scale": scalar(0.0078125), "x_scale": scalar(0.15625)}
        lesson.add(f"dot_{what}", "dot", says, inputs, run_dot)

    rng = lesson.rng("dot")
    n, = size(5)
    dot("small", "a sum that 8 bits would hold", integers(3, -2, 5, 1), integers(4, 6, -1, 7))
    dot("past_8_bits", "a sum past 127", integers(30, 40, -7), integers(5, 11, 2))
    dot("past_16_bits", "the largest products: three of them are past 32767", np.full(BLOCK, 127, np.int32), np.full(BLOCK, 127, np.int32))
    dot("negative", "the same below zero", np.full(BLOCK, -127, np.int32), np.full(BLOCK, 127, np.int32))
    dot("random", "numbers of both signs", whole(rng, -127, 127, n), whole(rng, -127, 127, n))
    dot("one", "one product", integers(-9), integers(12))

    for what, (N, C, K), group, says in (
            ("one_token", (1, 8, 3), 4, "one row of x"), ("small", (2, 4, 3), 4, "a group for each row"),
            ("tokens", (3, 12, 5), 4, "three groups, each with two scales"), ("tail", (2, 10, 3), 4, "the last group is shorter"),
            ("square", (4, 4, 4), 2, "all sizes are equal"), ("wide", (2, 96, 7), 32, "the groups of GGUF; sums past 16 bits")):
        N, C, K = size(N, C, K)
        rng = lesson.rng(f"linear_{what}")
        x = far_from_halves(lambda: normal(rng, N, C) * rng.uniform(0.2, 5, (N, 1)).astype(np.float32), lambda x: quantize_groups(x, group))
        inputs = {"x": x, "weight_q": whole(rng, -127, 127, K, C), "group": scalar(group),
                  "weight_scale": np.abs(signed(rng, 0.002, 0.05, K, -(-C // group)))}
        lesson.add(f"linear_{what}", "linear", says, inputs, run_linear)

    for what, (S, D), (H, G), says in (("one_key", (1, 4), (2, 2), "one token in the cache"), ("heads", (3, 4), (2, 2), "each head has keys of its own"),
                                       ("grouped", (5, 6), (4, 2), "two query heads share a key head"), ("one_head", (4, 8), (1, 1), "one head")):
        (S, D), (H, G) = size(S, D), lesson.size.heads(H, G)
        rng = lesson.rng(f"scores_{what}")
        inputs = {"q": normal(rng, H, D), "keys_q": whole(rng, -127, 127, S, G, D), "keys_scale": np.abs(signed(rng, 0.01, 0.1, S, G))}
        lesson.add(f"scores_from_cache_{what}", "scores_from_cache", says, inputs, run_scores)


def error_cases(lesson):
    rng = lesson.rng("errors")
    predicted = [("one", np.array([0.6], np.float32), "one step"), ("groups", np.abs(signed(rng, 0.1, 2, *lesson.size(3, 4))), "a step for each group"),
                 ("signed", signed(rng, 0.1, 2, 6), "a scale may be negative, as in Q4_0"), ("tiny", np.abs(signed(rng, 1e-4, 1e-3, 5)), "small steps")]
    for what, scale, says in predicted:
        lesson.add(f"predicted_error_{what}", "predicted_error", says, {"scale": scale}, run_predicted_error)
    for what, shape, says in (("one", (1,), "one number"), ("rows", lesson.size(3, 5), "all elements count alike")):
        x = normal(rng, *shape)
        y = (x + signed(rng, 0.1, 0.5, *shape)).astype(np.float32)
        lesson.add(f"measured_error_{what}", "measured_error", says, {"x": x, "y": y}, run_measured_error)
    x = normal(rng, 4)
    lesson.add("measured_error_none", "measured_error", "equal numbers: no error", {"x": x, "y": x}, run_measured_error)


def tie_case(lesson):
    rng = lesson.rng("block_tie")
    x = rng.uniform(-0.9, 0.9, BLOCK).astype(np.float32)
    x[11], x[20] = 1.75, -1.75
    block_of(torch.from_numpy(x))
    lesson.add("quantize_block_tie", "quantize_block", "two elements have the largest magnitude, one of each sign: the first decides", {"x": x},
               run_quantize_block)


def cases(lesson):
    for part in (int8_cases, group_cases, block_cases, affine_cases, product_cases, error_cases, tie_case):
        part(lesson)


def save_held_out(root):
    """The first contexts of the text on which training measured its loss: (row, token), one token more than a context."""
    rows = make_rows(random.Random(987654321), load_tokenizer(WEIGHTS / "stories"), 2, SHAPE.context, make_story)
    Lesson.save(root / "held_out" / "stories", rows.numpy().astype("<i4"))


def make(root, seed):
    write_lesson(root, "24_quantization", seed, cases)
    save_held_out(root)
