#include "backends/attention/attention_source.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/cuda/source_text.h"
#include "base/text/joined.h"

// The method is FlashAttention-2's (Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work
// Partitioning", 2023): each warp owns 16 queries, keys and values are processed in tiles, and the softmax is
// rescaled whenever a larger score is found. Scores and sums stay in f32 registers; fragments have PTX's
// layout of mma.m16n8k16 and ldmatrix.

namespace lanner::cuda {
namespace {

constexpr std::int64_t pad = 8; ///< Padding after a row in shared memory, which spreads rows over all banks.
constexpr std::int64_t most_shared = 48 << 10;
constexpr std::int64_t most_depth = 256;
constexpr std::int64_t most_kept_depth = 128; ///< Limit for keeping queries in registers.

std::int64_t up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

/// Bytes of shared memory, and the 32-bit registers per thread that hold matrices.
struct Needs {
  std::int64_t shared = 0, registers = 0;
};

Needs needs_of(const Attention& a, const AttentionTile& tile) {
  const std::int64_t depth = up(a.depth, 16), columns = up(a.columns, 16);
  const bool kept = depth <= most_kept_depth;
  const std::int64_t queries = tile.queries() * (depth + pad), keys = tile.keys * (depth + pad),
                     values = tile.keys * (columns + pad), result = tile.queries() * (columns + pad);
  Needs needs;
  needs.shared = 2 * std::max(kept ? std::max(queries, keys + values) : queries + keys + values, result);
  needs.registers = columns / 2 + tile.keys / 2 + (kept ? depth / 4 : 4);
  return needs;
}

constexpr const char* instructions = R"(
__device__ inline unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ inline void load_matrices(unsigned (&r)[4], const element_t* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(p)) : "memory");
}
__device__ inline void load_transposed(unsigned (&r)[4], const element_t* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(p)) : "memory");
}
__device__ inline void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MMA_TYPE "." MMA_TYPE ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline unsigned pair_of(float x, float y) {
  return static_cast<unsigned>(Store<element_t>::of(x).bits) | static_cast<unsigned>(Store<element_t>::of(y).bits) << 16;
}
__device__ inline float power_of_2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template<int n> __device__ inline void wait_for_groups() { asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory"); }

// Copies rows `first` to `first + ROWS` of a matrix, with zeros beyond its rows and columns. Pieces of 16
// bytes are copied asynchronously; other elements synchronously, adjacent ones by adjacent threads.
template<int ROWS, int PADDED, class Matrix>
__device__ inline void load_tile(element_t* to, const element_t* from, unsigned first, bool aligned) {
  constexpr int stride = PADDED + 8;
  if (Matrix::packs && aligned) {
    for (unsigned i = threadIdx.x; i < ROWS * (PADDED / 8); i += THREADS) {
      const unsigned row = i / (PADDED / 8), column = i % (PADDED / 8) * 8;
      const bool inside = first + row < Matrix::rows && column < Matrix::columns;
      const element_t* source = inside ? from + Matrix::row(first + row) + Matrix::column(column) : from;
      const unsigned bytes = inside ? 16 : 0;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                   :: "r"(shared_address(to + row * stride + column)), "l"(source), "r"(bytes) : "memory");
    }
    return;
  }
  for (unsigned i = threadIdx.x; i < ROWS * PADDED; i += THREADS) {
    const unsigned row = Matrix::by_rows ? i / PADDED : i % ROWS, column = Matrix::by_rows ? i % PADDED : i / ROWS;
    element_t value = {0};
    if (first + row < Matrix::rows && column < Matrix::columns) value = from[Matrix::row(first + row) + Matrix::column(column)];
    to[row * stride + column] = value;
  }
}
)";

