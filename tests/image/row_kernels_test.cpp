#include "image/row_kernels.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "image/reference.h"

namespace lanner {
namespace {

using test::random_image;

// Every instruction set must match the baseline, up to the rounding of fused multiplications.
TEST(RowKernels, VersionsAgree) {
  const RowKernels& base = *row_kernels_baseline();
  for (const RowKernels* kernels : {row_kernels_avx2(), row_kernels_avx512()}) {
    if (!kernels) continue;
    constexpr std::int64_t n = 203;
    const Image bytes = random_image(PixelFormat::gray8, n, 5, 9),
                words = random_image(PixelFormat::gray16, n, 5, 10);
    const std::uint8_t* rows8[5];
    const std::uint16_t* rows16[5];
    for (int t = 0; t < 5; ++t) {
      rows8[t] = reinterpret_cast<const std::uint8_t*>(bytes.planes[0].data + t * bytes.planes[0].pitch);
      rows16[t] = reinterpret_cast<const std::uint16_t*>(words.planes[0].data + t * words.planes[0].pitch);
    }
    const float weights[5] = {0.1f, 0.4f, -0.2f, 0.5f, 0.2f};
    for (const int taps : {1, 2, 5}) {
      std::vector<float> a(n), b(n), c(n), d(n);
      base.blend_u8(rows8, weights, taps, n, a.data());
      kernels->blend_u8(rows8, weights, taps, n, b.data());
      base.blend_u16(rows16, weights, taps, n, c.data());
      kernels->blend_u16(rows16, weights, taps, n, d.data());
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_NEAR(a[i], b[i], 1e-3) << kernels->name;
        ASSERT_NEAR(c[i], d[i], 0.1) << kernels->name;
      }
      std::vector<std::uint8_t> e(n), f(n);
      base.store_u8(a.data(), 255, n, e.data());
      kernels->store_u8(a.data(), 255, n, f.data());
      EXPECT_EQ(e, f) << kernels->name;
      std::vector<std::uint16_t> g(n), h(n);
      base.store_u16(c.data(), 1023, 64, n, g.data());
      kernels->store_u16(c.data(), 1023, 64, n, h.data());
      EXPECT_EQ(g, h) << kernels->name;
      std::vector<std::uint8_t> wide(3 * n), wide_too(3 * n);
      base.interleave3_u8(e.data(), f.data(), e.data(), n, wide.data());
      kernels->interleave3_u8(e.data(), f.data(), e.data(), n, wide_too.data());
      EXPECT_EQ(wide, wide_too) << kernels->name;
    }
  }
}

const RowKernels* const versions[] = {row_kernels_baseline(), row_kernels_avx2(), row_kernels_avx512()};

// Lengths around the width of every vector.
constexpr std::int64_t lengths[] = {1, 2, 15, 31, 32, 33, 63, 64, 65, 127, 129, 203};

template<typename Sample>
std::vector<Sample> samples(std::int64_t n, unsigned seed, unsigned top) {
  std::vector<Sample> row(static_cast<std::size_t>(n));
  for (Sample& sample : row) {
    seed = seed * 1664525 + 1013904223;
    sample = static_cast<Sample>((seed >> 8) % (top + 1));
  }
  return row;
}

TEST(RowKernels, InterleaveAndSplitAreInverse) {
  for (const RowKernels* kernels : versions)
    for (const std::int64_t n : lengths) {
      if (!kernels) continue;
      const auto size = static_cast<std::size_t>(n);
      const auto a = samples<std::uint8_t>(n, 1, 255), b = samples<std::uint8_t>(n, 2, 255),
                 c = samples<std::uint8_t>(n, 3, 255);
      // A guard after the last sample.
      std::vector<std::uint8_t> wide(4 * size + 1, 7), x(size), y(size), z(size);
      kernels->interleave3_u8(a.data(), b.data(), c.data(), n, wide.data());
      EXPECT_EQ(wide[3 * size], 7);
      kernels->split3_u8(wide.data(), n, x.data(), y.data(), z.data());
      EXPECT_TRUE(x == a && y == b && z == c) << kernels->name << n;
      kernels->interleave4_u8(c.data(), a.data(), b.data(), n, wide.data());
      EXPECT_EQ(wide[4 * size - 1], 255);
      EXPECT_EQ(wide[4 * size], 7);
      kernels->split4_u8(wide.data(), n, x.data(), y.data(), z.data());
      EXPECT_TRUE(x == c && y == a && z == b) << kernels->name << n;
      kernels->interleave2_u8(a.data(), c.data(), n, wide.data());
      kernels->split2_u8(wide.data(), n, x.data(), y.data());
      EXPECT_TRUE(x == a && y == c) << kernels->name << n;
      const auto d = samples<std::uint16_t>(n, 4, 65535), e = samples<std::uint16_t>(n, 5, 65535);
      std::vector<std::uint16_t> words(2 * size), p(size), q(size);
      kernels->interleave2_u16(d.data(), e.data(), n, words.data());
      kernels->split2_u16(words.data(), n, p.data(), q.data());
      EXPECT_TRUE(p == d && q == e) << kernels->name << n;
    }
}

TEST(RowKernels, IntegerSumsAreExact) {
  for (const RowKernels* kernels : versions)
    for (const std::int64_t n : lengths) {
      if (!kernels) continue;
      const auto size = static_cast<std::size_t>(n);
      const auto a = samples<std::uint8_t>(n, 1, 255), b = samples<std::uint8_t>(n, 2, 255),
                 c = samples<std::uint8_t>(n, 3, 255);
      const auto words = samples<std::uint16_t>(2 * n + 2, 4, 4095);
      const std::uint8_t* rows[] = {a.data(), b.data(), c.data()};
      const std::uint16_t weights[] = {1, 2, 5}, even[] = {1, 3, 0}, odd[] = {0, 3, 1};
      std::vector<std::uint16_t> out(2 * size + 2);
      for (int taps = 1; taps <= 3; ++taps) {
        kernels->weigh_u8(rows, weights, taps, n, out.data());
        for (std::size_t i = 0; i < size; ++i)
          ASSERT_EQ(out[i], a[i] + (taps > 1 ? 2 * b[i] : 0) + (taps > 2 ? 5 * c[i] : 0)) << kernels->name;
        const std::uint16_t* wide[] = {words.data(), words.data() + 1, words.data() + 2};
        kernels->weigh_u16(wide, weights, taps, 2, n, out.data());
        for (std::size_t i = 0; i < size; ++i)
          ASSERT_EQ(out[i], (words[i] >> 2) + (taps > 1 ? 2 * (words[i + 1] >> 2) : 0) +
                                (taps > 2 ? 5 * (words[i + 2] >> 2) : 0))
              << kernels->name;
      }
      kernels->widen_u16(words.data() + 1, even, odd, n, out.data());
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(out[2 * i], words[i] + 3 * words[i + 1]) << kernels->name;
        ASSERT_EQ(out[2 * i + 1], 3 * words[i + 1] + words[i + 2]) << kernels->name;
      }
      kernels->halve_u16(words.data() + 1, weights, n, out.data());
      for (std::size_t i = 0; i < size; ++i)
        ASSERT_EQ(out[i], words[2 * i] + 2 * words[2 * i + 1] + 5 * words[2 * i + 2]) << kernels->name;
      kernels->shift_u16(words.data(), 6, 0, n, out.data());
      for (std::size_t i = 0; i < size; ++i)
        ASSERT_EQ(out[i], static_cast<std::uint16_t>(words[i] << 6)) << kernels->name;
      kernels->shift_u16(words.data(), 0, 6, n, out.data());
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(out[i], words[i] >> 6) << kernels->name;
    }
}

