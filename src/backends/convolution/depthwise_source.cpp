#include "backends/convolution/depthwise_source.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/cuda/source_text.h"
#include "base/text/joined.h"

namespace lanner::cuda {
namespace {

/// Threads of a block cover packs of channels that fill a cache line, then columns, then lines of the result:
/// input lines shared by neighbouring results are read by one multiprocessor.
constexpr const char* places = R"(
constexpr int groups = C / V, side = groups % 8 == 0 ? 8 : groups % 4 == 0 ? 4 : groups % 2 == 0 ? 2 : 1;
constexpr int tiles = (OW + T - 1) / T;
constexpr int COLUMNS = (T - 1) * SW + (KW - 1) * DW + 1;
/// Whether any result of a thread reads this column.
constexpr __device__ bool is_read(int column) {
  for (int t = 0; t < T; ++t)
    if (column >= t * SW && (column - t * SW) % DW == 0 && (column - t * SW) / DW < KW) return true;
  return false;
}
)";

/// All pixels of a line are loaded before any is used: with branches in between, loads would be serialised,
/// and the few threads that fit on a multiprocessor do not hide that latency.
constexpr const char* line = R"(
template<bool aligned>
__device__ inline void add_line(float (&acc)[T][V], const element_t* line, const element_t* weights, int x0) {
  Pack<element_t, V> pixels[COLUMNS], taps[KW];
#pragma unroll
  for (int column = 0; column < COLUMNS; ++column) {
    const int ix = x0 * SW - PW + column;
    if (!is_read(column)) continue;
#pragma unroll
    for (int v = 0; v < V; ++v) pixels[column].values[v] = Store<element_t>::of(0.0f);
    if (ix >= 0 && ix < IW) pixels[column] = load_pack<element_t, V>(line + index_t(ix) * C, aligned);
  }
#pragma unroll
  for (int kx = 0; kx < KW; ++kx) taps[kx] = load_pack<element_t, V>(weights + kx * C, aligned);
#pragma unroll
  for (int v = 0; v < V; ++v) {
    float tap[KW];
#pragma unroll
    for (int kx = 0; kx < KW; ++kx) tap[kx] = load(taps[kx].values[v]);
#pragma unroll
    for (int column = 0; column < COLUMNS; ++column) {
      if (!is_read(column)) continue;
      const float pixel = load(pixels[column].values[v]);
#pragma unroll
      for (int t = 0; t < T; ++t) {
        const int from = column - t * SW;
        if (from >= 0 && from % DW == 0 && from / DW < KW) acc[t][v] = fmaf(pixel, tap[from / DW], acc[t][v]);
      }
    }
  }
}
)";

constexpr const char* body = R"({
  unsigned rest = blockIdx.x * blockDim.x + threadIdx.x;
  if (rest >= THREADS) return;
  const int near = rest % side; rest /= side;
  const int x0 = rest % tiles * T; rest /= tiles;
  const int oy = rest % OH; rest /= OH;
  const int c = (rest % (groups / side) * side + near) * V;
  const int n = rest / (groups / side);
  const element_t* image = src + index_t(n) * (IH * IW) * C + c;
  float acc[T][V];
#pragma unroll
  for (int t = 0; t < T; ++t)
#pragma unroll
    for (int v = 0; v < V; ++v) acc[t][v] = 0.0f;
#pragma unroll UNROLL
  for (int ky = 0; ky < KH; ++ky) {
    const int iy = oy * SH + ky * DH - PH;
    if (iy < 0 || iy >= IH) continue;
    add_line<aligned>(acc, image + index_t(iy) * IW * C, weights + ky * KW * C + c, x0);
  }
#pragma unroll
  for (int t = 0; t < T; ++t) {
    if (x0 + t >= OW) break;
    const index_t at = ((index_t(n) * OH + oy) * OW + x0 + t) * C + c;
    Pack<element_t, V> pack;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      float r = acc[t][v];
)";

constexpr const char* behind = R"(      pack.values[v] = Store<element_t>::of(r);
    }
    store_pack<element_t, V>(out + at, pack, aligned);
  }
}
)";

/// Channels per thread: a divisor of all channels, `most` at most.
std::int64_t channels_of(const Depthwise& conv, std::int64_t most) {
  while (conv.channels % most != 0) most /= 2;
  return most;
}

