// The CUDA implementation. One file for each type includes it, so that the types compile in parallel.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "vecadd.h"

// A named namespace: nvcc puts its process id into the names of kernels in one that has no name.
namespace kernel {

inline void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

// An array in the GPU's memory, freed when it goes out of scope.
template <typename T>
struct DeviceArray {
  explicit DeviceArray(std::size_t count) { check(cudaMalloc(&data, count * sizeof(T))); }
  DeviceArray(const T* host, std::size_t count) : DeviceArray(count) {
    check(cudaMemcpy(data, host, count * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data); }

  T* data = nullptr;
};

template <typename T>
__global__ void add(const T* x, const T* y, T* z, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    z[i] = x[i] + y[i];
  }
}

}  // namespace kernel

template <typename T>
void add_on_cuda(const T* x, const T* y, T* z, std::size_t count) {
  using namespace kernel;
  if (count == 0) return;
  constexpr std::size_t threads = 256;
  const std::size_t blocks = std::min<std::size_t>((count + threads - 1) / threads, 65535);
  DeviceArray<T> device_x(x, count), device_y(y, count), device_z(count);
  add<<<static_cast<unsigned>(blocks), threads>>>(device_x.data, device_y.data, device_z.data, count);
  check(cudaGetLastError());
  check(cudaMemcpy(z, device_z.data, count * sizeof(T), cudaMemcpyDeviceToHost));
}
