// Reductions, softmax and normalisation along rows that are dense in memory: a warp or a block per row,
// 16-byte accesses where rows are aligned. rows.cu handles other rows.

#include "backends/movement/box_offsets.cuh"
#include "backends/reduction/dense_row_kernel.h"
#include "backends/reduction/row_folds.cuh"

using namespace lanner::cuda;

namespace {

/// The threads that share a row. All threads of a warp process the same number of rows, as they exchange
/// values: beyond the end, some recompute the last row and write nothing.
class Team {
public:
  __device__ Team(const DenseRowParameters& p)
      : rows_(p.rows.elements), size_(p.team > 0 ? p.team : blockDim.x), by_block_(p.team == 0) {}
  __device__ int size() const { return size_; }
  __device__ int lane() const { return threadIdx.x & (size_ - 1); }
  /// Calls body(row, whether this team writes).
  template<typename Body>
  __device__ void for_each_row(Body body) const {
    const int teams = by_block_ ? 1 : warp / size_, own = by_block_ ? 0 : threadIdx.x % warp / size_;
    const std::int64_t groups = by_block_ ? gridDim.x : std::int64_t{gridDim.x} * (blockDim.x / warp);
    std::int64_t group =
        by_block_ ? blockIdx.x : std::int64_t{blockIdx.x} * (blockDim.x / warp) + threadIdx.x / warp;
    for (; group * teams < rows_; group += groups) {
      const std::int64_t row = group * teams + own;
      body(row < rows_ ? row : rows_ - 1, row < rows_);
    }
  }
  template<typename Fold>
  __device__ typename Fold::Total join(typename Fold::Total value) const {
    if (by_block_) return join_block<Fold>(value);
    for (int distance = size_ / 2; distance > 0; distance /= 2)
      value = Fold::join(value, __shfl_xor_sync(0xffffffffu, value, distance));
    return value;
  }

private:
  std::int64_t rows_;
  int size_;
  bool by_block_;
};

template<typename T>
constexpr int pack_size = 16 / sizeof(T);
template<typename T>
using PackOf = Pack<T, pack_size<T>>;

template<typename... T>
__device__ bool are_aligned(const T*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

/// Calls body(element, its index) for this thread's share of a row.
template<typename T, typename Body>
__device__ void for_each(const T* row, std::int64_t length, const Team& team, bool in_packs, Body body) {
  if (!in_packs) {
    for (std::int64_t i = team.lane(); i < length; i += team.size()) body(load(row + i), i);
    return;
  }
  const auto* packs = reinterpret_cast<const PackOf<T>*>(row);
  for (std::int64_t at = team.lane(); at < length / pack_size<T>; at += team.size()) {
    const PackOf<T> pack = packs[at];
#pragma unroll
    for (int k = 0; k < pack_size<T>; ++k) body(load(&pack.values[k]), at * pack_size<T> + k);
  }
}

/// Writes body(element, its index) of this thread's share of a row.
template<typename T, typename Body>
__device__ void map(const T* row, T* result, std::int64_t length, const Team& team, bool in_packs,
                    Body body) {
  if (!in_packs) {
    for (std::int64_t i = team.lane(); i < length; i += team.size())
      store(result + i, body(load(row + i), i));
    return;
  }
  const auto* packs = reinterpret_cast<const PackOf<T>*>(row);
  auto* results = reinterpret_cast<PackOf<T>*>(result);
  for (std::int64_t at = team.lane(); at < length / pack_size<T>; at += team.size()) {
    PackOf<T> pack = packs[at];
#pragma unroll
    for (int k = 0; k < pack_size<T>; ++k)
      store(&pack.values[k], body(load(&pack.values[k]), at * pack_size<T> + k));
    results[at] = pack;
  }
}

template<typename Fold, typename T, typename Term>
__device__ typename Fold::Total fold(const T* row, std::int64_t length, const Team& team, bool in_packs,
                                     Term term) {
  typename Fold::Total value = Fold::start();
  for_each(row, length, team, in_packs, [&](float x, std::int64_t) { value = Fold::join(value, term(x)); });
  return team.template join<Fold>(value);
}

template<typename Kind, typename T>
__device__ void reduce(const T* source, T* target, const DenseRowParameters& p) {
  const Team team(p);
  const bool in_packs = p.in_packs && are_aligned(source);
  team.for_each_row([&](std::int64_t row, bool writes) {
    const BoxOffsets at = offsets_of(row, p.rows);
    const auto total = fold<typename Kind::Fold>(source + at.from, p.length, team, in_packs,
                                                 [](float x) { return Kind::term(x); });
    if (writes && team.lane() == 0) store(target + at.to, Kind::result(total, p.length));
  });
}

/// `pack` columns per thread.
template<typename Kind, int pack, typename T>
__device__ void reduce_columns(const T* source, T* target, const DenseColumnParameters& p) {
  using Fold = typename Kind::Fold;
  using Total = typename Fold::Total;
  __shared__ Total parts[pack][256];
  const int lane = threadIdx.x & (p.lanes - 1), slice = threadIdx.x / p.lanes, slices = blockDim.x / p.lanes;
  const std::int64_t groups = (p.columns / pack + p.lanes - 1) / p.lanes;
  for (std::int64_t item = blockIdx.x; item < p.outer.elements * groups; item += gridDim.x) {
    const std::int64_t set = item / groups, column = ((item - set * groups) * p.lanes + lane) * pack;
    const BoxOffsets at = offsets_of(set, p.outer);
    Total totals[pack];
#pragma unroll
    for (int k = 0; k < pack; ++k) totals[k] = Fold::start();
    if (column < p.columns) {
      const T* from = source + at.from + column;
#pragma unroll 4
      for (std::int64_t i = slice; i < p.length; i += slices) {
        const Pack<T, pack> read = *reinterpret_cast<const Pack<T, pack>*>(from + i * p.step);
#pragma unroll
        for (int k = 0; k < pack; ++k) totals[k] = Fold::join(totals[k], Kind::term(load(&read.values[k])));
      }
    }
#pragma unroll
    for (int k = 0; k < pack; ++k) parts[k][threadIdx.x] = totals[k];
    __syncthreads();
    if (slice == 0 && column < p.columns)
      for (int k = 0; k < pack; ++k) {
        Total total = parts[k][lane];
        for (int other = 1; other < slices; ++other)
          total = Fold::join(total, parts[k][other * p.lanes + lane]);
        store(target + at.to + (column + k) * p.target_step, Kind::result(total, p.length));
      }
    __syncthreads();
  }
}

template<typename Kind, typename T>
__device__ void reduce_columns(const T* source, T* target, const DenseColumnParameters& p) {
  if (p.in_packs && are_aligned(source))
    reduce_columns<Kind, pack_size<T>>(source, target, p);
  else
    reduce_columns<Kind, 1>(source, target, p);
}

/// This thread's share of a row, in registers.
template<int held, bool packed>
class Held {
public:
  __device__ Held(std::int64_t length, const Team& team)
      : length_(static_cast<int>(length)), lane_(team.lane()), size_(team.size()) {}

  float values[held];

  /// Calls body(index in `values`, index in the row).
  template<int pack, typename Body>
  __device__ void for_each(Body body) const {
#pragma unroll
    for (int i = 0; i < held; i += pack) {
      const int at = (lane_ + i / pack * size_) * pack;
      if (at >= length_) break;
#pragma unroll
      for (int k = 0; k < pack; ++k) body(i + k, at + k);
    }
  }
  template<typename T>
  __device__ void read(const T* row) {
    for_each_part(row, [](float& value, float read) { value = read; });
  }
  /// Rounded as a sum of this type is.
  template<typename T>
  __device__ void add(const T* row) {
    for_each_part(row, [](float& value, float read) {
      T rounded;
      store(&rounded, value + read);
      value = load(&rounded);
    });
  }
  /// value * factor * its scale + its bias, which may be null.
  template<typename T>
  __device__ void scale(float factor, const T* scales, const T* bias) {
    for_each_part(scales, [&](float& value, float read) { value = value * factor * read; });
    if (bias) for_each_part(bias, [](float& value, float read) { value += read; });
  }
  template<typename T>
  __device__ void write(T* row) const {
    if constexpr (packed) {
      constexpr int pack = pack_size<T>;
#pragma unroll
      for (int i = 0; i < held; i += pack) {
        const int at = (lane_ + i / pack * size_) * pack;
        if (at >= length_) break;
        PackOf<T> written;
#pragma unroll
        for (int k = 0; k < pack; ++k) store(&written.values[k], values[i + k]);
        *reinterpret_cast<PackOf<T>*>(row + at) = written;
      }
    } else {
      for_each<1>([&](int i, int at) { store(row + at, values[i]); });
    }
  }

private:
  /// Calls body(value, the element of `row` at the same position).
  template<typename T, typename Body>
  __device__ void for_each_part(const T* row, Body body) {
    if constexpr (packed) {
      constexpr int pack = pack_size<T>;
#pragma unroll
      for (int i = 0; i < held; i += pack) {
        const int at = (lane_ + i / pack * size_) * pack;
        if (at >= length_) break;
        const PackOf<T> read = *reinterpret_cast<const PackOf<T>*>(row + at);
#pragma unroll
        for (int k = 0; k < pack; ++k) body(values[i + k], load(&read.values[k]));
      }
    } else {
      for_each<1>([&](int i, int at) { body(values[i], load(row + at)); });
    }
  }

  int length_, lane_, size_;
};

template<bool logarithm, int held, bool packed, typename T>
__device__ void held_softmax(const T* source, T* target, const DenseRowParameters& p) {
  constexpr int pack = packed ? pack_size<T> : 1;
  const Team team(p);
  team.for_each_row([&](std::int64_t row, bool writes) {
    const BoxOffsets offsets = offsets_of(row, p.rows);
    Held<held, packed> x(p.length, team);
    x.read(source + offsets.from);
    float most = Max::start();
    x.template for_each<pack>([&](int i, int) { most = Max::join(most, x.values[i]); });
    most = team.template join<Max>(most);
    float sum = 0;
    x.template for_each<pack>([&](int i, int) {
      const float power = expf(x.values[i] - most);
      sum += power;
      x.values[i] = logarithm ? x.values[i] - most : power;
    });
    sum = team.template join<Sum>(sum);
    const float last = logarithm ? logf(sum) : 1.0f / sum;
    x.template for_each<pack>(
        [&](int i, int) { x.values[i] = logarithm ? x.values[i] - last : x.values[i] * last; });
    if (writes) x.write(target + offsets.to);
  });
}

template<bool logarithm, int held, typename T>
__device__ void held_softmax(const T* source, T* target, const DenseRowParameters& p) {
  if (p.in_packs && are_aligned(source, target))
    held_softmax<logarithm, held, true>(source, target, p);
  else
    held_softmax<logarithm, held, false>(source, target, p);
}

template<bool logarithm, typename T>
__device__ void softmax(const T* source, T* target, const DenseRowParameters& p) {
  const Team team(p);
  const bool in_packs = p.in_packs && are_aligned(source, target);
  team.for_each_row([&](std::int64_t row, bool) {
    const BoxOffsets at = offsets_of(row, p.rows);
    const T* x = source + at.from;
    const float most = fold<Max>(x, p.length, team, in_packs, [](float v) { return v; });
    const float sum = fold<Sum>(x, p.length, team, in_packs, [&](float v) { return expf(v - most); });
    const float log_sum = logarithm ? logf(sum) : 0;
    map(x, target + at.to, p.length, team, in_packs,
        [&](float v, std::int64_t) { return logarithm ? v - most - log_sum : expf(v - most) / sum; });
  });
}

/// Writes the sum of two rows, rounded to T. Each thread later reads only what it wrote itself.
template<typename T>
__device__ void add_rows(const T* x, const T* added, T* sum, std::int64_t length, const Team& team,
                         bool in_packs) {
  if (!in_packs) {
    for (std::int64_t i = team.lane(); i < length; i += team.size())
      store(sum + i, load(x + i) + load(added + i));
    return;
  }
  for (std::int64_t at = team.lane(); at < length / pack_size<T>; at += team.size()) {
    PackOf<T> pack = reinterpret_cast<const PackOf<T>*>(x)[at];
    const PackOf<T> more = reinterpret_cast<const PackOf<T>*>(added)[at];
#pragma unroll
    for (int k = 0; k < pack_size<T>; ++k)
      store(&pack.values[k], load(&pack.values[k]) + load(&more.values[k]));
    reinterpret_cast<PackOf<T>*>(sum)[at] = pack;
  }
}

/// The parameter index of an element, counted from the row's first.
__device__ inline std::int64_t parameter_of(std::int64_t element, const DenseNormalizationParameters& n) {
  return n.shared == 1 ? element : n.shares.quotient(static_cast<std::uint32_t>(element));
}

template<int held, bool packed, typename T>
__device__ void held_normalization(const T* x, const T* added, const T* scale, const T* bias, T* sum, T* y,
                                   const DenseNormalizationParameters& n) {
  constexpr int pack = packed ? pack_size<T> : 1;
  const DenseRowParameters& p = n.dense;
  const Team team(p);
  // Each element has its own parameters, stored like the row.
  const bool in_step = packed && n.shared == 1 && are_aligned(scale, bias);
  team.for_each_row([&](std::int64_t row, bool writes) {
    const std::int64_t from = offsets_of(row, p.rows).from;
    Held<held, packed> v(p.length, team);
    v.read(x + from);
    if (added) {
      v.add(added + from);
      if (sum && writes) v.write(sum + from);
    }
    const auto length = static_cast<float>(p.length);
    float total = 0, squares = 0;
    if (n.centred) v.template for_each<pack>([&](int i, int) { total += v.values[i]; });
    const float mean = n.centred ? team.template join<Sum>(total) / length : 0.0f;
    v.template for_each<pack>([&](int i, int) {
      v.values[i] -= mean;
      squares += v.values[i] * v.values[i];
    });
    const float factor = 1.0f / sqrtf(team.template join<Sum>(squares) / length + n.epsilon);
    const std::int64_t first = row % n.repeat * (p.length / n.shared);
    if (in_step) {
      v.scale(factor, scale + first, bias ? bias + first : nullptr);
    } else {
      v.template for_each<pack>([&](int i, int at) {
        const std::int64_t k = first + parameter_of(at, n);
        v.values[i] = v.values[i] * factor * load(scale + k) + (bias ? load(bias + k) : 0.0f);
      });
    }
    if (writes) v.write(y + from);
  });
}

template<int held, typename T>
__device__ void held_normalization(const T* x, const T* added, const T* scale, const T* bias, T* sum, T* y,
                                   const DenseNormalizationParameters& n) {
  if (n.dense.in_packs && are_aligned(x, added, sum, y))
    held_normalization<held, true>(x, added, scale, bias, sum, y, n);
  else
    held_normalization<held, false>(x, added, scale, bias, sum, y, n);
}

template<typename T>
__device__ void normalization(const T* x, const T* added, const T* scale, const T* bias, T* sum, T* y,
                              const DenseNormalizationParameters& n) {
  const DenseRowParameters& p = n.dense;
  const Team team(p);
  const bool in_packs = p.in_packs && are_aligned(x, added, sum, y);
  team.for_each_row([&](std::int64_t row, bool) {
    const std::int64_t from = offsets_of(row, p.rows).from;
    const T* values = x + from;
    if (added) { // If the sum has no other reader, it is stored in the result's memory.
      T* made = (sum ? sum : y) + from;
      add_rows(values, added + from, made, p.length, team, in_packs);
      values = made;
    }
    const auto length = static_cast<float>(p.length);
    const float mean =
        n.centred ? fold<Sum>(values, p.length, team, in_packs, [](float v) { return v; }) / length : 0.0f;
    const float squares =
        fold<Sum>(values, p.length, team, in_packs, [&](float v) { return (v - mean) * (v - mean); });
    const float factor = 1.0f / sqrtf(squares / length + n.epsilon);
    const std::int64_t first = row % n.repeat * (p.length / n.shared);
    map(values, y + from, p.length, team, in_packs, [&](float v, std::int64_t i) {
      const std::int64_t k = first + parameter_of(i, n);
      return (v - mean) * factor * load(scale + k) + (bias ? load(bias + k) : 0.0f);
    });
  });
}

} // namespace

#define LANNER_DENSE_REDUCTION(name, suffix, T, Kind)                                                        \
  __global__ void __launch_bounds__(1024) dense_##name##_##suffix(const T* s, T* t, DenseRowParameters p) {  \
    reduce<Kind>(s, t, p);                                                                                   \
  }                                                                                                          \
  __global__ void __launch_bounds__(256)                                                                     \
      columns_##name##_##suffix(const T* s, T* t, DenseColumnParameters p) {                                 \
    reduce_columns<Kind>(s, t, p);                                                                           \
  }
