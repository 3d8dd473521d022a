#include "backends/convolution/depthwise_source.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "backends/cuda/source_text.h"
#include "base/text/joined.h"

namespace lanner::cuda {
namespace {

/// Threads of a block cover packs of channels that are adjacent in memory, then columns, then lines of the
/// result: input lines shared by neighbouring results are read by one multiprocessor.
constexpr const char* places = R"(
constexpr int largest_divisor(int all, int most) { return all % most == 0 ? most : largest_divisor(all, most - 1); }
constexpr int groups = C / V, side = largest_divisor(groups, 16);
constexpr int tiles = (OW + T - 1) / T, tiles_down = (OH + R - 1) / R;
constexpr int COLUMNS = (T - 1) * SW + (KW - 1) * DW + 1, LINES = (R - 1) * SH + (KH - 1) * DH + 1;
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
__device__ inline void load_line(Pack<element_t, V> (&pixels)[COLUMNS], const element_t* line, int x0) {
#pragma unroll
  for (int column = 0; column < COLUMNS; ++column) {
    const int ix = x0 * SW - PW + column;
    if (!is_read(column)) continue;
#pragma unroll
    for (int v = 0; v < V; ++v) pixels[column].values[v] = Store<element_t>::of(0.0f);
    if (ix >= 0 && ix < IW) pixels[column] = load_pack<element_t, V>(line + index_t(ix) * C, aligned);
  }
}

template<bool aligned>
__device__ inline void add_line(float (&acc)[T][V], const Pack<element_t, V> (&pixels)[COLUMNS], const element_t* weights) {
  Pack<element_t, V> taps[KW];
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
  const int y0 = rest % tiles_down * R; rest /= tiles_down;
  const int c = (rest % (groups / side) * side + near) * V;
  const int n = rest / (groups / side);
  const element_t* image = src + index_t(n) * (IH * IW) * C + c;
  float acc[R][T][V];
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int t = 0; t < T; ++t)
#pragma unroll
      for (int v = 0; v < V; ++v) acc[r][t][v] = 0.0f;
  // Each line of the image is loaded once for all lines of the result.
#pragma unroll UNROLL
  for (int down = 0; down < LINES; ++down) {
    const int iy = y0 * SH - PH + down;
    if (iy < 0 || iy >= IH || (R == 1 && down % DH != 0)) continue;
    Pack<element_t, V> pixels[COLUMNS];
    load_line<aligned>(pixels, image + index_t(iy) * IW * C, x0);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int from = down - r * SH;
      if (from >= 0 && from % DH == 0 && from / DH < KH)
        add_line<aligned>(acc[r], pixels, weights + from / DH * KW * C + c);
    }
  }
#pragma unroll
  for (int place = 0; place < R * T; ++place) {
    const int down = place / T, t = place % T, oy = y0 + down;
    if (x0 + t >= OW || oy >= OH) continue;
    const index_t at = ((index_t(n) * OH + oy) * OW + x0 + t) * C + c;
    Pack<result_t, V> pack;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      float r = acc[down][t][v];
)";

constexpr const char* behind = R"(      pack.values[v] = stored(r);
    }
    store_pack<result_t, V>(out + at, pack, aligned);
  }
}
)";

/// Channels per thread: a divisor of all channels, `most` at most.
std::int64_t channels_of(const Depthwise& conv, std::int64_t most) {
  while (conv.channels % most != 0) most /= 2;
  return most;
}

/// Columns or lines per thread: `most` at most, fewer where the last thread would be nearly idle.
std::int64_t part_of(std::int64_t size, std::int64_t most) {
  const std::int64_t tiles = (size + most - 1) / most;
  return (size + tiles - 1) / tiles;
}

} // namespace