// The bias added to a code before truncation keeps it off the edges of rounding.
TEST(RowKernels, MatricesToBytes) {
  const RowMatrix rule{{{1.25f, 0, 1.5f}, {1.25f, -0.375f, -0.75f}, {1.25f, 2, 0}},
                       {-200.2f, 90.3f, -250.4f}};
  for (const RowKernels* kernels : versions)
    for (const std::int64_t n : lengths) {
      if (!kernels) continue;
      const auto size = static_cast<std::size_t>(n);
      const auto bytes = samples<std::uint8_t>(n, 1, 255);
      const auto words = samples<std::uint16_t>(n, 4, 255), cb = samples<std::uint16_t>(n, 5, 255),
                 cr = samples<std::uint16_t>(n, 6, 255);
      std::vector<std::uint8_t> out[3];
      for (auto& row : out) row.assign(size + 1, 7);
      std::uint8_t* const rows[] = {out[0].data(), out[1].data(), out[2].data()};
      const auto code = [&](std::size_t c, double x, std::size_t i) {
        const double sum = rule.m[c][0] * x + rule.m[c][1] * cb[i] + rule.m[c][2] * cr[i] + rule.b[c];
        return static_cast<int>(std::min(255.0, std::max(0.0, sum)));
      };
      kernels->ycc_to_rgb8_u8(bytes.data(), cb.data(), cr.data(), rule, n, rows);
      for (std::size_t c = 0; c < 3; ++c) {
        for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(out[c][i], code(c, bytes[i], i)) << kernels->name;
        EXPECT_EQ(out[c][size], 7) << kernels->name;
      }
      kernels->ycc_to_rgb8_u16(words.data(), cb.data(), cr.data(), rule, n, rows);
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(out[c][i], code(c, words[i], i)) << kernels->name;
      const std::uint16_t* in[] = {words.data(), cb.data(), cr.data()};
      kernels->mix_u16(in, rule.m[1], rule.b[1], n, out[0].data());
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(out[0][i], code(1, words[i], i)) << kernels->name;
      EXPECT_EQ(out[0][size], 7) << kernels->name;
    }
}

