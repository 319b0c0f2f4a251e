"""The cases of lessons 09 to 13 that run a whole model: the tiny random ones, and the trained one of the lesson."""
import numpy as np
import torch

from reference_case import WEIGHTS
from reference_values import filled_cache, integers, scalar, signed, story_tokens
from tiny_hybrid import TINY_HYBRIDS
from torch_decoder import Cache

PROMPT_LENGTHS = 1, 2, 3, 5, 8, 13, 24, 60, 150, None  # of the trained model's ten; None: its whole context
ROWS = 4  # the last logits of a long prompt say whether it was read


def quiet(record, *names):
    """A tap for all but mean and variance, and tensors whose name ends with one of `names`."""
    return lambda name, *rest: name in ("mean", "variance") or name.endswith(names) or record.tap(name, *rest)


def run_decoder_forward(record, a, model):
    """The new keys and values are the new rows of the caches that come out, so they are no taps of their own."""
    caches = [Cache(a[f"layers.{i}.k"], a[f"layers.{i}.v"]) for i in range(len(model.layers))]
    logits = model(a["tokens"], caches=caches, start_pos=a["start_pos"], tap=quiet(record, ".k", ".v"))
    record.out("logits", logits, "token", "vocabulary")
    for i, cache in enumerate(caches):
        record.out(f"layers.{i}.k", cache.k, "position", "head", "dim")
        record.out(f"layers.{i}.v", cache.v, "position", "head", "dim")


def run_logits(record, a, model):
    record.out("logits", model(a["tokens"])[a["from"]:], "token", "vocabulary")


def run_prompt(record, a, model):
    record.out("logits", model(a["tokens"], tap=quiet(record)), "token", "vocabulary")


def whole_models(lesson):
    """What every lesson from 09 to 13 asks of its model."""
    number = lesson.name[:2]
    small = f"references/models/hybrid_{number}"
    other = f"{small}_b" if f"hybrid_{number}_b" in TINY_HYBRIDS else small
    sizes = {name: lesson.model(name)(torch.float64).config for name in (small, other)}

    def tokens_of(what, model, length=None):
        """Distinct where there are enough; of the whole context where no length is given."""
        rng, length = lesson.rng(what), length or sizes[model].context
        order = rng.permutation(sizes[model].vocabulary)
        return integers(*np.concatenate([order, rng.permutation(order)])[:length])

    def cached(what, model_name, start, T, free):
        """T tokens after `start` others, whose keys and values are in caches with room for a few more."""
        rng, tokens = lesson.rng(f"decoder_forward_{what}"), tokens_of(f"tokens of {model_name}", model_name)
        model = lesson.model(model_name)(torch.float64)
        caches = model.new_caches()
        with torch.no_grad():
            model(torch.from_numpy(tokens[:start].astype(np.int64)), caches=caches)
        result = {"tokens": tokens[start:start + T], "start_pos": scalar(start)}
        for i, cache in enumerate(caches):
            for letter, past in zip("kv", cache):
                result[f"layers.{i}.{letter}"] = filled_cache(rng, start + T + free, past[:start])
        return result

    add = lambda what, says, model, values: lesson.add(f"decoder_forward_{what}", "decoder_forward", says, values,
                                                       run_decoder_forward, model)
    last = sizes[small].context - 1
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
    V = sizes[small].vocabulary
    values = cached("unknown_token", small, 2, 2, 1) | {"tokens": integers(3, V)}
    lesson.add_error("decoder_forward_unknown_token", "decoder_forward", "an id past the vocabulary", values,
                     f"token id {V} is not below {V}", small)

    for what, model, length, says in (("five_tokens", small, 5, "every split of a prompt gives the logits of the whole"),
                                      ("six_tokens", other, 6, "every split of another prompt"),
                                      ("whole_context", small, None, "every split, up to the last position")):
        lesson.add(f"prompt_{what}", "prompt", says, {"tokens": tokens_of(f"prompt_{what}", model, length)}, run_prompt, model,
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
            tokens = np.concatenate([tokens, story_tokens(WEIGHTS / "decoder", rng, length - len(tokens))])
        return tokens

    for length in PROMPT_LENGTHS:
        length = length or context
        tokens = story(f"logits_story_{length}", length)
        says = f"the trained model on {length} token{'s' if length > 1 else ''} of a story" + \
            (", up to the last position of the context" if length == context else "")
        lesson.add(f"logits_story_{length}", "logits", says, {"tokens": tokens, "from": scalar(max(0, length - ROWS))}, run_logits, name)
    lesson.add("prompt_story", "prompt", "every split, on the trained model", {"tokens": story("prompt_story", 9)}, run_prompt, name,
               taps=False)
