#include "rowmax.cuh"

template void rowmax_on_cuda<float>(const float*, std::size_t, std::size_t, float*, std::int64_t*);
