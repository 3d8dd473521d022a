#include "backends/pooling/pool_source.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/byte_scale.h"
#include "backends/cuda/source_text.h"

namespace lanner::cuda {
namespace {

constexpr int access_bytes = 16;

constexpr const char* body = R"(
/// Number of taps along an axis that an average counts, for the window that begins at `start`.
template<int taps, int dilation> __device__ inline int inside(int start, int low, int high) {
  int count = 0;
#pragma unroll
  for (int tap = 0; tap < taps; ++tap) count += start + tap * dilation >= low && start + tap * dilation < high;
  return count;
}
template<bool aligned> __device__ inline void work(const element_t* __restrict__ src, element_t* __restrict__ out) {
  unsigned rest = blockIdx.x * blockDim.x + threadIdx.x;
  if (rest >= THREADS) return;
  const int c = rest % (C / V) * V; rest /= C / V;
  const int ox = rest % OX; rest /= OX;
  const int oy = rest % OY; rest /= OY;
  const int oz = rest % OZ;
  const index_t n = rest / OZ;
  const int x0 = ox * SX - PX, y0 = oy * SY - PY, z0 = oz * SZ - PZ;
  const element_t* image = src + n * SRC_N + c;
  acc_t acc[VALUES];
#pragma unroll
  for (int v = 0; v < VALUES; ++v) acc[v] = START;
#pragma unroll 1
  for (int kz = 0; kz < KZ; ++kz) {
    const int z = z0 + kz * DZ;
    if (z < 0 || z >= IZ) continue;
    for (int ky = 0; ky < KY; ky += TAPS_Y)
      for (int kx = 0; kx < KX; kx += TAPS_X) { // Read before the first is used.
        Pack<element_t, V> packs[TAPS_Y][TAPS_X];
        bool in[TAPS_Y][TAPS_X];
#pragma unroll
        for (int j = 0; j < TAPS_Y; ++j)
#pragma unroll
          for (int i = 0; i < TAPS_X; ++i) {
            const int y = y0 + (ky + j) * DY, x = x0 + (kx + i) * DX;
            in[j][i] = ky + j < KY && kx + i < KX && y >= 0 && y < IY && x >= 0 && x < IX;
            if (in[j][i]) packs[j][i] = load_pack<element_t, V>(image + z * SRC_Z + y * SRC_Y + x * SRC_X, aligned);
          }
#pragma unroll
        for (int j = 0; j < TAPS_Y; ++j)
#pragma unroll
          for (int i = 0; i < TAPS_X; ++i)
            if (in[j][i])
#pragma unroll
              for (int v = 0; v < VALUES; ++v) acc[v] = FOLD(acc[v], VALUE(packs[j][i], v));
      }
  }
  if (!IS_MAX) {
    const int count = inside<KX, DX>(x0, LOW_X, HIGH_X) * inside<KY, DY>(y0, LOW_Y, HIGH_Y) * inside<KZ, DZ>(z0, LOW_Z, HIGH_Z);
#pragma unroll
    for (int v = 0; v < VALUES; ++v) acc[v] /= static_cast<acc_t>(count);
  }
  Pack<element_t, V> pack;
#pragma unroll
  for (int v = 0; v < VALUES; ++v) STORE(pack, v, acc[v]);
  store_pack<element_t, V>(out + n * DST_N + oz * DST_Z + oy * DST_Y + ox * DST_X + c, pack, aligned);
}
extern "C" __global__ void __launch_bounds__(256) pool(const element_t* __restrict__ src, element_t* __restrict__ out) {
  start_next();
  wait_for_earlier();
  if (V == 1 || (is_aligned<element_t, V>(src) && is_aligned<element_t, V>(out)))
    work<true>(src, out);
  else
    work<false>(src, out);
}
)";

/// The largest of bytes, four in a word: those with a sign have it turned around, so that they compare as
/// numbers without one. Whether a byte of a is not less than that of b stands in its bit 7 of `above`
/// (Warren, Hacker's Delight, section 2-18).
constexpr const char* byte_words = R"(
typedef unsigned acc_t;
constexpr int VALUES = (V + 3) / 4;
union Words { Pack<element_t, V> pack; unsigned words[VALUES]; };
__device__ inline unsigned word_of(const Pack<element_t, V>& pack, int v) {
  Words all;
  all.words[VALUES - 1] = 0;
  all.pack = pack;
  return all.words[v] ^ SIGNS;
}
__device__ inline void keep_word(Pack<element_t, V>& pack, int v, unsigned word) {
  Words all;
  all.pack = pack;
  if (V % 4 == 0) {
    all.words[v] = word ^ SIGNS;
  } else {
    word ^= SIGNS;
    for (int k = 0; k < V; ++k) reinterpret_cast<unsigned char*>(&all.pack)[k] = static_cast<unsigned char>(word >> (8 * k));
  }
  pack = all.pack;
}
__device__ inline unsigned larger_bytes(unsigned a, unsigned b) {
  constexpr unsigned high = 0x80808080u;
  const unsigned low = (a | high) - (b & ~high); // Of the lower seven bits.
  const unsigned above = ((a & ~b) | (~(a ^ b) & low)) & high, mask = (above << 1) - (above >> 7);
  return (a & mask) | (b & ~mask);
}
#define VALUE(pack, v) word_of(pack, v)
#define FOLD(a, x) larger_bytes(a, x)
#define STORE(pack, v, a) keep_word(pack, v, a)
#define START 0u
)";

