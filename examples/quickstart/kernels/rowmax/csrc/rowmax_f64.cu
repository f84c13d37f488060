#include "rowmax.cuh"

template void rowmax_on_cuda<double>(const double*, std::size_t, std::size_t, double*, std::int64_t*);
