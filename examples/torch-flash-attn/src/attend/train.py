"""python -m attend.train TEXT WEIGHTS"""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_model
from torch.nn.functional import cross_entropy
from torch.utils.tensorboard import SummaryWriter
from tqdm import trange

from attend import BYTES, model

STEPS, BATCH, LENGTH = 1000, 32, 512


def main(text, weights):
    data = torch.frombuffer(bytearray(Path(text).read_bytes()), dtype=torch.uint8).long().cuda()
    windows = data.unfold(0, LENGTH + 1, 1)
    net = model()
    forward = torch.compile(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4)
    with SummaryWriter() as log:
        for step in trange(STEPS):
            batch = windows[torch.randint(len(windows), (BATCH,), device="cuda")]
            logits = forward(batch[:, :-1])
            loss = cross_entropy(logits.float().view(-1, BYTES), batch[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.add_scalar("loss", loss.item(), step)
    save_model(net, weights)


if __name__ == "__main__":
    main(*sys.argv[1:])
