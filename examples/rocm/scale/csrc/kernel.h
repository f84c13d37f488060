// The GPU's implementation. One file for each type includes it, so that the types compile in parallel.
#pragma once

#include <hip/hip_runtime.h>

#include <algorithm>
#include <stdexcept>

#include "scale.h"

namespace kernel {

inline void check(hipError_t status) {
  if (status != hipSuccess) throw std::runtime_error(hipGetErrorString(status));
}

// An array in the GPU's memory, freed when it goes out of scope.
template <typename T>
struct DeviceArray {
  DeviceArray(const T* host, std::size_t count) {
    check(hipMalloc(reinterpret_cast<void**>(&data), count * sizeof(T)));
    check(hipMemcpy(data, host, count * sizeof(T), hipMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { static_cast<void>(hipFree(data)); }

  T* data = nullptr;
};

template <typename T>
__global__ void scale(T factor, T* x, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    x[i] *= factor;
  }
}

}  // namespace kernel

template <typename T>
void scale_on_gpu(T factor, T* x, std::size_t count) {
  using namespace kernel;
  if (count == 0) return;
  constexpr std::size_t threads = 256;
  const std::size_t blocks = std::min<std::size_t>((count + threads - 1) / threads, 65535);
  DeviceArray<T> device(x, count);
  scale<<<static_cast<unsigned>(blocks), threads>>>(factor, device.data, count);
  check(hipGetLastError());
  check(hipMemcpy(x, device.data, count * sizeof(T), hipMemcpyDeviceToHost));
}
