"""The cases of lesson 11: rotary positions."""
import torch

from references.head_cases import HEADS, attention_cases, rope_table, apply_rope, table_inputs
from references.hybrid_cases import make_hybrid_lesson
from references.values import normal, scalar


def run_rope_table(record, a, model):
    # The angle is a double in any program, so that its error is no part of the tolerance.
    for name, table in zip(("cos", "sin"), rope_table(a["theta"], a["context"], a["head_dim"], torch.float64)):
        record.out(name, table.to(record.dtype), "position", "dim")


def run_apply_rope(record, a, model):
    record.out("x", apply_rope(a["x"], a["cos"], a["sin"], a["start_pos"]), "token", *HEADS)


def cases(lesson):
    size = lesson.size
    for what, theta, context, D, says in (("one_pair", 10000.0, 5, 2, "D = 2: one pair, which turns by one radian a position"),
                                          ("two_pairs", 10000.0, 4, 4, "small enough to be read in full"),
                                          ("small_theta", 100.0, 7, 6, "another base"),
                                          ("large_theta", 500000.0, 12, 10, "the base of newer models"),
                                          ("wide", 10000.0, 6, 64, "a head as wide as in large models"),
                                          ("late", 10000.0, 130, 8, "late positions, far beyond one turn of the first pair")):
        inputs = {"theta": scalar(theta), "context": scalar(context + size.more), "head_dim": scalar(size.width(D))}
        lesson.add(f"rope_table_{what}", "rope_table", says, inputs, run_rope_table)

    for what, (T, H, D), start, context, says in (
            ("position_0", (1, 2, 4), 0, 3, "position 0 stays as it is"),
            ("two_tokens", (2, 1, 4), 0, 2, "small enough to be read in full"),
            ("one_pair", (3, 2, 2), 1, 6, "D = 2: both layouts of pairs are the same"),
            ("step", (1, 3, 6), 5, 9, "one token after five stands at position 5"),
            ("chunk", (3, 2, 8), 4, 9, "three tokens, each at its own position"),
            ("square", (4, 4, 4), 3, 8, "T = H = D: only the values tell the axes apart"),
            ("late", (2, 3, 6), 255, 257, "up to the last row of a long table")):
        (T,), (H, _), D = size(T), size.heads(H, H), size.width(D)
        inputs = {"x": normal(lesson.rng(f"rotate_{what}"), T, H, D), **table_inputs(10000.0, context + size.more, D),
                  "start_pos": scalar(start)}
        lesson.add(f"rotate_{what}", "apply_rope", says, inputs, run_apply_rope)
    inputs = {"x": normal(lesson.rng("rotate_past_the_end"), 3, 2, 4), **table_inputs(10000.0, 6, 4), "start_pos": scalar(4)}
    lesson.add_error("rotate_past_the_end", "apply_rope", "the third token stands at a position that the table does not have", inputs,
                     "7 positions do not fit into 6")

    attention_cases(lesson, (
        ("first_tokens", (3, 4, 4, 2, 4), (0, 2), "an empty cache"),
        ("step", (1, 5, 6, 3, 2), (3, 2), "one token after three stands at position 3"),
        ("chunk", (2, 7, 6, 2, 6), (3, 3), "two tokens after three; keys come rotated into the cache, values as they are"),
        ("as_many", (2, 5, 3, 3, 4), (7, 1), "G = H"),
        ("to_capacity", (3, 5, 4, 2, 8), (11, 0), "late positions, up to the last row of the cache")), theta=100.0)


def late_table(lesson):
    inputs = {"theta": scalar(10.0), "context": scalar(3000), "head_dim": scalar(4)}
    lesson.add("rope_table_very_late", "rope_table", "positions so late that an angle in float32 has lost digits", inputs, run_rope_table)


def make(root, seed):
    make_hybrid_lesson(root, "11_rope", seed, cases, late_table)
