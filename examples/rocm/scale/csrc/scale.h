// x[i] *= factor for all i < count. Pointers point into the host's memory.
#pragma once

#include <cstddef>

bool gpu_available();

// Throws std::runtime_error when HIP reports an error.
template <typename T>
void scale_on_gpu(T factor, T* x, std::size_t count);
