// Copies boxes of elements between strided arrays, converting them on the way.

#include "backends/cuda/elements.cuh"
#include "backends/movement/box_offsets.cuh"

using namespace lanner::cuda;

namespace {

/// Elements that a thread reads before it writes the first: several loads in flight hide memory latency.
constexpr int ahead = 4;

using Four_f32 = Pack<float, 4>;
using Four_f16 = Pack<__half, 4>;
using Four_bf16 = Pack<__nv_bfloat16, 4>;

template<typename T>
__device__ void convert(const T& from, T& to) {
  to = from;
}
template<typename From, typename To>
__device__ void convert(const From& from, To& to) {
  store(&to, load(&from));
}
template<typename From, typename To, int n>
__device__ void convert(const Pack<From, n>& from, Pack<To, n>& to) {
  for (int i = 0; i < n; ++i) convert(from.values[i], to.values[i]);
}

template<typename From, typename To>
__device__ void move_box(const From* __restrict__ source, To* __restrict__ target, const BoxParameters& box) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; first < box.elements;
       first += ahead * step) {
    From values[ahead];
    std::int64_t to[ahead];
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      if (first + k * step >= box.elements) break;
      const BoxOffsets offsets = offsets_of(first + k * step, box);
      values[k] = source[offsets.from];
      to[k] = offsets.to;
    }
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      if (first + k * step >= box.elements) break;
      convert(values[k], target[to[k]]);
    }
  }
}

/// The first row and column of a tile, and where its pair of planes begins.
struct TileStart {
  std::int64_t row, column;
  BoxOffsets offsets;
};

__device__ TileStart tile_at(std::int64_t tile, const TileParameters& p, int edge) {
  const std::int64_t across = tile / p.row_tiles, plane = across / p.column_tiles;
  return {(tile - across * p.row_tiles) * edge, (across - plane * p.column_tiles) * edge,
          offsets_of(plane, p.outer)};
}

template<typename From, typename To>
__device__ void rotate_box(const From* __restrict__ source, To* __restrict__ target,
                           const TileParameters& p) {
  constexpr int edge = tile_edge(sizeof(From) < sizeof(To) ? sizeof(From) : sizeof(To));
  constexpr int padding = sizeof(From) < 4 ? 4 / sizeof(From) : 1; // Avoids bank conflicts within a column.
  __shared__ From cells[edge][edge + padding];
  const int lane = threadIdx.x % edge, first = threadIdx.x / edge, lines = blockDim.x / edge;
  const std::int64_t tiles = p.outer.elements * p.row_tiles * p.column_tiles;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const auto [row, column, offsets] = tile_at(tile, p, edge);
    const From* from = source + offsets.from + row + column * p.column_source;
    To* to = target + offsets.to + column + row * p.row_target;
    if (row + lane < p.rows)
      for (int line = first; line < edge && column + line < p.columns; line += lines)
        cells[line][lane] = from[line * p.column_source + lane];
    __syncthreads();
    if (column + lane < p.columns)
      for (int line = first; line < edge && row + line < p.rows; line += lines)
        convert(cells[lane][line], to[line * p.row_target + lane]);
    __syncthreads();
  }
}

