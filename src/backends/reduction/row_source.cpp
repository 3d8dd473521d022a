#include "backends/reduction/row_source.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/source_text.h"
#include "base/text/joined.h"

namespace lanner::cuda {
namespace {

constexpr int warp = 32, access_bytes = 16, largest_team = 1024;
/// Elements that a thread reads before it computes, measured on a Hopper: more threads exchange more, and
/// more packs leave room for fewer threads. The largest team reads twice as much.
constexpr std::int64_t good_packs = 4, good_elements = 8, most_elements = 64;

/// Reading and writing a thread's share of a row, and combining the results of a team's threads.
constexpr const char* parts = R"(
constexpr int COUNT = LENGTH / V, TEAMS = THREADS / TEAM, WARPS = TEAM < 32 ? 1 : TEAM / 32;
struct Share { Pack<element_t, V> packs[PACKS]; };
__device__ inline bool has(int i, int lane) { return (i + 1) * TEAM <= COUNT || i * TEAM + lane < COUNT; }
template<bool aligned> __device__ inline void read(Share& share, const element_t* row, int lane) {
#pragma unroll
  for (int i = 0; i < PACKS; ++i)
    if (has(i, lane)) share.packs[i] = load_pack<element_t, V>(row + (i * TEAM + lane) * V, aligned);
}
template<bool aligned> __device__ inline void write(const Share& share, element_t* row, int lane) {
#pragma unroll
  for (int i = 0; i < PACKS; ++i)
    if (has(i, lane)) store_pack<element_t, V>(row + (i * TEAM + lane) * V, share.packs[i], aligned);
}
struct Sum { static __device__ inline float join(float a, float b) { return a + b; } };
struct Most { static __device__ inline float join(float a, float b) { return fmaxf(a, b); } };
template<typename Fold> __device__ inline float join(float value, int& turn) {
#pragma unroll
  for (int distance = (TEAM < 32 ? TEAM : 32) / 2; distance > 0; distance /= 2)
    value = Fold::join(value, __shfl_xor_sync(0xffffffffu, value, distance));
  if (WARPS == 1) return value;
  __shared__ float shared[2][THREADS / 32];
  float* values = shared[turn];
  turn ^= 1;
  if (threadIdx.x % 32 == 0) values[threadIdx.x / 32] = value;
  __syncthreads();
  const int first = threadIdx.x / TEAM * WARPS;
  value = values[first];
#pragma unroll
  for (int other = 1; other < WARPS; ++other) value = Fold::join(value, values[first + other]);
  return value;
}
)";

constexpr const char* soft = R"(
template<bool aligned>
__device__ inline void compute(Share& x, int lane, int& turn) {
  float v[PACKS][V];
  float most = -INF, sum = 0.0f;
#pragma unroll
  for (int i = 0; i < PACKS; ++i)
    if (has(i, lane))
#pragma unroll
      for (int k = 0; k < V; ++k) most = fmaxf(most, v[i][k] = load(x.packs[i].values[k]));
  most = join<Most>(most, turn);
#pragma unroll
  for (int i = 0; i < PACKS; ++i)
    if (has(i, lane))
#pragma unroll
      for (int k = 0; k < V; ++k) {
        v[i][k] -= most;
        const float power = expf(v[i][k]);
        sum += power;
        if (!LOGARITHM) v[i][k] = power;
      }
  sum = join<Sum>(sum, turn);
  const float last = LOGARITHM ? logf(sum) : 1.0f / sum;
#pragma unroll
  for (int i = 0; i < PACKS; ++i)
    if (has(i, lane))
#pragma unroll
      for (int k = 0; k < V; ++k)
        x.packs[i].values[k] = Store<element_t>::of(LOGARITHM ? v[i][k] - last : v[i][k] * last);
}
)";

