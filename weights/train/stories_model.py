"""weights/stories as PyTorch sees it: the model of hybrid.py with all switches on and a tied output, in Hugging Face's layout.

needs: torch, safetensors, tokenizers.
"""
import json
import os
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from train.byte_level import llama3_cut
from train.hybrid import Config, Hybrid

BOS, EOS = 0, 1
SHAPE = Config(context=512, channels=192, head_dim=32, hidden=512, layers=5, vocabulary=1024, epsilon=1e-5,
               heads=6, kv_heads=2, theta=10000.0, rms=True, gated=True)
DRAFT_SHAPE = SHAPE._replace(channels=64, hidden=128, layers=2, heads=2, kv_heads=1)  # two layers: one cannot look up a name

# Our name of a layer's tensor -> Hugging Face's.
LAYER_NAMES = {
    "attention_norm": "input_layernorm", "attention.q": "self_attn.q_proj", "attention.k": "self_attn.k_proj",
    "attention.v": "self_attn.v_proj", "attention.o": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
    "feed_forward.gate": "mlp.gate_proj", "feed_forward.up": "mlp.up_proj", "feed_forward.down": "mlp.down_proj",
}
MODEL_NAMES = {"token_embedding.weight": "model.embed_tokens.weight", "final_norm.weight": "model.norm.weight"}


def tied(model):
    model.output.weight = model.token_embedding.weight
    return model


def hf_name(name):
    if name in MODEL_NAMES:
        return MODEL_NAMES[name]
    _, i, rest = name.split(".", 2)
    return f"model.layers.{i}.{LAYER_NAMES[rest.removesuffix('.weight')]}.weight"


def write(path, text):
    """The file is never half there."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def rounded(model):
    """A copy of the model with the values that bfloat16 can hold."""
    copy = tied(Hybrid(model.config))
    copy.load_state_dict({name: value.bfloat16().float() for name, value in model.state_dict().items()})
    return copy.eval()


def export(directory, model):
    """Write config.json, generation_config.json and model.safetensors in bf16. The tied output is not stored."""
    directory.mkdir(parents=True, exist_ok=True)
    c = model.config
    config = {
        "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": BOS,
        "eos_token_id": EOS, "head_dim": c.head_dim, "hidden_act": "silu", "hidden_size": c.channels, "initializer_range": 0.02,
        "intermediate_size": c.hidden, "max_position_embeddings": c.context, "mlp_bias": False, "model_type": "llama",
        "num_attention_heads": c.heads, "num_hidden_layers": c.layers, "num_key_value_heads": c.kv_heads, "pretraining_tp": 1,
        "rms_norm_eps": c.epsilon, "rope_scaling": None, "rope_theta": c.theta, "tie_word_embeddings": True,
        "torch_dtype": "bfloat16", "transformers_version": "4.46.3", "use_cache": True, "vocab_size": c.vocabulary,
    }
    generation = {"_from_model_config": True, "bos_token_id": BOS, "do_sample": True, "eos_token_id": EOS, "temperature": 0.6,
                  "top_p": 0.9, "transformers_version": "4.46.3"}
    state = {hf_name(name): value.bfloat16().contiguous() for name, value in model.state_dict().items() if name != "output.weight"}
    part = directory / "model.safetensors.part"
    save_file(state, part, metadata={"format": "pt"})
    part.chmod(0o644)  # the library makes it for its owner alone
    os.replace(part, directory / "model.safetensors")
    write(directory / "config.json", json.dumps(config, indent=2) + "\n")
    write(directory / "generation_config.json", json.dumps(generation, indent=2) + "\n")


def load_stories(directory, dtype=torch.float32):
    """The exported model: the forward pass of hybrid.py on the bf16 weights."""
    c = json.loads((Path(directory) / "config.json").read_text())
    model = tied(Hybrid(SHAPE._replace(hidden=c["intermediate_size"], channels=c["hidden_size"], layers=c["num_hidden_layers"])))
    stored = load_file(Path(directory) / "model.safetensors")
    stored["output"] = stored[MODEL_NAMES["token_embedding.weight"]]
    model.load_state_dict({name: stored["output" if name == "output.weight" else hf_name(name)].float() for name in model.state_dict()})
    return model.to(dtype).eval()


def train_tokenizer(directory, texts):
    """Byte-level BPE as LLaMA 3 has it; <bos> goes in front of every text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = llama3_cut()
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=SHAPE.vocabulary, special_tokens=["<bos>", "<eos>"], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A <bos> $B",
                                                             special_tokens=[("<bos>", BOS)])
    assert tokenizer.get_vocab_size() == SHAPE.vocabulary and tokenizer.token_to_id("<eos>") == EOS
    directory.mkdir(parents=True, exist_ok=True)
    write(directory / "tokenizer.json", tokenizer.to_str(pretty=True) + "\n")
    settings = {"bos_token": "<bos>", "clean_up_tokenization_spaces": False, "eos_token": "<eos>",
                "model_input_names": ["input_ids", "attention_mask"], "model_max_length": SHAPE.context,
                "tokenizer_class": "PreTrainedTokenizerFast"}
    write(directory / "tokenizer_config.json", json.dumps(settings, indent=2) + "\n")
    return tokenizer


def load_tokenizer(directory):
    return Tokenizer.from_file(str(Path(directory) / "tokenizer.json"))
