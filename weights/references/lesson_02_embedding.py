"""The cases of lesson 02: the rows of two tables, and a decoder of them alone."""
import numpy as np
import torch
from torch import nn

from references.case import write_lesson
from references.decoder_cases import partial_models
from references.tiny_models import TINY_A, save_tiny
from references.values import integers, normal


def run_embed(record, a, model):
    tokens = a["tokens"]
    token = nn.Embedding.from_pretrained(a["token_embedding"])
    position = nn.Embedding.from_pretrained(a["position_embedding"])
    record.out("x", token(tokens) + position(torch.arange(len(tokens))), "token", "channel")


def cases(lesson):
    V, S, C = lesson.size(7, 5, 4)

    def inputs(what, *tokens):
        rng = lesson.rng(what)
        return {"tokens": integers(*tokens), "token_embedding": normal(rng, V, C), "position_embedding": normal(rng, S, C)}

    for what, tokens, says in (("one_token", [3], "position 0"),
                               ("two_tokens", [4, 1], "small enough to be read in full"),
                               ("repeated", [2, 5, 2, 2], "the same token at several positions"),
                               ("first_and_last_id", [V - 1, 0, V - 1], "the first and the last row of the table"),
                               ("all_positions", [1, 6, 0, 3, 5, 2, 4, 1][:S], "every position is used")):
        lesson.add(f"embed_{what}", "embed", says, inputs(what, *tokens), run_embed)
    lesson.add_error("embed_id_too_large", "embed", "the id after the last one", inputs("id_too_large", 1, V),
                     f"token id {V} is not below {V}")
    lesson.add_error("embed_id_negative", "embed", "ids begin at 0", inputs("id_negative", -1, 2), "token id -1 is negative")
    lesson.add_error("embed_too_many_tokens", "embed", "there is no row for the last position",
                     inputs("too_many_tokens", *np.arange(S + 1) % V), f"{S + 1} tokens do not fit into {S} positions")
    partial_models(lesson)
    context = lesson.model(TINY_A)(torch.float64).config.context
    lesson.add_error("decoder_forward_too_many_tokens", "decoder_forward", "there is no row for the last position",
                     {"tokens": integers(*range(context + 1))}, f"{context + 1} tokens do not fit into {context} positions", TINY_A)


def make(root, seed):
    save_tiny(root, seed)
    write_lesson(root, "02_embedding", seed, cases)
