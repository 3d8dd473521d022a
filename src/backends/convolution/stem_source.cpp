#include "backends/convolution/stem_source.h"

#include <fmt/format.h>

#include "backends/cuda/source_text.h"
#include "base/text/joined.h"

// The depth of the product runs over the lines of the filter and, within each, over its columns, padded to a
// multiple of four, of four channels each: a step of sixteen is four pixels that are adjacent in shared
// memory, from which threads read fragments of mma.sync directly.

namespace lanner::cuda {
namespace {

constexpr std::int64_t depth_channels = 4, taps_of_step = 4, warps = 8;

std::int64_t parts_of(std::int64_t size, std::int64_t part) {
  return (size + part - 1) / part;
}

std::int64_t padded_width(const Stem& stem) {
  return parts_of(stem.kernel[1], taps_of_step) * taps_of_step;
}

/// Lines and columns of the image that a tile reads.
std::int64_t patch_lines(const Stem& s) {
  return (s.tile_lines() - 1) * s.strides[0] + (s.kernel[0] - 1) * s.dilations[0] + 1;
}
std::int64_t patch_columns(const Stem& s) {
  return (Stem::tile_columns - 1) * s.strides[1] + (s.kernel[1] - 1) * s.dilations[1] + 1;
}

/// Pixels of the patch, and those behind its end that padded taps reach.
std::int64_t patch_pixels(const Stem& s) {
  return patch_lines(s) * patch_columns(s) + (padded_width(s) - s.kernel[1]) * s.dilations[1];
}

std::int64_t weight_bytes(const Stem& s) {
  return s.kernel[0] * padded_width(s) * depth_channels * s.filters * 2;
}

std::int64_t patch_bytes(const Stem& s) {
  return parts_of(patch_pixels(s) * depth_channels * 2, 16) * 16;
}

std::int64_t line_elements(const Stem& s) {
  return s.filters + 8; // So that lines begin in different banks.
}

constexpr const char* body = R"(
constexpr int STEPS_X = (KW + 3) / 4, STEPS = KH * STEPS_X, NT = FILTERS / 8;
constexpr int TH = 8 * MT, TW = 16, LOADS = (PATCH_H * PATCH_W + 255) / 256;
struct __align__(8) Pixel { element_t values[4]; };
struct __align__(8) Words { unsigned first, second; };

struct Tile { int n, y, x; };
__device__ inline Tile tile_of(unsigned number) {
  constexpr unsigned ACROSS = (OW + TW - 1) / TW, DOWN = (OH + TH - 1) / TH;
  const unsigned rest = number / ACROSS;
  return {static_cast<int>(rest / DOWN), static_cast<int>(rest % DOWN) * TH, static_cast<int>(number % ACROSS) * TW};
}

// The pixels of a tile's patch that this thread copies; zeros outside of the image.
__device__ inline void read_patch(Pixel (&pixels)[LOADS], const image_t* image, const Tile& tile) {
#pragma unroll
  for (int j = 0; j < LOADS; ++j) {
    const int i = j * 256 + static_cast<int>(threadIdx.x), line = i / PATCH_W, column = i % PATCH_W;
    const int iy = tile.y * SH - PH + line, ix = tile.x * SW - PW + column;
    const bool inside = line < PATCH_H && static_cast<unsigned>(iy) < IH && static_cast<unsigned>(ix) < IW;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      float value = 0.0f;
      if (c < C && inside) value = load(image[tile.n * STEP_N + c * STEP_C + iy * STEP_Y + ix * STEP_X]);
      pixels[j].values[c] = Store<element_t>::of(value);
    }
  }
}

__device__ inline void keep_patch(Pixel* patch, const Pixel (&pixels)[LOADS]) {
#pragma unroll
  for (int j = 0; j < LOADS; ++j) {
    const int i = j * 256 + static_cast<int>(threadIdx.x);
    if (i < PATCH_H * PATCH_W) patch[i] = pixels[j];
  }
}

// Weights in the order in which threads read fragments of b.
__device__ inline void keep_weights(element_t* to, const element_t* weights) {
  for (int i = threadIdx.x; i < STEPS * NT * 128; i += 256) {
    const int lane = i / 4 % 32, k = lane % 4 * 2 + i / 2 % 2 * 8 + i % 2, step = i / (NT * 128);
    const int filter = i / 128 % NT * 8 + lane / 4, ky = step / STEPS_X, kx = step % STEPS_X * 4 + k / 4, c = k % 4;
    to[i] = kx < KW && c < C ? weights[((filter * C + c) * KH + ky) * KW + kx] : Store<element_t>::of(0.0f);
  }
}
)";

