// non_zero and non_max_suppression. Both count first, one part per block, then write each part's results
// after those of all earlier parts; the order is the definitions'.

#include "backends/indexing/selection_kernel.h"

using namespace lanner::cuda;

namespace {

constexpr int max_warps = 32;

/// Sum over all threads of the block, returned to each.
__device__ std::int64_t block_sum(std::int64_t value) {
  __shared__ std::int64_t sums[max_warps];
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(~0U, value, step);
  __syncthreads(); // The previous sums have been read.
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  std::int64_t total = 0;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) total += sums[warp];
  return total;
}

__device__ std::int64_t sum_of(const std::int64_t* counts, std::int64_t from, std::int64_t to) {
  std::int64_t sum = 0;
  for (std::int64_t i = from + threadIdx.x; i < to; i += blockDim.x) sum += counts[i];
  return block_sum(sum);
}

/// Exclusive prefix count: this thread's position among those for which `chosen` holds, and their number.
__device__ int position_among(bool chosen, int& total) {
  __shared__ int sums[max_warps];
  const unsigned voters = __ballot_sync(~0U, chosen);
  __syncthreads(); // The previous sums have been read.
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = __popc(voters);
  __syncthreads();
  int place = __popc(voters & ((1U << threadIdx.x % 32) - 1));
  total = 0;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) {
    if (warp < threadIdx.x / 32) place += sums[warp];
    total += sums[warp];
  }
  return place;
}

/// Calls put(i, position) for each i from `from` to `to` for which `chosen` holds, in order of positions;
/// returns their count.
template<typename Chosen, typename Put>
__device__ std::int64_t in_order(std::int64_t from, std::int64_t to, Chosen chosen, Put put) {
  std::int64_t found = 0;
  for (std::int64_t tile = from; tile < to; tile += blockDim.x) {
    const std::int64_t i = tile + threadIdx.x;
    const bool mine = i < to && chosen(i);
    int total;
    const int place = position_among(mine, total);
    if (mine) put(i, found + place);
    found += total;
  }
  return found;
}

__device__ std::int64_t lesser_of(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

template<typename T>
__device__ void count_non_zero(const T* x, std::int64_t* counts, const NonZeroParameters& p) {
  const std::int64_t from = blockIdx.x * p.chunk, to = lesser_of(from + p.chunk, p.elements);
  std::int64_t set = 0;
  for (std::int64_t i = from + threadIdx.x; i < to; i += blockDim.x) set += is_set(x[i], p);
  set = block_sum(set);
  if (threadIdx.x == 0) counts[blockIdx.x] = set;
}

template<typename T>
__device__ void place_non_zero(const T* x, const std::int64_t* counts, std::int64_t* out, std::int64_t* count,
                               const NonZeroParameters& p) {
  const std::int64_t first = sum_of(counts, 0, blockIdx.x);
  const std::int64_t all = first + sum_of(counts, blockIdx.x, gridDim.x);
  const std::int64_t from = blockIdx.x * p.chunk, to = lesser_of(from + p.chunk, p.elements);
  in_order(
      from, to, [&](std::int64_t i) { return is_set(x[i], p); },
      [&](std::int64_t i, std::int64_t place) { write_indices(i, out, first + place, all, p); });
  if (blockIdx.x == 0 && threadIdx.x == 0) *count = all;
}

__device__ std::uint64_t first_of_warp(std::uint64_t key) {
  for (int step = 16; step > 0; step /= 2) {
    const std::uint64_t other = __shfl_xor_sync(~0U, key, step);
    if (other > key) key = other;
  }
  return key;
}

/// The best of all threads' candidates, returned to each. `call` counts calls: two consecutive ones use
/// different memory.
__device__ std::uint64_t first_of(std::uint64_t key, std::int64_t call) {
  __shared__ std::uint64_t firsts[2][max_warps];
  key = first_of_warp(key);
  if (threadIdx.x % 32 == 0) firsts[call % 2][threadIdx.x / 32] = key;
  __syncthreads();
  return first_of_warp(threadIdx.x % 32 < blockDim.x / 32 ? firsts[call % 2][threadIdx.x % 32] : 0);
}

} // namespace

#define LANNER_NON_ZERO_KERNELS(bytes, T)                                                                    \
  extern "C" __global__ void count_non_zero_##bytes(const T* x, std::int64_t* counts, NonZeroParameters p) { \
    count_non_zero(x, counts, p);                                                                            \
  }                                                                                                          \
  extern "C" __global__ void place_non_zero_##bytes(                                                         \
      const T* x, const std::int64_t* counts, std::int64_t* out, std::int64_t* count, NonZeroParameters p) { \
    place_non_zero(x, counts, out, count, p);                                                                \
  }

LANNER_NON_ZERO_KERNELS(1, std::uint8_t)
LANNER_NON_ZERO_KERNELS(2, std::uint16_t)
LANNER_NON_ZERO_KERNELS(4, std::uint32_t)
LANNER_NON_ZERO_KERNELS(8, std::uint64_t)

/// One class of one image: repeatedly selects the best remaining candidate and drops those that overlap it.
extern "C" __global__ void suppress_boxes(const float* boxes, const float* scores, Candidate* candidates,
                                          std::int32_t* kept, std::int64_t* counts, SuppressionParameters p) {
  const float* image = boxes + blockIdx.x / p.classes * p.boxes * 4;
  const float* score = scores + blockIdx.x * p.boxes;
  candidates += blockIdx.x * p.boxes;
  kept += blockIdx.x * p.most;
  const auto box_at = [&](std::int64_t i) { return lanner::ops::read_box(image + 4 * i, p.centered); };
  const std::int64_t listed = in_order(
      0, p.boxes, [&](std::int64_t i) { return score[i] >= p.score; },
      [&](std::int64_t i, std::int64_t place) {
        candidates[place] = {candidate_key(score[i], i), box_at(i)};
      });
  __syncthreads(); // All candidates are listed.
  std::int64_t count = 0;
  std::uint64_t last = 0;
  lanner::ops::Box last_box{};
  for (; count < p.most; ++count) {
    std::uint64_t next = 0;
    for (std::int64_t k = threadIdx.x; k < listed; k += blockDim.x) {
      const Candidate candidate = candidates[k];
      if (last && candidate.key &&
          (candidate.key == last || lanner::ops::overlap(candidate.box, last_box) > p.overlap))
        candidates[k].key = 0;
      else if (candidate.key > next)
        next = candidate.key;
    }
    last = first_of(next, count);
    if (!last) break;
    last_box = box_at(box_of(last));
    if (threadIdx.x == 0) kept[count] = static_cast<std::int32_t>(box_of(last));
  }
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

extern "C" __global__ void list_boxes(const std::int32_t* kept, const std::int64_t* counts, std::int64_t* out,
                                      std::int64_t* count, SuppressionParameters p) {
  const std::int64_t first = sum_of(counts, 0, blockIdx.x), mine = counts[blockIdx.x];
  for (std::int64_t k = threadIdx.x; k < mine; k += blockDim.x) {
    std::int64_t* row = out + (first + k) * 3;
    row[0] = blockIdx.x / p.classes;
    row[1] = blockIdx.x % p.classes;
    row[2] = kept[blockIdx.x * p.most + k];
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) *count = first + mine;
}
