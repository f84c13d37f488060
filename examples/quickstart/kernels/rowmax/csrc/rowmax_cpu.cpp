#include "rowmax.h"

template <typename T>
void rowmax_on_cpu(const T* matrix, std::size_t rows, std::size_t columns, T* values, std::int64_t* indices) {
  for (std::size_t row = 0; row < rows; ++row) {
    Element<T> best{matrix[row * columns], 0};
    for (std::size_t column = 1; column < columns; ++column) {
      best = Winner{}(best, Element<T>{matrix[row * columns + column], static_cast<std::int64_t>(column)});
    }
    values[row] = best.value;
    indices[row] = best.index;
  }
}

template void rowmax_on_cpu<float>(const float*, std::size_t, std::size_t, float*, std::int64_t*);
template void rowmax_on_cpu<double>(const double*, std::size_t, std::size_t, double*, std::int64_t*);
