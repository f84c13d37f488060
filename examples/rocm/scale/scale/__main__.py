from array import array

from scale import gpu_available, scale

for typecode in "fd":
    x = array(typecode, [1, 2, 3])
    scale(2, x)
    print(x.tolist(), "on the GPU" if gpu_available() else "without a GPU")