constexpr const char* kernel_text = R"({
  start_next();
  wait_for_earlier();
  element_t* const kept = reinterpret_cast<element_t*>(dynamic_shared());
  Pixel* const patch = reinterpret_cast<Pixel*>(dynamic_shared() + PATCH_AT);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, near = lane % 4;
  result_t* const lines = reinterpret_cast<result_t*>(dynamic_shared() + LINES_AT) + warp * 16 * LINE;
  const bool aligned = is_aligned<result_t, 8>(out);
  Pixel pixels[LOADS];
  unsigned number = blockIdx.x;
  if (number < TILES) read_patch(pixels, image, tile_of(number));
  keep_weights(kept, weights);
  for (int i = PATCH_H * PATCH_W + static_cast<int>(threadIdx.x); i < PATCH_PIXELS; i += 256) patch[i] = Pixel{};
  for (; number < TILES; number += gridDim.x) {
    const Tile tile = tile_of(number);
    keep_patch(patch, pixels);
    __syncthreads();
    if (number + gridDim.x < TILES) read_patch(pixels, image, tile_of(number + gridDim.x));
    float acc[MT][NT][4];
    clear(acc);
#pragma unroll 1
    for (int ky = 0; ky < KH; ++ky) {
#pragma unroll
      for (int q = 0; q < STEPS_X; ++q) {
        unsigned a[MT][4];
#pragma unroll
        for (int i = 0; i < MT; ++i)
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            // Rows group and group + 8 of the fragment; taps of the step's first and second half.
            const int tap = q * 4 + near / 2 + e / 2 * 2;
            const Pixel* const at = patch + ((warp * MT + i) * SH + ky * DH) * PATCH_W + (group + e % 2 * 8) * SW + tap * DW;
            const unsigned word = reinterpret_cast<const unsigned*>(at)[near % 2];
            a[i][e] = q * 4 + 4 <= KW || tap < KW ? word : 0u; // 0 times what is not finite is no zero.
          }
        const Words* const b = reinterpret_cast<const Words*>(kept) + (ky * STEPS_X + q) * NT * 32 + lane;
#pragma unroll
        for (int j = 0; j < NT; ++j) {
          const Words pair = b[j * 32];
#pragma unroll
          for (int i = 0; i < MT; ++i) multiply(acc[i][j], a[i], pair.first, pair.second);
        }
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < MT; ++i) {
#pragma unroll
      for (int j = 0; j < NT; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          Pack<result_t, 2> pair;
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const int c = j * 8 + near * 2 + e;
            float r = acc[i][j][half * 2 + e];
)";

constexpr const char* behind = R"(            pair.values[e] = stored(r);
          }
          *reinterpret_cast<Pack<result_t, 2>*>(lines + (group + half * 8) * LINE + j * 8 + near * 2) = pair;
        }
      __syncwarp();
      const int y = tile.y + warp * MT + i;
      constexpr int PIECES = FILTERS / 8;
      for (int piece = lane; piece < 16 * PIECES; piece += 32) {
        const int column = piece / PIECES, c = piece % PIECES * 8, x = tile.x + column;
        if (y < OH && x < OW)
          store_pack<result_t, 8>(out + ((index_t(tile.n) * OH + y) * OW + x) * FILTERS + c,
                                   *reinterpret_cast<const Pack<result_t, 8>*>(lines + column * LINE + c), aligned);
      }
      __syncwarp();
    }
  }
}
)";