constexpr const char* body = R"(
  constexpr int QS = QD + 8, KS = QD + 8, VS = VD + 8;
  __shared__ __align__(16) element_t shared[SHARED];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const unsigned z = blockIdx.x / TILES, first = blockIdx.x % TILES * M;
  q += Q::head(z); k += K::head(z); v += V::head(z); out += R::head(z);
  const bool q_aligned = is_aligned<element_t, 8>(q), k_aligned = is_aligned<element_t, 8>(k), v_aligned = is_aligned<element_t, 8>(v);
  element_t* keys = shared + (KEPT ? 0 : M * QS);
  element_t* values = keys + N * KS;

  load_tile<M, QD, Q>(shared, q, first, q_aligned);
  end_group();
  wait_for_groups<0>();
  __syncthreads();
  const element_t* q_rows = shared + (warp * 16 + (lane / 8 % 2) * 8 + lane % 8) * QS + lane / 16 * 8;
  unsigned a[KEPT ? QD / 16 : 1][4];
  if (KEPT) {
#pragma unroll
    for (int d = 0; d < QD / 16; ++d) load_matrices(a[KEPT ? d : 0], q_rows + d * 16);
    __syncthreads();
  }
  load_tile<N, QD, K>(keys, k, 0, k_aligned);
  end_group();

  float o[VD / 8][4];
#pragma unroll
  for (int d = 0; d < VD / 8; ++d)
#pragma unroll
    for (int i = 0; i < 4; ++i) o[d][i] = 0.0f;
  float most[2] = {-INF, -INF}, sum[2] = {0.0f, 0.0f};
  const unsigned rows[2] = {first + warp * 16 + g, first + warp * 16 + g + 8};

  for (unsigned start = 0; start < Kmax; start += N) {
    load_tile<N, VD, V>(values, v, start, v_aligned);
    end_group();
    wait_for_groups<1>();
    __syncthreads();
    float s[N / 8][4];
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) s[n][i] = 0.0f;
    const element_t* k_rows = keys + (lane / 16 * 8 + lane % 8) * KS + lane / 8 % 2 * 8;
#pragma unroll
    for (int d = 0; d < QD / 16; ++d) {
      if (!KEPT) load_matrices(a[0], q_rows + d * 16);
#pragma unroll
      for (int n = 0; n < N / 8; n += 2) {
        unsigned b[4];
        load_matrices(b, k_rows + n * 8 * KS + d * 16);
        multiply(s[n], a[KEPT ? d : 0], b[0], b[1]);
        multiply(s[n + 1], a[KEPT ? d : 0], b[2], b[3]);
      }
    }
    __syncthreads();
    if (start + N < Kmax) load_tile<N, QD, K>(keys, k, start + N, k_aligned);
    end_group();

    float largest[2] = {most[0], most[1]};
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const unsigned row = rows[i / 2], column = start + n * 8 + t * 2 + i % 2;
        float x = s[n][i];
        if (column >= Kmax) x = -INF;
        else if (!BIASED || row < Qmax) {
)";

constexpr const char* behind_steps = R"(
        }
        s[n][i] = x;
        largest[i / 2] = fmaxf(largest[i / 2], x);
      }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      largest[r] = fmaxf(largest[r], __shfl_xor_sync(0xffffffffu, largest[r], 1));
      largest[r] = fmaxf(largest[r], __shfl_xor_sync(0xffffffffu, largest[r], 2));
    }
    constexpr float log2_e = 1.4426950408889634f;
    // While all scores so far are minus infinity nothing is rescaled, and their powers are 0.
    const float base[2] = {largest[0] == -INF ? 0.0f : largest[0], largest[1] == -INF ? 0.0f : largest[1]};
    const float scale[2] = {power_of_2((most[0] - base[0]) * log2_e), power_of_2((most[1] - base[1]) * log2_e)};
    most[0] = largest[0];
    most[1] = largest[1];
    sum[0] *= scale[0];
    sum[1] *= scale[1];
