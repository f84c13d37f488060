#include <cuda_fp16.h>
#include <cub/warp/warp_reduce.cuh>

__global__ void sum(const float *in, float *out) {
  __shared__ typename cub::WarpReduce<float>::TempStorage storage;
  float total = cub::WarpReduce<float>(storage).Sum(in[threadIdx.x]);
  if (threadIdx.x == 0) *out = __half2float(__float2half(total));
}

extern "C" void launch(const float *in, float *out) { sum<<<1, 32>>>(in, out); }
