#include "backends/cuda/depthwise_source.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/cuda/source_text.h"
#include "base/joined.h"

namespace lanner::cuda {
namespace {

/// Threads of a block take packs of channels that fill a line of memory, then columns, then lines of the
/// result: what neighbouring lines read alike is read by one multiprocessor.
constexpr const char* places = R"(
constexpr int groups = C / V, side = groups % 8 == 0 ? 8 : groups % 4 == 0 ? 4 : groups % 2 == 0 ? 2 : 1;
constexpr int tiles = (OW + T - 1) / T;
)";

constexpr const char* body = R"(
  unsigned rest = blockIdx.x * blockDim.x + threadIdx.x;
  if (rest >= THREADS) return;
  const int near = rest % side; rest /= side;
  const int x0 = rest % tiles * T; rest /= tiles;
  const int oy = rest % OH; rest /= OH;
  const int c = (rest % (groups / side) * side + near) * V;
  const int n = rest / (groups / side);
  const bool aligned = is_aligned<element_t, V>(src) && is_aligned<element_t, V>(weights) && is_aligned<element_t, V>(out);
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
    float w[KW][V];
#pragma unroll
    for (int kx = 0; kx < KW; ++kx) {
      const Pack<element_t, V> pack = load_pack<element_t, V>(weights + (ky * KW + kx) * C + c, aligned);
#pragma unroll
      for (int v = 0; v < V; ++v) w[kx][v] = load(pack.values[v]);
    }
#pragma unroll
    for (int column = 0; column < (T - 1) * SW + (KW - 1) * DW + 1; ++column) {
      bool used = false;
#pragma unroll
      for (int t = 0; t < T; ++t) used |= column >= t * SW && (column - t * SW) % DW == 0 && (column - t * SW) / DW < KW;
      if (!used) continue;
      const int ix = x0 * SW - PW + column;
      if (ix < 0 || ix >= IW) continue;
      const Pack<element_t, V> pack = load_pack<element_t, V>(image + (index_t(iy) * IW + ix) * C, aligned);
#pragma unroll
      for (int t = 0; t < T; ++t) {
        const int tap = column - t * SW;
        if (tap < 0 || tap % DW != 0 || tap / DW >= KW) continue;
#pragma unroll
        for (int v = 0; v < V; ++v) acc[t][v] = fmaf(load(pack.values[v]), w[tap / DW][v], acc[t][v]);
      }
    }
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

} // namespace

DepthwiseShare depthwise_share(const Depthwise& conv) {
  constexpr std::int64_t access_bytes = 16;
  DepthwiseShare share{access_bytes * 8 / static_cast<std::int64_t>(bit_width(conv.type)), 4};
  while (conv.channels % share.channels != 0) share.channels /= 2;
  while (share.columns > 1 && share.columns > conv.result[1]) share.columns /= 2;
  return share;
}

std::int64_t depthwise_threads(const Depthwise& conv) {
  const DepthwiseShare share = depthwise_share(conv);
  const std::int64_t tiles = (conv.result[1] + share.columns - 1) / share.columns;
  return conv.batch * conv.result[0] * tiles * (conv.channels / share.channels);
}

std::string depthwise_source(const Depthwise& conv) {
  const DepthwiseShare share = depthwise_share(conv);
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
  text += fmt::format("constexpr unsigned THREADS = {}u;\n", depthwise_threads(conv));
  constant("UNROLL", conv.kernel[0] <= 3 ? conv.kernel[0] : 1);
  std::vector<std::string> parameters{"const element_t* __restrict__ src",
                                      "const element_t* __restrict__ weights"};
  std::string steps;
  if (conv.bias) {
    parameters.emplace_back("const element_t* __restrict__ bias");
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
    parameters.push_back(fmt::format("const element_t* __restrict__ e{}", operand++));
  }
  parameters.emplace_back("element_t* __restrict__ out");
  return fmt::format("{}{}extern \"C\" __global__ void __launch_bounds__(256) depthwise({}) {{{}{}{}", text,
                     places, joined(parameters, ", "), body, steps, behind);
}

} // namespace lanner::cuda