/// How results are folded.
std::string fold_text(const Pool& pool) {
  if (is_byte(pool.type))
    return fmt::format("#define SIGNS {}\n{}", pool.type == DType::i8 ? "0x80808080u" : "0u", byte_words);
  const std::string fold =
      pool.is_max ? "#define START (-INF)\n#define FOLD(a, x) ((x) > (a) || (x) != (x) ? (x) : (a))\n"
                  : "#define START 0.0f\n#define FOLD(a, x) ((a) + (x))\n";
  return "typedef float acc_t;\nconstexpr int VALUES = V;\n#define VALUE(pack, v) load((pack).values[v])\n"
         "#define STORE(pack, v, a) (pack).values[v] = Store<element_t>::of(a)\n" +
         fold;
}

} // namespace

std::optional<int> pool_pack(const PoolParameters& window, DType type) {
  if (window.source[1] != 1 || window.target[1] != 1 || window.channels == 1) return std::nullopt;
  constexpr std::int64_t most_taps = 1024, most_results = INT32_MAX;
  const std::int64_t taps = std::int64_t{window.kernel[0]} * window.kernel[1] * window.kernel[2];
  const std::int64_t results =
      window.batch * window.channels * window.positions[0] * window.positions[1] * window.positions[2];
  if (taps > most_taps || results > most_results) return std::nullopt;
  int pack = access_bytes * 8 / static_cast<int>(bit_width(type));
  const auto divides = [&](const std::int64_t(&strides)[5]) {
    return std::ranges::all_of(strides, [&](std::int64_t s) { return s == 1 || s % pack == 0; });
  };
  while (window.channels % pack != 0 || !divides(window.source) || !divides(window.target)) pack /= 2;
  return pack;
}

std::int64_t pool_threads(const Pool& pool) {
  const PoolParameters& p = pool.window;
  return p.batch * (p.channels / pool.pack) * p.positions[0] * p.positions[1] * p.positions[2];
}

std::string pool_source(const Pool& pool) {
  const PoolParameters& p = pool.window;
  std::string text = fmt::format("{}typedef {} element_t;\n", prelude(), type_name(pool.type));
  const auto constant = [&](const std::string& name, std::int64_t value, const char* type = "int") {
    text += fmt::format("constexpr {} {} = {};\n", type, name, value);
  };
  constant("C", p.channels);
  constant("V", pool.pack);
  constant("THREADS", pool_threads(pool), "unsigned");
  constant("IS_MAX", pool.is_max);
  const char* const axes[] = {"Z", "Y", "X"};
  for (int i = 0; i < 3; ++i) {
    const std::string axis = axes[i];
    constant("I" + axis, p.image[i]);
    constant("O" + axis, p.positions[i]);
    constant("K" + axis, p.kernel[i]);
    constant("S" + axis, p.strides[i]);
    constant("D" + axis, p.dilations[i]);
    constant("P" + axis, p.begin[i]);
    constant("LOW_" + axis, p.count_padding ? -p.begin[i] : 0);
    constant("HIGH_" + axis, p.image[i] + (p.count_padding ? p.end[i] : 0));
    constant("SRC_" + axis, p.source[2 + i], "index_t");
    constant("DST_" + axis, p.target[2 + i], "index_t");
  }
  constant("SRC_N", p.source[0], "index_t");
  constant("DST_N", p.target[0], "index_t");
  // Taps read at once: a row of the window, or all rows of a small one. Bytes, of which a pack has more,
  // would take too many registers.
  constexpr int most_taps = 16;
  const bool rows = !is_byte(pool.type) && p.kernel[1] * p.kernel[2] <= most_taps;
  constant("TAPS_X", std::clamp(p.kernel[2], 1, most_taps));
  constant("TAPS_Y", rows ? p.kernel[1] : 1);
  text += fold_text(pool);
  return text + body;
}

} // namespace lanner::cuda