#pragma unroll
    for (int d = 0; d < VD / 8; ++d) {
      o[d][0] *= scale[0];
      o[d][1] *= scale[0];
      o[d][2] *= scale[1];
      o[d][3] *= scale[1];
    }
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        // Subtracted first: of the lowest numbers, which masks are, the product's rounding alone is beyond any power.
        s[n][i] = power_of_2((s[n][i] - base[i / 2]) * log2_e);
        sum[i / 2] += s[n][i];
      }
    wait_for_groups<1>();
    __syncthreads();
    const element_t* v_rows = values + (lane / 8 % 2 * 8 + lane % 8) * VS + lane / 16 * 8;
#pragma unroll
    for (int n = 0; n < N / 16; ++n) {
      const unsigned p[4] = {pair_of(s[2 * n][0], s[2 * n][1]), pair_of(s[2 * n][2], s[2 * n][3]),
                             pair_of(s[2 * n + 1][0], s[2 * n + 1][1]), pair_of(s[2 * n + 1][2], s[2 * n + 1][3])};
#pragma unroll
      for (int d = 0; d < VD / 8; d += 2) {
        unsigned b[4];
        load_transposed(b, v_rows + n * 16 * VS + d * 8);
        multiply(o[d], p, b[0], b[1]);
        multiply(o[d + 1], p, b[2], b[3]);
      }
    }
    __syncthreads();
  }
  wait_for_groups<0>();
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], 1);
    sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], 2);
    const float share = 1.0f / sum[r];
    const bool nothing = ZERO_FOR_NAN && !(sum[r] > 0.0f);
    unsigned* line = reinterpret_cast<unsigned*>(shared + (warp * 16 + g + r * 8) * VS);
#pragma unroll
    for (int d = 0; d < VD / 8; ++d) line[d * 4 + t] = nothing ? 0u : pair_of(o[d][2 * r] * share, o[d][2 * r + 1] * share);
  }
  __syncthreads();
  if (R::packs && is_aligned<element_t, 8>(out)) {
    for (unsigned i = threadIdx.x; i < M * (R::columns / 8); i += THREADS) {
      const unsigned row = i / (R::columns / 8), column = i % (R::columns / 8) * 8;
      if (first + row < Qmax)
        *reinterpret_cast<uint4*>(out + R::row(first + row) + R::column(column)) = *reinterpret_cast<const uint4*>(shared + row * VS + column);
    }
    return;
  }
  for (unsigned i = threadIdx.x; i < M * R::columns; i += THREADS) {
    const unsigned row = R::by_rows ? i / R::columns : i % M, column = R::by_rows ? i % R::columns : i / M;
    if (first + row < Qmax) out[R::row(first + row) + R::column(column)] = shared[row * VS + column];
  }
}
)";

std::int64_t stride_of(const StridedDim& dim) {
  return dim.size() == 1 ? dim.front().stride : dim.empty() ? 1 : 0;
}

/// Whether eight elements of a row are contiguous and aligned to eight elements, wherever the row begins.
bool has_packs(const AttentionOperand& operand, std::int64_t columns) {
  const auto even = [](const StridedDim& dim) {
    return std::ranges::all_of(dim, [](const StridedFactor& factor) { return factor.stride % 8 == 0; });
  };
  return columns % 8 == 0 && stride_of(operand.columns) == 1 && operand.offset % 8 == 0 &&
         even(operand.rows) && even(operand.heads);
}

/// A struct with the element addresses of a matrix of head z.
std::string matrix_text(const char* name, const AttentionOperand& operand, std::int64_t rows,
                        std::int64_t columns) {
  return fmt::format("struct {} {{\n  static constexpr unsigned rows = {}u, columns = {}u;\n"
                     "  static constexpr bool packs = {}, by_rows = {};\n"
                     "  static __device__ index_t head(unsigned i) {{ return {}ll + {}; }}\n"
                     "  static __device__ index_t row(unsigned i) {{ return {}; }}\n"
                     "  static __device__ index_t column(unsigned i) {{ return {}; }}\n}};\n",
                     name, rows, columns, has_packs(operand, columns), stride_of(operand.rows) != 1,
                     operand.offset, offset_text(operand.heads, "i"), offset_text(operand.rows, "i"),
                     offset_text(operand.columns, "i"));
}

} // namespace

