"""Says what the image computes with."""


def main():
    import numpy
    import requests
    import torch

    product = torch.arange(6.0).reshape(2, 3) @ torch.ones(3, 2)
    assert product.tolist() == [[3.0, 3.0], [12.0, 12.0]], product
    print("torch", torch.__version__, "numpy", numpy.__version__, "requests", requests.__version__)
