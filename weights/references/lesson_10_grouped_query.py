"""The cases of lesson 10: query heads that share key/value heads."""
from references.head_cases import attend_cases, attention_cases, cached, heads_attention_inputs, heads_inputs
from references.hybrid_cases import make_hybrid_lesson
from references.values import normal, scalar


def cases(lesson):
    attend_cases(lesson, (
        ("one_token", (1, 1, 6, 3, 2), "one token: each query head returns the value of the head that it reads"),
        ("two_tokens", (2, 2, 4, 2, 3), "small enough to be read in full"),
        ("one_kv_head", (3, 4, 4, 1, 2), "G = 1: all query heads read the same head"),
        ("as_many", (3, 5, 3, 3, 4), "G = H is lesson 09"),
        ("step", (1, 5, 6, 3, 4), "one query after a past; pairs of heads"),
        ("threes", (2, 5, 6, 2, 3), "two groups of three: h / (H/G) is neither h / G nor h % G"),
        ("three_after_four", (3, 7, 8, 2, 6), "all sizes differ"),
        ("large_scores", (2, 5, 6, 3, 5), "scores above 90 in one group and below -120 in the next")))
    rng = lesson.rng("attend_remainder")
    inputs = heads_inputs(rng, 2, 3, 4, 2, 3)
    inputs |= {name: normal(rng, 3, 3, 3) for name in "kv"}
    lesson.add_error("attend_remainder", "sdpa", "four query heads cannot share three", inputs, "4 heads do not divide by 3")
    attention_cases(lesson, (
        ("first_tokens", (3, 4, 4, 2, 3), (0, 2), "an empty cache"),
        ("step", (1, 5, 6, 3, 2), (3, 2), "one token after three"),
        ("chunk", (2, 7, 6, 2, 3), (3, 3), "two tokens after three; groups of three"),
        ("one_kv_head", (2, 5, 3, 1, 4), (2, 1), "G = 1: the cache holds one head"),
        ("as_many", (2, 5, 3, 3, 2), (2, 1), "G = H is lesson 09"),
        ("to_capacity", (3, 5, 4, 2, 6), (2, 0), "the last row of the cache is written"),
        ("as_wide", (3, 0, 6, 3, 4), (1, 1), "H heads of width D are as wide as the model, as in most models")))
    rng = lesson.rng("attention_remainder")
    inputs = cached(rng, heads_attention_inputs(rng, 2, 5, 4, 2, 6), 0, 1) | {"kv_heads": scalar(3)}
    lesson.add_error("attention_remainder", "attention", "four query heads cannot share three", inputs, "4 heads do not divide by 3")


def make(root, seed):
    make_hybrid_lesson(root, "10_grouped_query", seed, cases)
