#include "backends/reduction/column_source.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/cuda/source_text.h"
#include "backends/reduction/row_source.h"
#include "base/check.h"

namespace lanner::cuda {
namespace {

constexpr int block = 256, access_bytes = 16;
constexpr std::int64_t longest = std::int64_t{1} << 30; ///< Counters are int.

/// How a reduction combines elements, as Plain, Mean ... in row_folds.cuh.
struct Reduction {
  std::string_view name;
  const char *total, *start, *term, *join, *result;
};
constexpr Reduction reductions[] = {
    {"reduce_sum", "float", "0.0f", "x", "a + b", "total"},
    {"reduce_mean", "float", "0.0f", "x", "a + b", "total / static_cast<float>(LENGTH)"},
    {"reduce_l1", "float", "0.0f", "fabsf(x)", "a + b", "total"},
    {"reduce_l2", "double", "0.0", "static_cast<double>(x) * x", "a + b", "static_cast<float>(sqrt(total))"},
    {"reduce_sum_square", "double", "0.0", "static_cast<double>(x) * x", "a + b",
     "static_cast<float>(total)"},
    {"reduce_max", "float", "-INF", "x", "a > b || a != a ? a : b", "total"},
    {"reduce_min", "float", "INF", "x", "a < b || a != a ? a : b", "total"}};

const Reduction& reduction_of(std::string_view name) {
  const auto* const found = std::ranges::find(reductions, name, &Reduction::name);
  lanner::check(found != std::end(reductions), ErrorCode::internal, "cuda: rows: no reduction {}", name);
  return *found;
}

constexpr const char* first_kernel = R"(
constexpr int WIDE = LANES * V, GROUPS = (COLUMNS + WIDE - 1) / WIDE, PART = (LENGTH + PARTS - 1) / PARTS, AHEAD = 4;
__device__ inline total_t join(total_t a, total_t b) { return JOIN(a, b); }
__device__ inline total_t term(float x) { return TERM(x); }
template<bool aligned> __device__ inline void fold(const element_t* from, int first, int last, total_t* totals) {
  for (int i = first; i < last; i += AHEAD * SLICES) {
    Pack<element_t, V> packs[AHEAD];
#pragma unroll
    for (int a = 0; a < AHEAD; ++a)
      if (i + a * SLICES < last) packs[a] = load_pack<element_t, V>(from + index_t(i + a * SLICES) * STEP, aligned);
#pragma unroll
    for (int a = 0; a < AHEAD; ++a)
      if (i + a * SLICES < last)
#pragma unroll
        for (int v = 0; v < V; ++v) totals[v] = join(totals[v], term(load(packs[a].values[v])));
  }
}
/// One column's total over the slices. All threads call it.
template<int width> __device__ inline total_t joined(const total_t (*slices)[width], int column) {
  total_t total = slices[0][column];
#pragma unroll
  for (int other = 1; other < SLICES; ++other) total = join(total, slices[other][column]);
  return total;
}
extern "C" __global__ void __launch_bounds__(THREADS) columns(const element_t* __restrict__ src, made_t* __restrict__ out) {
  start_next();
  wait_for_earlier();
  __shared__ total_t slices[SLICES][WIDE];
  const unsigned group = blockIdx.x % GROUPS, part = blockIdx.x / GROUPS % PARTS, set = blockIdx.x / (GROUPS * PARTS);
  const int lane = threadIdx.x % LANES, slice = threadIdx.x / LANES, column = (group * LANES + lane) * V;
  index_t from = 0, to = 0;
  unsigned index = set;
PLACES
  total_t totals[V];
#pragma unroll
  for (int v = 0; v < V; ++v) totals[v] = START;
  if (slice < SLICES && column < COLUMNS) {
    const int last = PART * (part + 1) < LENGTH ? PART * (part + 1) : LENGTH;
    const element_t* first = src + from + column;
    if (V == 1 || is_aligned<element_t, V>(src))
      fold<true>(first, PART * part + slice, last, totals);
    else
      fold<false>(first, PART * part + slice, last, totals);
  }
  if (slice < SLICES)
#pragma unroll
    for (int v = 0; v < V; ++v) slices[slice][lane * V + v] = totals[v];
  __syncthreads();
  for (int at = threadIdx.x; at < WIDE; at += THREADS) {
    const int which = group * WIDE + at;
    if (which >= COLUMNS) break;
    const total_t total = joined<WIDE>(slices, at);
    if (PARTS == 1)
      out[to + index_t(which) * TARGET_STEP] = Made<made_t>::of(total);
    else
      out[(index_t(set) * PARTS + part) * COLUMNS + which] = Made<made_t>::of(total);
  }
}
)";

/// A block handles `SIDE` columns of a set; its other threads share their parts.
constexpr const char* second_kernel = R"(
constexpr int SIDE = 32, SHARES = THREADS / SIDE, SIDES = (COLUMNS + SIDE - 1) / SIDE;
extern "C" __global__ void __launch_bounds__(THREADS) join_parts(const total_t* __restrict__ parts, element_t* __restrict__ out) {
  start_next();
  wait_for_earlier();
  __shared__ total_t shares[SHARES][SIDE];
  const unsigned set = blockIdx.x / SIDES;
  const int lane = threadIdx.x % SIDE, share = threadIdx.x / SIDE, column = blockIdx.x % SIDES * SIDE + lane;
  index_t from = 0, to = 0;
  unsigned index = set;
PLACES
  total_t total = START;
  if (column < COLUMNS)
#pragma unroll 4
    for (int part = share; part < PARTS; part += SHARES)
      total = join(total, parts[(index_t(set) * PARTS + part) * COLUMNS + column]);
  shares[share][lane] = total;
  __syncthreads();
  if (share > 0 || column >= COLUMNS) return;
#pragma unroll
  for (int other = 1; other < SHARES; ++other) total = join(total, shares[other][lane]);
  out[to + index_t(column) * TARGET_STEP] = Made<element_t>::of(total);
}
)";

