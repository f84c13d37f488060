#include "vecadd.h"

template <typename T>
void add_on_cpu(const T* x, const T* y, T* z, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) z[i] = x[i] + y[i];
}

template void add_on_cpu<float>(const float*, const float*, float*, std::size_t);
template void add_on_cpu<double>(const double*, const double*, double*, std::size_t);
