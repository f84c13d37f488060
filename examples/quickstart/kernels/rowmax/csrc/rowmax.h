// The largest element of each row of a matrix (row after row in memory) and its column.
//
// Of equal elements the first one wins, and NaN wins over every number: as in numpy's max and argmax.
// All pointers point into the host's memory; there is at least one column.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

template <typename T>
void rowmax_on_cpu(const T* matrix, std::size_t rows, std::size_t columns, T* values, std::int64_t* indices);

// Throws std::runtime_error when CUDA reports an error.
template <typename T>
void rowmax_on_cuda(const T* matrix, std::size_t rows, std::size_t columns, T* values, std::int64_t* indices);

template <typename T>
struct Element {
  T value;
  std::int64_t index;
};

// Which of two elements wins. Associative and commutative, so that any order of comparisons gives one result.
struct Winner {
  template <typename T>
  HOST_DEVICE Element<T> operator()(const Element<T>& a, const Element<T>& b) const {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return a_nan ? a : b;
    if (!a_nan && a.value != b.value) return a.value > b.value ? a : b;
    return a.index < b.index ? a : b;
  }
};
