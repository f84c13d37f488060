// z[i] = x[i] + y[i] for all i < count. All pointers point into the host's memory.
#pragma once

#include <cstddef>

template <typename T>
void add_on_cpu(const T* x, const T* y, T* z, std::size_t count);

// Throws std::runtime_error when CUDA reports an error.
template <typename T>
void add_on_cuda(const T* x, const T* y, T* z, std::size_t count);