std::int64_t groups_of(const Columns& columns) {
  const std::int64_t wide = std::int64_t{columns.share.lanes} * columns.share.pack;
  return (columns.dense.columns + wide - 1) / wide;
}

std::string with_places(std::string text, const Columns& columns) {
  text.replace(text.find("PLACES"), 6, offsets_text(columns.dense.outer, "index", "from", "to"));
  return text;
}

} // namespace

std::optional<ColumnShare> column_share(const DenseColumnParameters& dense, DType type, int multiprocessors) {
  if (dense.length < 1 || dense.length > longest || dense.step > INT32_MAX || dense.columns > longest ||
      dense.target_step > INT32_MAX || dense.outer.elements * dense.columns > INT32_MAX)
    return std::nullopt;
  ColumnShare share;
  share.threads = block;
  share.pack = access_bytes * 8 / static_cast<int>(bit_width(type));
  const BoxParameters& outer = dense.outer;
  const auto fits = [&] {
    return dense.columns % share.pack == 0 && dense.step % share.pack == 0 &&
           std::all_of(outer.source, outer.source + outer.rank,
                       [&](std::int64_t stride) { return stride % share.pack == 0; });
  };
  while (!fits()) share.pack /= 2;
  const std::int64_t count = dense.columns / share.pack;
  // Prefers whole cache lines and few idle threads; of equally good widths the narrowest, which gives the
  // most blocks.
  constexpr std::int64_t narrowest = 8, widest = 64;
  double best = 0;
  for (std::int64_t lanes = std::min(narrowest, count); lanes <= std::min(widest, count); ++lanes) {
    const std::int64_t groups = (count + lanes - 1) / lanes, slices = block / lanes;
    const double use =
        static_cast<double>(count * lanes * slices) / static_cast<double>(groups * lanes * block);
    if (use < best + 0.02) continue;
    best = use;
    share.lanes = static_cast<int>(lanes);
    share.slices = static_cast<int>(slices);
  }
  // Enough blocks for each multiprocessor, and enough elements per thread to be worth a second kernel.
  constexpr std::int64_t blocks_each = 8, least_elements = 8;
  const std::int64_t blocks = outer.elements * ((count + share.lanes - 1) / share.lanes),
                     wanted = multiprocessors * blocks_each;
  const std::int64_t most = std::max<std::int64_t>(1, dense.length / (share.slices * least_elements));
  share.parts =
      static_cast<int>(std::clamp<std::int64_t>(wanted / std::max<std::int64_t>(blocks, 1), 1, most));
  return share;
}

std::int64_t column_blocks(const Columns& columns) {
  return columns.dense.outer.elements * groups_of(columns) * columns.share.parts;
}

std::int64_t join_blocks(const Columns& columns) {
  constexpr std::int64_t side = 32;
  return columns.dense.outer.elements * ((columns.dense.columns + side - 1) / side);
}

std::size_t column_workspace(const Columns& columns) {
  if (columns.share.parts == 1) return 0;
  const bool wide = std::string_view(reduction_of(columns.reduction).total) == "double";
  return static_cast<std::size_t>(columns.dense.outer.elements * columns.share.parts *
                                  columns.dense.columns) *
         (wide ? sizeof(double) : sizeof(float));
}

std::string column_source(const Columns& columns) {
  const Reduction& reduction = reduction_of(columns.reduction);
  const ColumnShare& share = columns.share;
  const bool apart = share.parts > 1;
  std::string text =
      fmt::format("{}typedef {} element_t;\ntypedef {} total_t;\ntypedef {} made_t;\n", prelude(),
                  type_name(columns.type), reduction.total, apart ? "total_t" : "element_t");
  const std::pair<const char*, std::int64_t> constants[] = {{"V", share.pack},
                                                            {"LANES", share.lanes},
                                                            {"SLICES", share.slices},
                                                            {"PARTS", share.parts},
                                                            {"THREADS", share.threads},
                                                            {"LENGTH", columns.dense.length},
                                                            {"STEP", columns.dense.step},
                                                            {"COLUMNS", columns.dense.columns},
                                                            {"TARGET_STEP", columns.dense.target_step}};
  for (const auto& [name, value] : constants) text += fmt::format("constexpr int {} = {};\n", name, value);
  text += fmt::format("#define START {}\n#define TERM(x) ({})\n#define JOIN(a, b) ({})\n", reduction.start,
                      reduction.term, reduction.join);
  // Converts a total to a result, or keeps it as a partial.
  text += fmt::format("template<typename T> struct Made {{\n"
                      "  static __device__ inline T of(total_t total) {{ return Store<T>::of({}); }}\n"
                      "}};\n",
                      reduction.result);
  std::string first = first_kernel;
  if (apart) { // Totals, unconverted.
    const std::string made = "Made<made_t>::of(total)";
    for (std::size_t at = first.find(made); at != std::string::npos; at = first.find(made, at))
      first.replace(at, made.size(), "total");
  }
  return text + with_places(first, columns) + (apart ? with_places(second_kernel, columns) : "");
}

} // namespace lanner::cuda
