"""The cases of lessons 09 to 13 that run a whole model: the tiny random ones, and the trained one of the lesson."""
from functools import partial

import numpy as np
import torch

from references.case import WEIGHTS, write_lesson
from references.decoder_cases import cached_inputs, run_cached_forward, run_prompt
from references.head_cases import check_parts
from references.tiny_models import TINY_HYBRIDS, save_tiny_hybrids
from references.values import DECODER, integers, random_tokens, scalar, signed, story_tokens
from train.hybrid import load_hybrid

PROMPT_LENGTHS = 1, 2, 3, 5, 8, 13, 24, 60, 150, None  # of the trained model's ten; None: its whole context
ROWS = 4  # the last logits of a long prompt say whether it was read


def run_logits(record, a, model):
    record.out("logits", model(a["tokens"])[a["from"]:], "token", "vocabulary")


def whole_models(lesson):
    """What every lesson from 09 to 13 asks of its model."""
    number = lesson.name[:2]
    small = f"references/models/hybrid_{number}"
    other = f"{small}_b" if f"hybrid_{number}_b" in TINY_HYBRIDS else small
    run = run_cached_forward()
    config = lesson.model(small)(torch.float64).config
    tokens_of = partial(random_tokens, lesson)
    cached = partial(cached_inputs, lesson)
    add = lambda what, says, model, values: lesson.add(f"decoder_forward_{what}", "decoder_forward", says, values, run, model)
    last = config.context - 1
    plain = {"one_token": (small, 0, 1, 1, "the beginning of a text"), "first_tokens": (small, 0, 5, 3, "an empty cache"),
             "step": (small, 4, 1, 2, "one token after four"), "chunk": (small, 4, 3, 2, "three tokens after four"),
             "step_after_seven": (other, 7, 1, 1, "one token after seven"), "chunk_after_five": (other, 5, 2, 3, "two tokens after five"),
             "chunk_to_last": (small, last - 3, 4, 0, "the chunk ends at the last position of the context"),
             "last_position": (small, last, 1, 0, "the last position of the context")}
    for what, (model, start, T, free, says) in plain.items():
        add(what, says, model, cached(what, model, start, T, free))
    for what, changed in (("step", "layers.0.k"), ("chunk_after_five", "layers.1.v"), ("last_position", "layers.1.k")):
        model, *where, _ = plain[what]
        values = cached(what, model, *where)
        values[changed][2] += signed(lesson.rng(f"{what} changed"), 1.0, 2.0, *values[changed].shape[1:])
        add(f"{what}_changed", f"row 2 of {changed} differs from what the tokens gave: a model that reads its cache gives other logits",
            model, values)

    values = cached("past_the_end", small, 4, 2, 0)
    values |= {name: array[:5] for name, array in values.items() if name.startswith("layers")}
    lesson.add_error("decoder_forward_past_the_end", "decoder_forward", "the second token has no row in the cache", values,
                     "6 positions do not fit into a cache of 5", small)
    V = config.vocabulary
    values = cached("unknown_token", small, 2, 2, 1) | {"tokens": integers(3, V)}
    lesson.add_error("decoder_forward_unknown_token", "decoder_forward", "an id past the vocabulary", values,
                     f"token id {V} is not below {V}", small)

    for what, model, length, says in (("five_tokens", small, 5, "every split of a prompt gives the logits of the whole"),
                                      ("six_tokens", other, 6, "every split of another prompt"),
                                      ("whole_context", small, None, "every split, up to the last position")):
        lesson.add(f"prompt_{what}", "prompt", says, {"tokens": tokens_of(f"prompt_{what}", model, length)}, run_prompt(), model,
                   taps=length is not None)
    trained_model(lesson)


def trained_model(lesson):
    """Ten prompts that evaluate runs, and one for every split."""
    name = f"hybrid/{lesson.name}"
    directory = WEIGHTS / name
    if not (directory / "model.safetensors").exists():
        for _ in range(len(PROMPT_LENGTHS) + 1):
            lesson.skip()
        return
    context = lesson.model(name)(torch.float64).config.context

    def story(what, length):
        """Beginnings of stories; as many stories as the length asks for."""
        rng, tokens = lesson.rng(what), np.zeros(0, np.int32)
        while len(tokens) < length:
            tokens = np.concatenate([tokens, story_tokens(WEIGHTS / DECODER, rng, length - len(tokens))])
        return tokens

    for length in PROMPT_LENGTHS:
        length = length or context
        tokens = story(f"logits_story_{length}", length)
        says = f"the trained model on {length} token{'s' if length > 1 else ''} of a story" + \
            (", up to the last position of the context" if length == context else "")
        lesson.add(f"logits_story_{length}", "logits", says, {"tokens": tokens, "from": scalar(max(0, length - ROWS))}, run_logits, name)
    lesson.add("prompt_story", "prompt", "every split, on the trained model", {"tokens": story("prompt_story", 9)}, run_prompt(), name,
               taps=False)


def make_hybrid_lesson(root, name, seed, cases, added=lambda lesson: None):
    """Write the models of a lesson and its cases: those of parts, those of whole models, and what was added later."""
    def all_cases(lesson):
        cases(lesson)
        whole_models(lesson)
        added(lesson)

    check_parts()
    save_tiny_hybrids(root, name, seed)
    write_lesson(root, name, seed, all_cases, load_hybrid)
