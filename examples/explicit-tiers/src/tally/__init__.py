"""Says which bytes a file is made of."""

import bytecount
import numpy as np


def most_frequent(data, count=5):
    """Pairs of byte and number of times, the most frequent first."""
    counts = np.frombuffer(bytecount.count(data), np.uint64)
    order = np.argsort(-counts.astype(np.int64), kind="stable")[:count]
    return [(int(byte), int(counts[byte])) for byte in order if counts[byte]]