/// `added` is loaded and added where there is one; x then is the sum, rounded to its type.
constexpr const char* norm = R"(
template<bool aligned>
__device__ inline void compute(Share& x, Share& scales, Share& biases, unsigned row, const element_t* scale,
                               const element_t* bias, int lane, int& turn) {
  const unsigned first = row % REPEAT * (LENGTH / SHARED);
  if (SHARED == 1 && REPEAT > 1) {
    read<aligned>(scales, scale + first, lane);
    if (HAS_BIAS) read<aligned>(biases, bias + first, lane);
  }
  float v[PACKS][V];
  float total = 0.0f, squares = 0.0f;
#pragma unroll
  for (int i = 0; i < PACKS; ++i)
    if (has(i, lane))
#pragma unroll
      for (int k = 0; k < V; ++k) total += v[i][k] = load(x.packs[i].values[k]);
  const float mean = CENTRED ? join<Sum>(total, turn) / LENGTH : 0.0f;
#pragma unroll
  for (int i = 0; i < PACKS; ++i)
    if (has(i, lane))
#pragma unroll
      for (int k = 0; k < V; ++k) {
        v[i][k] -= mean;
        squares += v[i][k] * v[i][k];
      }
  const float factor = 1.0f / sqrtf(join<Sum>(squares, turn) / LENGTH + EPSILON);
#pragma unroll
  for (int i = 0; i < PACKS; ++i)
    if (has(i, lane))
#pragma unroll
      for (int k = 0; k < V; ++k) {
        const unsigned at = first + ((i * TEAM + lane) * V + k) / SHARED;
        const float s = load(SHARED == 1 ? scales.packs[i].values[k] : scale[at]);
        const float b = !HAS_BIAS ? 0.0f : load(SHARED == 1 ? biases.packs[i].values[k] : bias[at]);
        x.packs[i].values[k] = Store<element_t>::of(v[i][k] * factor * s + b);
      }
}
__device__ inline void add(Share& x, const Share& added, int lane) {
#pragma unroll
  for (int i = 0; i < PACKS; ++i)
    if (has(i, lane))
#pragma unroll
      for (int k = 0; k < V; ++k)
        x.packs[i].values[k] = Store<element_t>::of(load(x.packs[i].values[k]) + load(added.packs[i].values[k]));
}
)";

std::string constants(const HeldRows& rows) {
  const RowNorm& norm = rows.norm;
  const RowShare& share = rows.share;
  std::string text;
  const auto constant = [&](const char* name, std::int64_t value) {
    text += fmt::format("constexpr int {} = {};\n", name, value);
  };
  constant("LENGTH", rows.dense.length);
  constant("V", share.pack);
  constant("TEAM", share.team);
  constant("PACKS", share.packs);
  constant("ROWS", share.rows);
  constant("THREADS", share.threads);
  if (rows.kind != RowKind::normalization) {
    constant("LOGARITHM", rows.kind == RowKind::log_softmax);
    return text;
  }
  constant("CENTRED", norm.centred);
  constant("HAS_BIAS", norm.bias);
  constant("SHARED", norm.shared);
  constant("REPEAT", norm.repeat);
  return text + fmt::format("constexpr float EPSILON = {};\n", number(norm.epsilon));
}

std::vector<std::string> pointers(const HeldRows& rows) {
  const std::string read = "const element_t* __restrict__ ", written = "element_t* __restrict__ ";
  std::vector<std::string> list{read + "x"};
  if (rows.kind == RowKind::normalization) {
    if (rows.norm.added) list.push_back(read + "added");
    list.push_back(read + "scale");
    if (rows.norm.bias) list.push_back(read + "bias");
  }
  if (rows.norm.sum_is_read && rows.norm.sum_first) list.push_back(written + "sum");
  list.push_back(written + "y");
  if (rows.norm.sum_is_read && !rows.norm.sum_first) list.push_back(written + "sum");
  return list;
}

/// The body of the kernel for aligned or unaligned memory: all rows of a team are read before the first is
/// computed.
std::string work(const HeldRows& rows) {
  const RowNorm& norm = rows.norm;
  const bool norms = rows.kind == RowKind::normalization, apart = !norms;
  std::vector<std::string> parameters = pointers(rows);
  parameters.emplace_back("unsigned rows");
  std::string text =
      fmt::format("template<bool aligned> __device__ inline void work({}) {{\n"
                  "  const int lane = threadIdx.x % TEAM;\n"
                  "  const unsigned first = blockIdx.x * (TEAMS * ROWS) + threadIdx.x / TEAM;\n"
                  "  int turn = 0;\n"
                  "  index_t at[ROWS]{};\n"
                  "  Share shares[ROWS]{};\n",
                  joined(parameters, ", "), apart ? ", to[ROWS]" : "", norm.added ? ", more[ROWS]" : "");
  text += fmt::format("#pragma unroll\n"
                      "  for (int r = 0; r < ROWS; ++r) {{\n"
                      "    unsigned index = first + r * TEAMS;\n"
                      "    if (index >= rows) break;\n"
                      "    at[r] = 0;\n{}{}"
                      "    read<aligned>(shares[r], x + at[r], lane);\n{}"
                      "  }}\n",
                      apart ? "    to[r] = 0;\n" : "",
                      offsets_text(rows.dense.rows, "index", "at[r]", apart ? "to[r]" : ""),
                      norm.added ? "    read<aligned>(more[r], added + at[r], lane);\n" : "");
  if (norms)
    text += fmt::format("  Share scales, biases;\n"
                        "  if (SHARED == 1 && REPEAT == 1) {{\n"
                        "    read<aligned>(scales, scale, lane);\n{}"
                        "  }}\n",
                        norm.bias ? "    read<aligned>(biases, bias, lane);\n" : "");
  text += "#pragma unroll\n"
          "  for (int r = 0; r < ROWS; ++r) {\n"
          "    const unsigned row = first + r * TEAMS;\n"
          "    const bool writes = row < rows;\n"
          "    if (first - threadIdx.x / TEAM + r * TEAMS >= rows) break;\n";
  if (norm.added) text += "    add(shares[r], more[r], lane);\n";
  if (norm.sum_is_read) text += "    if (writes) write<aligned>(shares[r], sum + at[r], lane);\n";
  text += norms
              ? fmt::format("    compute<aligned>(shares[r], scales, biases, row, scale, {}, lane, turn);\n",
                            norm.bias ? "bias" : "nullptr")
              : "    compute<aligned>(shares[r], lane, turn);\n";
  return text + fmt::format("    if (writes) write<aligned>(shares[r], y + {}, lane);\n  }}\n}}\n",
                            apart ? "to[r]" : "at[r]");
}

} // namespace

