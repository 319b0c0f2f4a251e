"""The cases of lesson 06: attention behind a causal mask, and the whole decoder."""
from references.case import write_lesson
from references.decoder_cases import attention_cases, check_attention, decoder_forward, run_sdpa, trained_model
from references.tiny_models import TINY_A, TINY_B, save_tiny
from references.values import attend_inputs, integers, random_tokens


def cases(lesson):
    size = lesson.size
    for what, shape, offset, says in (("one_token", (1, 3), 0, "one token sees itself alone"),
                                      ("two_tokens", (2, 3), 0, "small enough to be read in full"),
                                      ("three_tokens", (3, 2), 0, "the first mask with more than one future key"),
                                      ("square", (4, 4), 0, "T = D: only the values tell the axes apart"),
                                      ("large_scores", (3, 5), 110, "scores above 90: exp overflows unless the maximum is subtracted"),
                                      ("large_future", (4, 3), 0, "the last key has by far the largest score, and counts for nothing before its turn"),
                                      ("seven_tokens", (7, 6), 0, "all sizes differ")):
        T, D = size(*shape)
        inputs = attend_inputs(lesson.rng(f"attend_{what}"), T, T, D, offset)
        if what == "large_future":
            inputs["q"][:, 0], inputs["k"][-1, 0] = 4.0, 60.0  # the last key scores far above 100 for every query
        lesson.add(f"attend_{what}", "sdpa", says, inputs, run_sdpa(True))

    attention_cases(lesson, True)

    forward = lambda what, model, length, says: decoder_forward(
        lesson, what, random_tokens(lesson, what, model, length), says, model)
    forward("one_token", TINY_A, 1, "the smallest model call")
    forward("two_tokens", TINY_A, 2, "small enough to be read in full")
    forward("seven_tokens", TINY_A, 7, "an odd length")
    forward("whole_context_a", TINY_A, None, "every position is used")
    forward("five_tokens", TINY_B, 5, "a head is wider than the model")
    decoder_forward(lesson, "repeated_tokens", integers(5, 5, 5, 2, 2, 5), "only positions and the mask tell equal tokens apart",
                    TINY_B)
    forward("whole_context_b", TINY_B, None, "every position is used")
    for length in (6, 12, 24):
        trained_model(lesson, length, "the trained decoder on the beginning of a story", taps=length == 6)


def make(root, seed):
    check_attention()
    save_tiny(root, seed)
    write_lesson(root, "06_causal_mask", seed, cases)
