"""The decoder of part I, built from PyTorch's own modules.

train_decoder.py trains it; references/ runs it in float64 for the saved answers and in float32 for their budgets.
A module has the name that its tensors have in model.safetensors. Letters: B sequences, T tokens in this call, S tokens
attended to, C model width, D head width, F feed-forward width, V vocabulary.
"""
import json
import math
import struct
from collections import namedtuple
from pathlib import Path

import numpy as np
import torch
from torch import nn

Config = namedtuple("Config", "context channels head_dim hidden layers vocabulary epsilon")

# What stands between the embedding and the output projection. The lessons add one part after the other.
Parts = namedtuple("Parts", "final_norm feed_forward attention mask", defaults=(True, True, True, True))
PARTS = {
    "02_embedding": Parts(False, False, False, False),
    "03_layer_norm": Parts(True, False, False, False),
    "04_feed_forward": Parts(True, True, False, False),
    "05_attention": Parts(True, True, True, False),
    "06_causal_mask": Parts(True, True, True, True),
}

Cache = namedtuple("Cache", "k v")  # of one layer; both (capacity, D)


def no_tap(name, tensor, *dims):
    """The tap of a run that records nothing."""


def sdpa(q, k, v, mask=True, tap=no_tap):
    """softmax(q·kᵀ/√D)·v.  q: (..., T, D); k, v: (..., S, D). The queries are the last T of the S tokens."""
    T, S = q.shape[-2], k.shape[-2]
    scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.shape[-1])  # (..., T, S)
    tap("scores", scores, "query", "key")
    if mask:
        future = torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)  # key s is after query t, which stands at S - T + t
        scores = scores.masked_fill(future, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    tap("weights", weights, "query", "key")
    return torch.matmul(weights, v)  # (..., T, D)


class Attention(nn.Module):
    def __init__(self, channels, head_dim):
        super().__init__()
        self.q = nn.Linear(channels, head_dim)
        self.k = nn.Linear(channels, head_dim)
        self.v = nn.Linear(channels, head_dim)
        self.o = nn.Linear(head_dim, channels)

    def forward(self, x, mask=True, cache=None, start_pos=0, tap=no_tap):
        """x: (..., T, C) -> (..., T, C). With a cache, row t of x stands at position start_pos + t."""
        q, k, v = self.q(x), self.k(x), self.v(x)  # (..., T, D)
        tap("q", q, "token", "dim")
        tap("k", k, "token", "dim")
        tap("v", v, "token", "dim")
        if cache:
            end = start_pos + len(x)
            cache.k[start_pos:end] = k
            cache.v[start_pos:end] = v
            k, v = cache.k[:end], cache.v[:end]  # (S, D)
        attn_out = sdpa(q, k, v, mask, tap)
        tap("attn_out", attn_out, "token", "dim")
        return self.o(attn_out)


class FeedForward(nn.Module):
    def __init__(self, channels, hidden):
        super().__init__()
        self.up = nn.Linear(channels, hidden)
        self.relu = nn.ReLU()
        self.down = nn.Linear(hidden, channels)

    def forward(self, x, tap=no_tap):
        up = self.up(x)  # (..., T, F)
        tap("up", up, "token", "hidden")
        hidden = self.relu(up)
        tap("hidden", hidden, "token", "hidden")
        return self.down(hidden)  # (..., T, C)


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.channels, config.epsilon)
        self.attention = Attention(config.channels, config.head_dim)
        self.ffn_norm = nn.LayerNorm(config.channels, config.epsilon)
        self.feed_forward = FeedForward(config.channels, config.hidden)

    def add_attention(self, x, mask=True, cache=None, start_pos=0, tap=no_tap):
        normed = self.attention_norm(x)
        tap("attention_normed", normed, "token", "channel")
        y = self.attention(normed, mask, cache, start_pos, tap)
        tap("attention", y, "token", "channel")
        return x + y

    def add_feed_forward(self, x, tap=no_tap):
        normed = self.ffn_norm(x)
        tap("normed", normed, "token", "channel")
        return x + self.feed_forward(normed, tap)


class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.token_embedding = nn.Embedding(config.vocabulary, config.channels)
        self.position_embedding = nn.Embedding(config.context, config.channels)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.final_norm = nn.LayerNorm(config.channels, config.epsilon)
        self.output = nn.Linear(config.channels, config.vocabulary)

    def embed(self, tokens, start_pos):
        positions = start_pos + torch.arange(tokens.shape[-1])
        return self.token_embedding(tokens) + self.position_embedding(positions)  # (..., T, C)

    def forward(self, tokens, parts=Parts(), caches=None, start_pos=0, tap=no_tap):
        """tokens: (..., T) -> logits (..., T, V). caches: one Cache a layer; the call writes its rows from start_pos on."""
        x = self.embed(tokens, start_pos)  # (..., T, C)
        tap("x", x, "token", "channel")

        for i, layer in enumerate(self.layers):
            layer_tap = lambda name, tensor, *dims: tap(f"layers.{i}.{name}", tensor, *dims)
            if parts.attention:
                x = layer.add_attention(x, parts.mask, caches and caches[i], start_pos, layer_tap)
            if parts.feed_forward:
                x = layer.add_feed_forward(x, layer_tap)
                layer_tap("x", x, "token", "channel")

        if parts.final_norm:
            if isinstance(self.final_norm, nn.LayerNorm):
                tap("mean", x.mean(-1), "token")
                tap("variance", x.var(-1, unbiased=False), "token")
            x = self.final_norm(x)
            tap("normed", x, "token", "channel")
        return self.output(x)  # (..., T, V)

    def new_caches(self):
        shape, dtype = (self.config.context, self.config.head_dim), self.output.weight.dtype
        return [Cache(torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype)) for _ in self.layers]


# Model directories

def save_safetensors(path, tensors):
    """tensors: name -> float32 array. The data starts at a multiple of 8 bytes."""
    header, offset = {}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array, "<f4").tobytes())


def load_safetensors(path):
    """Name -> float32 array."""
    data = Path(path).read_bytes()
    size = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            raise ValueError(f"{path}: {name} is {entry['dtype']}, want F32")
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[8 + size + begin:8 + size + end], "<f4").reshape(entry["shape"])
    return tensors


def save_model(directory, model, more={}):
    """Write config.json, with `more` among its keys, and model.safetensors."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    c = model.config
    config = {
        "model_type": "rungs_decoder", "max_position_embeddings": c.context, "hidden_size": c.channels,
        "head_dim": c.head_dim, **more, "intermediate_size": c.hidden, "num_hidden_layers": c.layers, "vocab_size": c.vocabulary,
        "layer_norm_eps": c.epsilon, "bos_token_id": 0, "eos_token_id": 1, "torch_dtype": "float32",
    }
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    state = {name: value.detach().float().numpy() for name, value in model.state_dict().items()}
    save_safetensors(directory / "model.safetensors", state)


def load_model(directory, dtype=torch.float32):
    directory = Path(directory)
    c = json.loads((directory / "config.json").read_text())
    model = Decoder(Config(c["max_position_embeddings"], c["hidden_size"], c["head_dim"], c["intermediate_size"],
                           c["num_hidden_layers"], c["vocab_size"], c["layer_norm_eps"]))
    state = load_safetensors(directory / "model.safetensors")
    model.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in state.items()})
    return model.to(dtype).eval()
