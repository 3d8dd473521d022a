// Non-maximum suppression: boxes are sorted, then resolved block by block; each block's remaining boxes then
// suppress later ones.

#include "tasks/cuda/suppress_kernel.h"

using namespace lanner::tasks::cuda;

namespace {

constexpr int rank_tile = 256;

__device__ std::int64_t thread_number() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ std::int64_t threads_in_all() {
  return std::int64_t{gridDim.x} * blockDim.x;
}

} // namespace

extern "C" {

__global__ void task_key_boxes(SuppressParameters p) {
  for (std::int64_t i = thread_number(); i < p.count; i += threads_in_all()) {
    p.keys[i] = order_key(p.scores[i], i);
    if (!all_finite(p, i)) p.state[not_finite] = 1;
  }
  if (thread_number() == 0) p.state[stayed] = 0;
}

/// In blocks of rank_tile threads: a box's sorted position is the number of better boxes.
__global__ void task_sort_boxes(SuppressParameters p) {
  __shared__ std::uint64_t tile[rank_tile];
  const std::int64_t i = thread_number();
  const std::uint64_t mine = i < p.count ? p.keys[i] : 0;
  std::int64_t better = 0;
  for (std::int64_t first = 0; first < p.count; first += rank_tile) {
    __syncthreads();
    tile[threadIdx.x] = first + threadIdx.x < p.count ? p.keys[first + threadIdx.x] : 0;
    __syncthreads();
#pragma unroll 16
    for (int k = 0; k < rank_tile; ++k) better += tile[k] > mine;
  }
  if (i < p.count) place_box(p, i, better);
}

/// One block: which of the boxes from `first` on remain.
__global__ void __launch_bounds__(suppressed_together)
    task_resolve_boxes(SuppressParameters p, std::int64_t first) {
  __shared__ std::uint8_t gone[suppressed_together];
  std::int64_t count = p.state[stayed];
  __syncthreads(); // Read by all threads.
  if (threadIdx.x == 0) p.state[stayed_before] = count;
  const std::int64_t own = first + threadIdx.x;
  gone[threadIdx.x] = own < p.count ? p.gone[own] : 1;
  __syncthreads();
  for (int i = 0; i < suppressed_together && count < p.most; ++i) {
    if (gone[i]) continue; // The same value for all threads.
    if (threadIdx.x == 0) p.kept[count] = static_cast<std::int32_t>(first + i);
    ++count;
    if (static_cast<int>(threadIdx.x) > i && !gone[threadIdx.x] && suppresses(p, first + i, own))
      gone[threadIdx.x] = 1;
    __syncthreads();
  }
  if (threadIdx.x == 0) p.state[stayed] = count;
}

/// Suppresses boxes from `first` on that overlap the remaining boxes of the last block.
__global__ void task_tell_boxes(SuppressParameters p, std::int64_t first) {
  const std::int64_t from = p.state[stayed_before], to = p.state[stayed];
  if (to >= p.most) return;
  for (std::int64_t own = first + thread_number(); own < p.count; own += threads_in_all()) {
    bool gone = p.gone[own];
    for (std::int64_t k = from; k < to && !gone; ++k) gone = suppresses(p, p.kept[k], own);
    if (gone) p.gone[own] = 1;
  }
}

/// Replaces sorted positions by given indices.
__global__ void task_number_boxes(SuppressParameters p) {
  for (std::int64_t k = thread_number(); k < p.state[stayed]; k += threads_in_all())
    p.kept[k] = p.order[p.kept[k]];
}
}
