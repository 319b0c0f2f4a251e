"""The cases of lesson 09: several heads."""
from references.head_cases import HEADS, attend_cases, attention_cases, cached, heads_attention_inputs, split_heads
from references.hybrid_cases import make_hybrid_lesson
from references.values import normal, scalar


def run_split_heads(record, a, model):
    record.out("out", split_heads(a["x"], a["heads"]), "token", *HEADS)


def cases(lesson):
    for what, (T, H, D), says in (("one_token", (1, 3, 2), "a single row"), ("two_tokens", (2, 2, 3), "small enough to be read in full"),
                                  ("square", (4, 4, 4), "T = H = D: only the values tell the axes apart"),
                                  ("one_head", (3, 1, 4), "a model with one head is the one before this lesson"),
                                  ("five_tokens", (5, 4, 3), "all sizes differ")):
        H, _ = lesson.size.heads(H, H)
        x = normal(lesson.rng(f"split_heads_{what}"), T, H * lesson.size.width(D))
        lesson.add(f"split_heads_{what}", "split_heads", says, {"x": x, "heads": scalar(H)}, run_split_heads)
    x = normal(lesson.rng("split_heads_remainder"), 2, 10)
    lesson.add_error("split_heads_remainder", "split_heads", "10 columns are not four heads: two would belong to none",
                     {"x": x, "heads": scalar(4)}, "10 columns do not divide into 4 heads")

    attend_cases(lesson, (
        ("one_token", (1, 1, 2, 2, 3), "one token sees itself alone, in every head"),
        ("one_head", (3, 4, 1, 1, 3), "one head is lesson 08"),
        ("step", (1, 4, 3, 3, 2), "one query after a past"),
        ("two_after_one", (2, 3, 2, 2, 4), "small enough to be read in full"),
        ("square", (4, 4, 4, 4, 4), "T = S = H = D: only the values tell the axes apart"),
        ("more_heads", (2, 5, 6, 6, 3), "more heads than tokens"),
        ("three_after_four", (3, 7, 4, 4, 6), "all sizes differ"),
        ("large_scores", (2, 5, 4, 4, 5), "scores above 90 in one head and below -120 in the next: every row needs its own maximum")))
    attention_cases(lesson, (
        ("first_tokens", (3, 4, 2, 2, 3), (0, 2), "an empty cache"),
        ("step", (1, 5, 3, 3, 2), (3, 2), "one token after three"),
        ("chunk", (2, 7, 4, 4, 3), (3, 3), "two tokens after three"),
        ("to_capacity", (3, 5, 2, 2, 6), (2, 0), "the last row of the cache is written"),
        ("as_wide", (3, 0, 3, 3, 4), (1, 1), "H heads of width D are as wide as the model, as in most models"),
        ("square", (4, 4, 4, 4, 4), (4, 1), "T = C = H = D = start_pos: only the values tell the axes apart")), kv_heads=False)
    rng = lesson.rng("attention_remainder")
    inputs = cached(rng, heads_attention_inputs(rng, 2, 5, 2, 2, 6, False), 0, 1) | {"heads": scalar(5)}
    lesson.add_error("attention_remainder", "attention", "12 rows of the projections are not five heads", inputs,
                     "12 rows do not divide into 5 heads")


def make(root, seed):
    make_hybrid_lesson(root, "09_multi_head", seed, cases)
