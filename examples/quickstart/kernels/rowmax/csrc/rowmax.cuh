// The CUDA implementation. One file for each type includes it, so that the types compile in parallel.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "rowmax.h"

// A named namespace: nvcc puts its process id into the names of kernels in one that has no name.
namespace kernel {

constexpr unsigned kThreads = 256;

inline void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

// An array in the GPU's memory, freed when it goes out of scope.
template <typename T>
struct DeviceArray {
  explicit DeviceArray(std::size_t count) { check(cudaMalloc(&data, count * sizeof(T))); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data); }

  T* data = nullptr;
};

// One block for a row, the next one after as many rows as there are blocks.
template <typename T>
__global__ void rowmax(const T* matrix, std::size_t rows, std::size_t columns, T* values, std::int64_t* indices) {
  __shared__ Element<T> best[kThreads];
  Element<T>& mine = best[threadIdx.x];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    mine = {static_cast<T>(-INFINITY), static_cast<std::int64_t>(columns)};  // loses to every element
    for (std::size_t column = threadIdx.x; column < columns; column += kThreads) {
      mine = Winner{}(mine, Element<T>{matrix[row * columns + column], static_cast<std::int64_t>(column)});
    }
    for (unsigned half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) mine = Winner{}(mine, best[threadIdx.x + half]);
    }
    if (threadIdx.x == 0) {
      values[row] = mine.value;
      indices[row] = mine.index;
    }
    __syncthreads();  // before the next row is written over this one
  }
}

}  // namespace kernel

template <typename T>
void rowmax_on_cuda(const T* matrix, std::size_t rows, std::size_t columns, T* values, std::int64_t* indices) {
  using namespace kernel;
  if (rows == 0) return;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(rows, 65535));
  DeviceArray<T> device_matrix(rows * columns), device_values(rows);
  DeviceArray<std::int64_t> device_indices(rows);
  check(cudaMemcpy(device_matrix.data, matrix, rows * columns * sizeof(T), cudaMemcpyHostToDevice));
  rowmax<<<blocks, kThreads>>>(device_matrix.data, rows, columns, device_values.data, device_indices.data);
  check(cudaGetLastError());
  check(cudaMemcpy(values, device_values.data, rows * sizeof(T), cudaMemcpyDeviceToHost));
  check(cudaMemcpy(indices, device_indices.data, rows * sizeof(std::int64_t), cudaMemcpyDeviceToHost));
}
