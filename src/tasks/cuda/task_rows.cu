// Lists the rows of detectors' outputs that may pass, in order, and gathers their elements.

#include "backends/cuda/elements.cuh"
#include "tasks/cuda/scan_kernel.h"

using namespace lanner::tasks::cuda;

namespace {

constexpr int max_warps = 32;

template<typename T>
struct Loader {
  const T* values;
  __device__ float operator()(std::int64_t i) const { return lanner::cuda::load(values + i); }
};

__device__ RowSummary of_warp(RowSummary mine) {
  for (int step = 16; step > 0; step /= 2) {
    RowSummary other;
    other.most = __shfl_xor_sync(~0U, mine.most, step);
    other.rest = __shfl_xor_sync(~0U, mine.rest, step);
    other.finite = __shfl_xor_sync(~0U, static_cast<int>(mine.finite), step);
    mine.add(other);
  }
  return mine;
}

/// counts_alone() by a warp; all its threads get the result.
template<typename Load>
__device__ bool counts_together(const ScanParameters& p, std::int64_t row, const Load& load) {
  const int lane = threadIdx.x % 32;
  const float objectness = p.has_objectness ? load(row * p.pitch + p.objectness) : 0;
  if (hopeless(p, objectness)) return false;
  RowSummary summary;
  for (int c = lane; c < p.classes; c += 32) summary.add(load(score_index(p, row, c)), c != p.background);
  summary = of_warp(summary);
  const int decided = verdict(p, summary, objectness);
  if (decided != 2) return decided == 1;
  float sum = 0;
  for (int c = lane; c < p.classes; c += 32) sum += share_of(load(score_index(p, row, c)), summary.most);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0U, sum, step);
  return enough_share(p, summary, sum);
}

template<typename T>
__device__ void scan_rows(std::uint8_t* flags, const ScanParameters& p) {
  const Loader<T> load{static_cast<const T*>(p.values)};
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                     threads = std::int64_t{gridDim.x} * blockDim.x;
  if (p.by_warp) {
    for (std::int64_t row = thread / 32; row < p.rows; row += threads / 32) {
      const bool counts = counts_together(p, row, load);
      if (threadIdx.x % 32 == 0) flags[row] = counts;
    }
  } else {
    for (std::int64_t row = thread; row < p.rows; row += threads)
      flags[row] = p.peak_width > 0 ? is_peak(p, row, load) : counts_alone(p, row, load);
  }
  if (thread < padded_flags(p.rows) - p.rows) flags[p.rows + thread] = 0;
}

/// Sum over the threads before this one; `total` over all.
__device__ int sum_in_front(int value, int& total) {
  __shared__ int sums[max_warps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int sum = value;
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(~0U, sum, step);
    if (lane >= step) sum += other;
  }
  __syncthreads(); // Wait until the previous sums were read.
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  int front = sum - value;
  total = 0;
  for (int w = 0; w < static_cast<int>(blockDim.x / 32); ++w) {
    if (w < warp) front += sums[w];
    total += sums[w];
  }
  return front;
}

} // namespace

extern "C" {

__global__ void task_scan_f32(std::uint8_t* flags, ScanParameters p) {
  scan_rows<float>(flags, p);
}
__global__ void task_scan_f16(std::uint8_t* flags, ScanParameters p) {
  scan_rows<__half>(flags, p);
}
__global__ void task_scan_bf16(std::uint8_t* flags, ScanParameters p) {
  scan_rows<__nv_bfloat16>(flags, p);
}

/// One block: indices of flagged rows, in order.
__global__ void __launch_bounds__(listing_threads)
    task_list_rows(const std::uint8_t* flags, std::int64_t rows, std::int32_t* list, std::int64_t* found) {
  std::int64_t before = 0;
  for (std::int64_t tile = 0; tile < rows; tile += std::int64_t{blockDim.x} * flags_each) {
    const std::int64_t first = tile + std::int64_t{threadIdx.x} * flags_each;
    uint4 words = make_uint4(0, 0, 0, 0);
    if (first < rows) words = *reinterpret_cast<const uint4*>(flags + first);
    const std::uint32_t parts[4] = {words.x, words.y, words.z, words.w};
    int mine = 0;
    for (const std::uint32_t part : parts) mine += __popc(part); // Each flag is one bit.
    int total;
    std::int64_t place = before + sum_in_front(mine, total);
    for (int w = 0; w < 4; ++w)
      for (int i = 0; i < 4; ++i)
        if (parts[w] >> (8 * i) & 1) list[place++] = static_cast<std::int32_t>(first + w * 4 + i);
    before += total;
  }
  if (threadIdx.x == 0) *found = before;
}

__global__ void task_gather_rows(GatherParameters p) {
  std::int64_t rows = *p.found - p.first;
  if (rows > p.room) rows = p.room;
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                     threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = thread; p.numbers && i < rows; i += threads) p.numbers[i] = p.rows[p.first + i];
  for (int t = 0; t < p.count; ++t)
    for (std::int64_t i = thread; i < rows * p.tables[t].channels; i += threads)
      gather_number(p, p.tables[t], i);
}
}
