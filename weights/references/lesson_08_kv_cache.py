"""The cases of lesson 08: attention and the decoder with caches of keys and values."""
from functools import partial

import torch

from references.case import WEIGHTS, write_lesson
from references.decoder_cases import attention_module, cached_inputs, run_sdpa, run_cached_forward, run_prompt
from references.sampling import generate_cases
from references.tiny_models import TINY_A, TINY_B, save_tiny
from references.values import (DECODER, attend_inputs, attention_inputs, filled_cache, integers, normal, random_tokens, scalar, signed,
                               story_tokens)
from train.torch_decoder import Cache


def run_attention(record, a, model):
    cache = Cache(a["cache.k"], a["cache.v"])
    out = attention_module(a)(a["x"], cache=cache, start_pos=a["start_pos"], tap=record.tap)
    record.out("out", out, "token", "channel")
    record.out("cache.k", cache.k, "position", "dim")
    record.out("cache.v", cache.v, "position", "dim")


def cached_attention(lesson):
    for what, T, S, D, offset, says in (("one_token", 1, 1, 3, 0, "one token sees itself alone"),
                                        ("no_past", 3, 3, 2, 0, "without a past the mask is that of lesson 06"),
                                        ("step", 1, 4, 3, 0, "one query after a past sees every key"),
                                        ("two_after_one", 2, 3, 4, 0, "small enough to be read in full"),
                                        ("two_after_three", 2, 5, 3, 0, "query t stands at position S - T + t"),
                                        ("three_after_four", 3, 7, 6, 0, "several queries after a longer past"),
                                        ("large_scores", 2, 5, 5, 110, "scores above 90 after a past")):
        past, (T, D) = S - T, lesson.size(T, D)
        inputs = attend_inputs(lesson.rng(f"attend_{what}"), T, past + T, D, offset)
        lesson.add(f"attend_{what}", "sdpa", says, inputs, run_sdpa(True))

    for what, T, C, D, start, free, says in (
            ("first_tokens", 3, 4, 2, 0, 2, "an empty cache"), ("step", 1, 3, 4, 3, 2, "one token after three"),
            ("chunk", 2, 5, 3, 3, 3, "two tokens after three"), ("to_capacity", 3, 4, 6, 2, 0, "the last row of the cache is written"),
            ("square", 4, 4, 4, 4, 1, "T = D = C = start_pos: only the values tell the axes apart")):
        rng, (T, C, D) = lesson.rng(f"attention_{what}"), lesson.size(T, C, D)
        inputs = attention_inputs(rng, T, C, D)
        module = attention_module({name: torch.from_numpy(array).double() for name, array in inputs.items()})
        prefix = torch.from_numpy(normal(rng, start, C)).double()
        with torch.no_grad():
            inputs |= {"start_pos": scalar(start), "cache.k": filled_cache(rng, start + T + free, module.k(prefix)),
                       "cache.v": filled_cache(rng, start + T + free, module.v(prefix))}
        lesson.add(f"attention_{what}", "attention", says, inputs, run_attention)


def cached_decoder(lesson):
    run = run_cached_forward("normed")
    inputs = partial(cached_inputs, lesson)
    last = lesson.model(TINY_A)(torch.float64).config.context - 1
    plain = [("first_tokens", TINY_A, 0, 5, "an empty cache"), ("step", TINY_A, 4, 1, "one token after four"),
             ("chunk", TINY_A, 4, 3, "three tokens after four"), ("step_wide_head", TINY_B, 7, 1, "a head is wider than the model"),
             ("chunk_wide_head", TINY_B, 5, 2, "a head is wider than the model"),
             ("chunk_to_last", TINY_A, last - 3, 4, "the chunk ends at the last position"),
             ("last_position", TINY_A, last, 1, "the last position of the context")]
    for what, model, start, T, says in plain:
        lesson.add(f"decoder_forward_{what}", "decoder_forward", says, inputs(what, model, start, T), run, model)

    for what, changed in (("step", "layers.0.k"), ("chunk", "layers.1.v"), ("step_wide_head", "layers.1.k"),
                          ("last_position", "layers.0.v")):
        _, model, start, T, _ = next(case for case in plain if case[0] == what)
        values = inputs(what, model, start, T)
        values[changed][2] += signed(lesson.rng(f"{what} changed"), 1.0, 2.0, values[changed].shape[1])
        lesson.add(f"decoder_forward_{what}_changed", "decoder_forward",
                   f"row 2 of {changed} differs from what the tokens gave: a model that reads its cache gives other logits",
                   values, run, model)

    values = inputs("past_the_end", TINY_A, last, 1)
    values["tokens"] = integers(3, 4)
    lesson.add_error("decoder_forward_past_the_end", "decoder_forward", "the second token has no position and no row in the cache",
                     values, f"{last + 2} positions do not fit into {last + 1}", TINY_A)


def prompts(lesson):
    for what, model, length, says in (("five_tokens", TINY_A, 5, "every split of a prompt gives the logits of the whole"),
                                      ("six_tokens", TINY_B, 6, "every split, with a head wider than the model"),
                                      ("whole_context", TINY_A, None, "every split, up to the last position")):
        tokens = random_tokens(lesson, f"prompt_{what}", model, length)
        lesson.add(f"prompt_{what}", "prompt", says, {"tokens": tokens}, run_prompt("normed"), model)
    if not (WEIGHTS / DECODER / "model.safetensors").exists():
        lesson.skip()
        return
    tokens = story_tokens(WEIGHTS / DECODER, lesson.rng("prompt_story"), 10)
    lesson.add("prompt_story", "prompt", "every split, on the trained decoder", {"tokens": tokens}, run_prompt("normed"), DECODER)


def cases(lesson):
    cached_attention(lesson)
    cached_decoder(lesson)
    prompts(lesson)
    generate_cases(lesson)


def make(root, seed):
    save_tiny(root, seed)
    write_lesson(root, "08_kv_cache", seed, cases)
