"""A language model of bytes: one transformer block with flash attention."""

import torch
from flash_attn import flash_attn_qkvpacked_func
from torch import nn

BYTES = 256


class Model(nn.Module):
    """Logits of the next byte at every position; (batch, length) in, (batch, length, 256) out."""

    def __init__(self, width=512, heads=8):
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(BYTES, width)
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.output = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, BYTES))

    def forward(self, text):
        hidden = self.embedding(text)
        qkv = self.qkv(self.norm(hidden)).unflatten(-1, (3, self.heads, -1))
        hidden = hidden + self.mix(flash_attn_qkvpacked_func(qkv, causal=True).flatten(-2))
        return self.output(hidden)


def model():
    """The model on the GPU, in the half precision that flash attention asks for."""
    return Model().to("cuda", torch.bfloat16)