std::optional<AttentionTile> attention_tile(const Attention& attention, std::int64_t warps) {
  constexpr std::int64_t most_keys = 128, most_registers = 150, cost_of_tile = 16;
  if (attention.depth > most_depth || attention.columns > most_depth) return std::nullopt;
  std::optional<AttentionTile> best;
  std::int64_t least = INT64_MAX;
  for (std::int64_t keys = 16; keys <= most_keys; keys += 16) {
    const AttentionTile tile{warps, keys};
    const Needs needs = needs_of(attention, tile);
    if (needs.shared > most_shared || (needs.registers > most_registers && keys > 16)) break;
    const std::int64_t tiles = (attention.keys + keys - 1) / keys, cost = tiles * (keys + cost_of_tile);
    if (cost >= least) continue;
    least = cost;
    best = tile;
  }
  return best;
}

std::int64_t attention_blocks(const Attention& attention, const AttentionTile& tile) {
  return attention.heads * ((attention.queries + tile.queries() - 1) / tile.queries());
}

std::string attention_source(const Attention& a, const AttentionTile& tile, DType type) {
  std::string text = fmt::format("{}typedef {} element_t;\n#define MMA_TYPE \"{}\"\n", prelude(),
                                 type_name(type), type == DType::f16 ? "f16" : "bf16");
  const auto constant = [&](const char* name, std::int64_t value) {
    text += fmt::format("constexpr int {} = {};\n", name, value);
  };
  const bool kept = up(a.depth, 16) <= most_kept_depth;
  const bool biased = std::ranges::any_of(a.steps, [](const ScoreStep& s) { return s.bias.has_value(); });
  constant("M", tile.queries());
  constant("N", tile.keys);
  constant("QD", up(a.depth, 16));
  constant("VD", up(a.columns, 16));
  constant("THREADS", tile.warps * 32);
  constant("TILES", (a.queries + tile.queries() - 1) / tile.queries());
  constant("SHARED", needs_of(a, tile).shared / 2);
  text += fmt::format("constexpr unsigned Qmax = {}u, Kmax = {}u;\nconstexpr bool KEPT = {}, BIASED = {}, "
                      "ZERO_FOR_NAN = {};\n",
                      a.queries, a.keys, kept, biased, a.zero_for_nan);
  text += instructions;
  text += matrix_text("Q", a.q, a.queries, a.depth) + matrix_text("K", a.k, a.keys, a.depth) +
          matrix_text("V", a.v, a.keys, a.columns) + matrix_text("R", a.result, a.queries, a.columns);

  std::vector<std::string> parameters{"const element_t* q", "const element_t* k", "const element_t* v"};
  std::string steps;
  for (const ScoreStep& step : a.steps) {
    if (!step.bias) {
      steps += fmt::format("          x *= {};\n", number(step.factor));
      continue;
    }
    const std::string name = fmt::format("bias{}", parameters.size());
    parameters.push_back(fmt::format("const {}* __restrict__ {}", type_name(step.dtype), name));
    steps += fmt::format("          x += load({}[{}ll + {} + {} + {}]);\n", name, step.bias->offset,
                         offset_text(step.bias->heads, "z"), offset_text(step.bias->rows, "row"),
                         offset_text(step.bias->columns, "column"));
  }
  parameters.emplace_back("element_t* out");
  text += fmt::format("extern \"C\" __global__ void __launch_bounds__(THREADS) attention({}) {{\n  "
                      "start_next();\n  wait_for_earlier();\n",
                      joined(parameters, ", "));
  return text + body + steps + behind_steps;
}

} // namespace lanner::cuda