std::string constant(std::string_view name, std::int64_t value) {
  return fmt::format("constexpr int {} = {};\n", name, value);
}

std::string sizes_text(const Stem& s) {
  std::string text;
  const char* const axes[] = {"H", "W"};
  for (int i = 0; i < 2; ++i) {
    const std::pair<const char*, std::int64_t> sizes[] = {{"I", s.size[i]},      {"O", s.result[i]},
                                                          {"K", s.kernel[i]},    {"S", s.strides[i]},
                                                          {"D", s.dilations[i]}, {"P", s.begin[i]}};
    for (const auto& [what, value] : sizes) text += constant(fmt::format("{}{}", what, axes[i]), value);
  }
  text += constant("C", s.channels) + constant("FILTERS", s.filters) + constant("MT", s.lines_of_warp());
  text += constant("PATCH_H", patch_lines(s)) + constant("PATCH_W", patch_columns(s)) +
          constant("PATCH_PIXELS", patch_pixels(s));
  text += constant("PATCH_AT", weight_bytes(s)) + constant("LINES_AT", weight_bytes(s) + patch_bytes(s)) +
          constant("LINE", line_elements(s));
  const std::int64_t pixels = s.size[0] * s.size[1];
  text += constant("STEP_N", s.channels * pixels) + constant("STEP_C", s.channels_last ? 1 : pixels) +
          constant("STEP_Y", s.size[1] * (s.channels_last ? s.channels : 1)) +
          constant("STEP_X", s.channels_last ? s.channels : 1);
  return text + fmt::format("constexpr unsigned TILES = {}u;\n", s.tiles());
}

} // namespace

std::int64_t Stem::tiles() const {
  return batch * parts_of(result[0], tile_lines()) * parts_of(result[1], tile_columns);
}

std::int64_t Stem::shared_bytes() const {
  return weight_bytes(*this) + patch_bytes(*this) + warps * 16 * line_elements(*this) * 2;
}

bool stem_fits(const Stem& stem, std::int64_t shared) {
  constexpr std::int64_t most_filters = 128, most_loads = 12;
  return stem.channels <= depth_channels && stem.filters % 8 == 0 && stem.filters <= most_filters &&
         patch_pixels(stem) <= most_loads * stem_block && stem.shared_bytes() <= shared;
}

std::string stem_source(const Stem& stem) {
  std::string text = fmt::format(
      "{}typedef {} element_t;\ntypedef {} image_t;\ntypedef float sum_t;\n#define MMA_TYPE \"{}\"\n",
      prelude(), type_name(stem.type), type_name(stem.image), stem.type == DType::bf16 ? "bf16" : "f16");
  text += matrix_instructions();
  text += warp_multiply(false);
  text += stored_text(stem.type, stem.rounding);
  text += sizes_text(stem);
  text += body;
  std::vector<std::string> parameters{"const image_t* __restrict__ image",
                                      "const element_t* __restrict__ weights"};
  std::string steps;
  for (const MatrixStep& step : stem.steps) {
    std::vector<std::string> operands{"r"};
    if (step.operand) {
      const std::string name = fmt::format("e{}", parameters.size());
      parameters.push_back(fmt::format("const {}* __restrict__ {}", type_name(step.operand->type), name));
      operands.push_back(
          fmt::format("load({}[{}])", name, step.operand->spread == Spread::channel ? "c" : "0"));
    }
    steps += fmt::format("            r = {};\n", formula_text(*step.formula, step.numbers, operands));
  }
  parameters.emplace_back("result_t* __restrict__ out");
  return text + fmt::format("extern \"C\" __global__ void __launch_bounds__({}, {}) stem({}) {}{}{}",
                            stem_block, stem.blocks_each(), joined(parameters, ", "), kernel_text, steps,
                            behind);
}

} // namespace lanner::cuda