#define LANNER_HELD_ROW_KERNELS(how, held, suffix, T)                                                        \
  __global__ void __launch_bounds__(256, 2) how##_softmax_##suffix(const T* s, T* t, DenseRowParameters p) { \
    held_softmax<false, held>(s, t, p);                                                                      \
  }                                                                                                          \
  __global__ void __launch_bounds__(256, 2)                                                                  \
      how##_log_softmax_##suffix(const T* s, T* t, DenseRowParameters p) {                                   \
    held_softmax<true, held>(s, t, p);                                                                       \
  }                                                                                                          \
  __global__ void __launch_bounds__(256, 2)                                                                  \
      how##_normalization_##suffix(const T* x, const T* added, const T* scale, const T* bias, T* sum, T* y,  \
                                   DenseNormalizationParameters p) {                                         \
    held_normalization<held>(x, added, scale, bias, sum, y, p);                                              \
  }
#define LANNER_DENSE_ROW_KERNELS(suffix, T)                                                                  \
  LANNER_DENSE_REDUCTION(reduce_sum, suffix, T, Plain<Sum>)                                                  \
  LANNER_DENSE_REDUCTION(reduce_mean, suffix, T, Mean)                                                       \
  LANNER_DENSE_REDUCTION(reduce_l1, suffix, T, Magnitudes)                                                   \
  LANNER_DENSE_REDUCTION(reduce_l2, suffix, T, Length)                                                       \
  LANNER_DENSE_REDUCTION(reduce_sum_square, suffix, T, Squares)                                              \
  LANNER_DENSE_REDUCTION(reduce_max, suffix, T, Plain<Max>)                                                  \
  LANNER_DENSE_REDUCTION(reduce_min, suffix, T, Plain<Min>)                                                  \
  LANNER_HELD_ROW_KERNELS(few, few_held, suffix, T)                                                          \
  LANNER_HELD_ROW_KERNELS(most, most_held, suffix, T)                                                        \
  __global__ void __launch_bounds__(1024) dense_softmax_##suffix(const T* s, T* t, DenseRowParameters p) {   \
    softmax<false>(s, t, p);                                                                                 \
  }                                                                                                          \
  __global__ void __launch_bounds__(1024)                                                                    \
      dense_log_softmax_##suffix(const T* s, T* t, DenseRowParameters p) {                                   \
    softmax<true>(s, t, p);                                                                                  \
  }                                                                                                          \
  __global__ void __launch_bounds__(1024)                                                                    \
      dense_normalization_##suffix(const T* x, const T* added, const T* scale, const T* bias, T* sum, T* y,  \
                                   DenseNormalizationParameters p) {                                         \
    normalization(x, added, scale, bias, sum, y, p);                                                         \
  }

extern "C" {
LANNER_DENSE_ROW_KERNELS(f32, float)
LANNER_DENSE_ROW_KERNELS(f16, __half)
LANNER_DENSE_ROW_KERNELS(bf16, __nv_bfloat16)
}