/// The same with `n` elements of a line read, and written, as one. Words of a line are an odd number, so that
/// the elements of a column lie in different banks.
template<typename T, int n>
__device__ void rotate_box_in_groups(const T* __restrict__ source, T* __restrict__ target,
                                     const TileParameters& p) {
  constexpr int edge = tile_edge(sizeof(T)), groups = edge / n, threads = 256;
  constexpr int line_words = edge * sizeof(T) / 4 + 1, group_words = n * sizeof(T) / 4;
  constexpr int pitch = line_words * 4 / sizeof(T);
  using Group = Pack<T, n>;
  using Words = Pack<std::uint32_t, group_words>;
  __shared__ std::uint32_t words[edge][line_words];
  const T* const cells = reinterpret_cast<const T*>(words);
  const std::int64_t tiles = p.outer.elements * p.row_tiles * p.column_tiles;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const auto [row, column, offsets] = tile_at(tile, p, edge);
    const T* from = source + offsets.from + row + column * p.column_source;
    T* to = target + offsets.to + column + row * p.row_target;
#pragma unroll
    for (int i = threadIdx.x; i < edge * groups; i += threads) {
      const int line = i / groups, at = i % groups * n;
      if (row + at >= p.rows || column + line >= p.columns) continue;
      const Words read = *reinterpret_cast<const Words*>(from + line * p.column_source + at);
#pragma unroll
      for (int k = 0; k < group_words; ++k) words[line][i % groups * group_words + k] = read.values[k];
    }
    __syncthreads();
#pragma unroll
    for (int i = threadIdx.x; i < edge * groups; i += threads) {
      const int line = i / groups, at = i % groups * n;
      if (row + line >= p.rows || column + at >= p.columns) continue;
      Group written;
#pragma unroll
      for (int k = 0; k < n; ++k) written.values[k] = cells[(at + k) * pitch + line];
      *reinterpret_cast<Group*>(to + line * p.row_target + at) = written;
    }
    __syncthreads();
  }
}

} // namespace

#define LANNER_COPY_BOX(bytes, T)                                                                            \
  __global__ void __launch_bounds__(256) copy_box_##bytes(const T* s, T* t, BoxParameters p) {               \
    move_box(s, t, p);                                                                                       \
  }
#define LANNER_TURN_BOX(bytes, T)                                                                            \
  __global__ void __launch_bounds__(256) rotate_box_##bytes(const T* s, T* t, TileParameters p) {            \
    rotate_box(s, t, p);                                                                                     \
  }
#define LANNER_TURN_GROUPS(bytes, n, T)                                                                      \
  __global__ void __launch_bounds__(256) rotate_box_##bytes##_by_##n(const T* s, T* t, TileParameters p) {   \
    rotate_box_in_groups<T, n>(s, t, p);                                                                     \
  }
#define LANNER_CONVERT_BOX(from, to, From, To)                                                               \
  __global__ void __launch_bounds__(256) convert_box_##from##_##to(const From* s, To* t, BoxParameters p) {  \
    move_box(s, t, p);                                                                                       \
  }                                                                                                          \
  __global__ void __launch_bounds__(256)                                                                     \
      convert_box_4_##from##_##to(const Four_##from* s, Four_##to* t, BoxParameters p) {                     \
    move_box(s, t, p);                                                                                       \
  }                                                                                                          \
  __global__ void __launch_bounds__(256) rotate_box_##from##_##to(const From* s, To* t, TileParameters p) {  \
    rotate_box(s, t, p);                                                                                     \
  }

extern "C" {
LANNER_COPY_BOX(1, std::uint8_t)
LANNER_COPY_BOX(2, std::uint16_t)
LANNER_COPY_BOX(4, std::uint32_t)
LANNER_COPY_BOX(8, std::uint64_t)
LANNER_COPY_BOX(16, uint4)
LANNER_TURN_BOX(1, std::uint8_t)
LANNER_TURN_BOX(2, std::uint16_t)
LANNER_TURN_BOX(4, std::uint32_t)
LANNER_TURN_BOX(8, std::uint64_t)
LANNER_TURN_GROUPS(2, 8, std::uint16_t)
LANNER_TURN_GROUPS(2, 4, std::uint16_t)
LANNER_TURN_GROUPS(4, 4, std::uint32_t)
LANNER_CONVERT_BOX(f32, f16, float, __half)
LANNER_CONVERT_BOX(f32, bf16, float, __nv_bfloat16)
LANNER_CONVERT_BOX(f16, f32, __half, float)
LANNER_CONVERT_BOX(f16, bf16, __half, __nv_bfloat16)
LANNER_CONVERT_BOX(bf16, f32, __nv_bfloat16, float)
LANNER_CONVERT_BOX(bf16, f16, __nv_bfloat16, __half)
}