// Bit by bit: pixels and rows come from the same arithmetic.
TEST(RowKernels, PixelsAreInterleavedRows) {
  const RowMatrix rule{
      {{1.1643835f, 0, 0.39956f}, {1.1643835f, -0.0979f, -0.2032f}, {1.1643835f, 0.5043f, 0}},
      {-222.4216f, 136.075f, -276.336f}};
  for (const RowKernels* kernels : versions)
    for (const std::int64_t n : lengths) {
      if (!kernels) continue;
      const auto size = static_cast<std::size_t>(n);
      const auto bytes = samples<std::uint8_t>(n, 1, 255);
      const auto words = samples<std::uint16_t>(n, 4, 255), cb = samples<std::uint16_t>(n, 5, 1020),
                 cr = samples<std::uint16_t>(n, 6, 1020);
      std::vector<std::uint8_t> red(size), green(size), blue(size), want(3 * size), got(3 * size + 1);
      std::uint8_t* const rows[] = {red.data(), green.data(), blue.data()};
      for (const bool blue_first : {false, true})
        for (const bool wide : {false, true}) {
          got.assign(3 * size + 1, 7); // A guard after the last sample.
          if (wide) {
            kernels->ycc_to_rgb8_u16(words.data(), cb.data(), cr.data(), rule, n, rows);
            kernels->ycc_to_rgb24_u16(words.data(), cb.data(), cr.data(), rule, blue_first, n, got.data());
          } else {
            kernels->ycc_to_rgb8_u8(bytes.data(), cb.data(), cr.data(), rule, n, rows);
            kernels->ycc_to_rgb24_u8(bytes.data(), cb.data(), cr.data(), rule, blue_first, n, got.data());
          }
          kernels->interleave3_u8(rows[blue_first ? 2 : 0], rows[1], rows[blue_first ? 0 : 2], n,
                                  want.data());
          EXPECT_EQ(got.back(), 7) << kernels->name << n;
          got.pop_back();
          EXPECT_EQ(got, want) << kernels->name << n << blue_first << wide;
        }
    }
}

} // namespace
} // namespace lanner