std::string offsets_text(const BoxParameters& box, const char* index, const char* from, const char* to) {
  std::string text;
  const bool apart = *to != '\0';
  for (int axis = box.rank - 1; axis >= 0; --axis) {
    const std::string here = axis > 0 ? fmt::format("({} % {}u)", index, box.sizes[axis]) : index;
    text += fmt::format("    {} += index_t({}) * {}ll;\n", from, here, box.source[axis]);
    if (apart) text += fmt::format("    {} += index_t({}) * {}ll;\n", to, here, box.target[axis]);
    if (axis > 0) text += fmt::format("    {} /= {}u;\n", index, box.sizes[axis]);
  }
  return text;
}

std::optional<RowShare> row_share(const DenseRowParameters& dense, DType type) {
  const BoxParameters& rows = dense.rows;
  if (rows.elements >= divisor_limit || dense.length < 1) return std::nullopt;
  RowShare share;
  share.pack = access_bytes * 8 / static_cast<int>(bit_width(type));
  const auto divides = [&](const std::int64_t* strides) {
    return std::all_of(strides, strides + rows.rank, [&](std::int64_t s) { return s % share.pack == 0; });
  };
  while (dense.length % share.pack != 0 || !divides(rows.source) || !divides(rows.target)) share.pack /= 2;
  const std::int64_t count = dense.length / share.pack;
  const std::int64_t good = std::max<std::int64_t>(good_packs, good_elements / share.pack);
  const auto packs = [&] { return (count + share.team - 1) / share.team; };
  while (share.team < largest_team && packs() > good) share.team *= 2;
  if (packs() * share.pack > most_elements) return std::nullopt;
  share.packs = static_cast<int>(packs());
  // Blocks of few warps end, and make room for others, one by one. Those of a team larger than a warp
  // synchronise: such a block has no other team.
  share.threads = share.team > warp ? share.team : 4 * warp;
  return share;
}

std::int64_t row_blocks(const HeldRows& rows) {
  const std::int64_t each = std::int64_t{rows.share.threads / rows.share.team} * rows.share.rows;
  return (rows.dense.rows.elements + each - 1) / each;
}

std::string row_source(const HeldRows& rows) {
  std::vector<std::string> parameters = pointers(rows), arguments, checks;
  for (const std::string& parameter : parameters) {
    arguments.push_back(parameter.substr(parameter.rfind(' ') + 1));
    if (rows.norm.shared > 1 && (arguments.back() == "scale" || arguments.back() == "bias")) continue;
    checks.push_back(fmt::format("is_aligned<element_t, V>({})", arguments.back()));
  }
  parameters.emplace_back("index_t rows");
  arguments.emplace_back("static_cast<unsigned>(rows)");
  return fmt::format("{}typedef {} element_t;\n{}{}{}{}"
                     "extern \"C\" __global__ void __launch_bounds__({}) rows({}) {{\n"
                     "  start_next();\n  wait_for_earlier();\n"
                     "  if (V == 1 || ({}))\n"
                     "    work<true>({});\n"
                     "  else\n"
                     "    work<false>({});\n"
                     "}}\n",
                     prelude(), type_name(rows.type), constants(rows), parts,
                     rows.kind == RowKind::normalization ? norm : soft, work(rows), rows.share.threads,
                     joined(parameters, ", "), joined(checks, " && "), joined(arguments, ", "),
                     joined(arguments, ", "));
}

} // namespace lanner::cuda