std::vector<DepthwiseShare> depthwise_shares(const Depthwise& conv) {
  const std::int64_t access = 128 / static_cast<std::int64_t>(bit_width(conv.type)); // 16 bytes.
  // In the order of times measured on an H200.
  const DepthwiseShare small[] = {{access / 2, 4, 4}, {access, 4, 2},     {access / 2, 4, 2},
                                  {access / 4, 4, 4}, {access / 2, 4, 1}, {access / 4, 4, 2},
                                  {access / 4, 2, 1}, {access / 4, 1, 1}};
  const DepthwiseShare large[] = {{access / 2, 4, 2}, {access, 4, 2},     {access, 4, 1},
                                  {access / 4, 4, 4}, {access / 4, 4, 2}, {access / 2, 4, 1},
                                  {access / 4, 4, 1}, {access / 4, 2, 1}, {access / 4, 1, 1}};
  const bool is_large = conv.kernel[1] > 3 || conv.strides[1] > 1;
  const std::span<const DepthwiseShare> offered = is_large ? std::span<const DepthwiseShare>(large) : small;
  std::vector<DepthwiseShare> shares;
  for (const DepthwiseShare& most : offered) {
    const DepthwiseShare share{channels_of(conv, std::max<std::int64_t>(most.channels, 1)),
                               part_of(conv.result[1], most.columns), part_of(conv.result[0], most.lines)};
    if (std::ranges::find(shares, share) == shares.end()) shares.push_back(share);
  }
  return shares;
}

std::int64_t depthwise_threads(const Depthwise& conv, const DepthwiseShare& share) {
  const std::int64_t across = (conv.result[1] + share.columns - 1) / share.columns;
  const std::int64_t down = (conv.result[0] + share.lines - 1) / share.lines;
  return conv.batch * down * across * (conv.channels / share.channels);
}

/// Blocks of a multiprocessor, from which the compiler derives the registers available to a thread.
static int blocks_each(const Depthwise& conv, const DepthwiseShare& share) {
  const std::int64_t columns =
      (share.columns - 1) * conv.strides[1] + (conv.kernel[1] - 1) * conv.dilations[1] + 1;
  const bool many = share.channels * (share.lines * share.columns + columns / 2) >= 84;
  return many ? 3 : 4;
}

std::string depthwise_source(const Depthwise& conv, const DepthwiseShare& share) {
  std::string text = fmt::format("{}typedef {} element_t;\n{}", prelude(), type_name(conv.type),
                                 stored_text(conv.type, conv.rounding));
  const auto constant = [&](const char* name, std::int64_t value) {
    text += fmt::format("constexpr int {} = {};\n", name, value);
  };
  constant("C", conv.channels);
  constant("V", share.channels);
  constant("T", share.columns);
  constant("R", share.lines);
  const char* const axes[] = {"H", "W"};
  for (int i = 0; i < 2; ++i) {
    const std::pair<const char*, std::int64_t> sizes[] = {{"I", conv.image[i]},     {"O", conv.result[i]},
                                                          {"K", conv.kernel[i]},    {"S", conv.strides[i]},
                                                          {"D", conv.dilations[i]}, {"P", conv.begin[i]}};
    for (const auto& [what, value] : sizes) constant(fmt::format("{}{}", what, axes[i]).c_str(), value);
  }
  text += fmt::format("constexpr unsigned THREADS = {}u;\n", depthwise_threads(conv, share));
  const std::int64_t lines =
      (share.lines - 1) * conv.strides[0] + (conv.kernel[0] - 1) * conv.dilations[0] + 1;
  constant("UNROLL", conv.kernel[0] <= 3 ? lines : 1);
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
  parameters.emplace_back("result_t* __restrict__ out");
  arguments.emplace_back("out");
  const std::string list = joined(parameters, ", "), call = joined(arguments, ", ");
  text += fmt::format("{}{}template<bool aligned> __device__ inline void run({}) {}{}{}", places, line, list,
                      body, steps, behind);
  return text + fmt::format(R"(extern "C" __global__ void __launch_bounds__({}, {}) depthwise({}) {{
  start_next();
  wait_for_earlier();
  if (is_aligned<element_t, V>(src) && is_aligned<element_t, V>(weights) && is_aligned<result_t, V>(out))
    run<true>({});
  else
    run<false>({});
}}
)",
                            depthwise_block, blocks_each(conv, share), list, call, call);
}

} // namespace lanner::cuda