/// Columns per thread: `most` at most, fewer where the last thread of a line would be nearly idle.
std::int64_t columns_of(const Depthwise& conv, std::int64_t most) {
  const std::int64_t width = conv.result[1], tiles = (width + most - 1) / most;
  return (width + tiles - 1) / tiles;
}

} // namespace

std::vector<DepthwiseShare> depthwise_shares(const Depthwise& conv) {
  const std::int64_t access = 128 / static_cast<std::int64_t>(bit_width(conv.type)); // 16 bytes.
  const bool large = conv.kernel[1] > 3 || conv.strides[1] > 1;
  const DepthwiseShare offered[] = {{access / (large ? 2 : 1), large ? 8 : 4},
                                    {access, large ? 4 : 2},
                                    {access / 2, 4},
                                    {access / 4, 4},
                                    {access / 4, 2},
                                    {access / 4, 1}};
  std::vector<DepthwiseShare> shares;
  for (const DepthwiseShare& most : offered) {
    const DepthwiseShare share{channels_of(conv, std::max<std::int64_t>(most.channels, 1)),
                               columns_of(conv, most.columns)};
    if (std::ranges::find(shares, share) == shares.end()) shares.push_back(share);
  }
  return shares;
}

std::int64_t depthwise_threads(const Depthwise& conv, const DepthwiseShare& share) {
  const std::int64_t tiles = (conv.result[1] + share.columns - 1) / share.columns;
  return conv.batch * conv.result[0] * tiles * (conv.channels / share.channels);
}

std::string depthwise_source(const Depthwise& conv, const DepthwiseShare& share) {
  std::string text = fmt::format("{}typedef {} element_t;\n", prelude(), type_name(conv.type));
  const auto constant = [&](const char* name, std::int64_t value) {
    text += fmt::format("constexpr int {} = {};\n", name, value);
  };
  constant("C", conv.channels);
  constant("V", share.channels);
  constant("T", share.columns);
  const char* const axes[] = {"H", "W"};
  for (int i = 0; i < 2; ++i) {
    const std::pair<const char*, std::int64_t> sizes[] = {{"I", conv.image[i]},     {"O", conv.result[i]},
                                                          {"K", conv.kernel[i]},    {"S", conv.strides[i]},
                                                          {"D", conv.dilations[i]}, {"P", conv.begin[i]}};
    for (const auto& [what, value] : sizes) constant(fmt::format("{}{}", what, axes[i]).c_str(), value);
  }
  text += fmt::format("constexpr unsigned THREADS = {}u;\n", depthwise_threads(conv, share));
  constant("UNROLL", conv.kernel[0] <= 3 ? conv.kernel[0] : 1);
  std::vector<std::string> parameters{"const element_t* __restrict__ src",
                                      "const element_t* __restrict__ weights"};
  std::vector<std::string> arguments{"src", "weights"};
  std::string steps;
  if (conv.bias) {
    parameters.emplace_back("const element_t* __restrict__ bias");
    arguments.emplace_back("bias");
    steps += "      r += load(bias[c + v]);\n";
  }
  int operand = 0;
  for (const EpilogueStep& step : conv.epilogue) {
    if (!step.binary) {
      const std::string x[] = {"r"};
      const Numbers numbers{step.activation.alpha, step.activation.beta};
      steps += fmt::format("      r = {};\n", formula_text(*step.activation.formula, numbers, x));
      continue;
    }
    const char* at = step.spread == Spread::full ? "at + v" : step.spread == Spread::channel ? "c + v" : "0";
    const std::string xy[] = {"r", fmt::format("load(e{}[{}])", operand, at)};
    steps += fmt::format("      r = {};\n", formula_text(formula_of(*step.binary), {}, xy));
    parameters.push_back(fmt::format("const element_t* __restrict__ e{}", operand));
    arguments.push_back(fmt::format("e{}", operand++));
  }
  parameters.emplace_back("element_t* __restrict__ out");
  arguments.emplace_back("out");
  const std::string list = joined(parameters, ", "), call = joined(arguments, ", ");
  text += fmt::format("{}{}template<bool aligned> __device__ inline void run({}) {}{}{}", places, line, list,
                      body, steps, behind);
  return text + fmt::format(R"(extern "C" __global__ void __launch_bounds__({}, 4) depthwise({}) {{
  if (is_aligned<element_t, V>(src) && is_aligned<element_t, V>(weights) && is_aligned<element_t, V>(out))
    run<true>({});
  else
    run<false>({});
}}
)",
                            depthwise_block, list, call, call);
}

} // namespace lanner::cuda
