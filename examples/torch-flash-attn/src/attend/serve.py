"""uvicorn attend.serve:app"""

import os

import torch
from fastapi import FastAPI
from safetensors.torch import load_model

from attend import model

app = FastAPI(title="attend")
net = model().eval()
load_model(net, os.environ["ATTEND_WEIGHTS"])


@app.get("/continue")
def continue_text(text: str, length: int = 64) -> str:
    """The text with that many of the likeliest bytes behind it."""
    data = torch.tensor([list(text.encode() or b"\n")], device="cuda")
    with torch.inference_mode():
        for _ in range(min(length, 1024)):
            data = torch.cat([data, net(data)[:, -1:].argmax(-1)], 1)
    return bytes(data[0].tolist()).decode(errors="replace")
