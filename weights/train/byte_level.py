"""Byte-level BPE as Llama 3 has it: how a text is cut, and the visible character that stands for each byte.

needs: tokenizers.
"""
from tokenizers import Regex, pre_tokenizers

# How Llama 3 cuts text into pieces: contractions, words with the space or sign in front of them, numbers of up to three
# digits, signs with the line ends after them, line ends, other spaces.
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
           r"|\s+(?!\S)|\s+")


def llama3_cut():
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PATTERN), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def byte_of_character():
    """The library stores each byte as a visible character; here it is undone."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(256 + i): byte for i, byte in enumerate(hidden)}
