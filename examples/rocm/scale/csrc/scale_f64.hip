#include "kernel.h"

template void scale_on_gpu<double>(double, double*, std::size_t);
