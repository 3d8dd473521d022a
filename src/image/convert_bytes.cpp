// Conversion of 8-bit Y'CbCr to R'G'B' and back, in rows of integers: chroma interpolation has weights in
// quarters, so that a weighted sum is exact in 16 bits.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "device/parallel.h"
#include "image/convert_plan.h"

namespace lanner {

namespace {

constexpr int quarters = 4;

/// Weights of one axis in quarters, for each output.
class QuarterTaps {
public:
  explicit QuarterTaps(const Taps& taps) : taps_(taps) {}
  int count() const noexcept { return taps_.count; }
  std::int64_t first(std::int64_t i) const { return taps_.index[static_cast<std::size_t>(i)]; }
  std::uint16_t weight(std::int64_t i, int t) const {
    return static_cast<std::uint16_t>(
        std::lround(taps_.weights[static_cast<std::size_t>(t * taps_.size + i)] * quarters));
  }

private:
  Taps taps_;
};

/// The weighted sum of input rows for one output row.
template<typename Sample>
struct Weighed {
  const Sample* rows[3];
  std::uint16_t weights[3];
  int count = 0;
  void add(const Sample* row, std::uint16_t weight) {
    if (weight == 0) return;
    rows[count] = row;
    weights[count++] = weight;
  }
};

/// A row of 16-bit sums with the border repeated on both sides.
struct PaddedRow {
  explicit PaddedRow(std::int64_t size) : memory(static_cast<std::size_t>(size) + 2) {}
  std::uint16_t* data() noexcept { return memory.data() + 1; }
  void pad(std::int64_t size) noexcept {
    data()[-1] = data()[0];
    data()[size] = data()[size - 1];
  }
  std::vector<std::uint16_t> memory;
};

/// Prefetches a row: decoded pictures come from another core, and the hardware prefetcher stays within a
/// memory page, which holds one row or two. Always inlined: GCC 12 drops calls of a function that only
/// prefetches as having no effect.
[[gnu::always_inline]] inline void fetch_row(const Plane& plane, std::int64_t y) {
  constexpr std::int64_t line = 64;
  if (y >= plane.height) return;
  const std::byte* row = plane.data + y * plane.pitch;
  for (std::int64_t at = 0; at < std::abs(plane.pitch); at += line) __builtin_prefetch(row + at);
}

/// Chroma at full width, a row at a time, in units of 1/unit() of a code.
class ChromaRows {
public:
  ChromaRows(const Image& from, const ColorInfo& color, const QuarterTaps& down)
      : from_(from), facts_(format_info(from.format)), kernels_(row_kernels()), down_(down),
        width_(from.planes[1].width),
        sums_(static_cast<std::size_t>(2 * width_)), narrow_{PaddedRow(width_), PaddedRow(width_)},
        wide_{std::vector<std::uint16_t>(static_cast<std::size_t>(2 * width_)),
              std::vector<std::uint16_t>(static_cast<std::size_t>(2 * width_))} {
    // Pixels 2 i and 2 i + 1 are a quarter or a half of a chroma sample away from sample i.
    const double offset = chroma_offset(from.format, color.siting).x / 2;
    for (int side = 0; side < 3; ++side) {
      const auto weight = [&](double position) {
        return static_cast<std::uint16_t>(quarters * std::max(0.0, 1 - std::abs(position - (side - 1))));
      };
      even_[side] = weight(-offset);
      odd_[side] = weight(0.5 - offset);
    }
  }

  static int unit(const PixelFormatInfo& facts) {
    return (facts.chroma_x ? quarters : 1) * (facts.chroma_y ? quarters : 1);
  }

  void read(std::int64_t y, const std::uint16_t* rows[2]) {
    for (std::size_t p = 1; p < static_cast<std::size_t>(facts_.planes); ++p)
      fetch_row(from_.planes[p], (y >> facts_.chroma_y) + 3);
    if (facts_.planes == 2) {
      weigh(1, y, 2 * width_, sums_.data());
      kernels_.split2_u16(sums_.data(), width_, narrow_[0].data(), narrow_[1].data());
    }
    for (int c = 0; c < 2; ++c) {
      if (facts_.planes == 3) weigh(c + 1, y, width_, narrow_[c].data());
      rows[c] = narrow_[c].data();
      if (facts_.chroma_x == 0) continue;
      narrow_[c].pad(width_);
      kernels_.widen_u16(narrow_[c].data(), even_, odd_, width_, wide_[c].data());
      rows[c] = wide_[c].data();
    }
  }

private:
  void weigh(int plane, std::int64_t y, std::int64_t n, std::uint16_t* out) const {
    if (facts_.bytes_per_sample == 1) {
      const auto sum = weighed<std::uint8_t>(plane, y);
      return kernels_.weigh_u8(sum.rows, sum.weights, sum.count, n, out);
    }
    const auto sum = weighed<std::uint16_t>(plane, y);
    kernels_.weigh_u16(sum.rows, sum.weights, sum.count, facts_.shift, n, out);
  }

  template<typename Sample>
  Weighed<Sample> weighed(int plane, std::int64_t y) const {
    const Plane& from = from_.planes[static_cast<std::size_t>(plane)];
    const auto row = [&](std::int64_t i) {
      return reinterpret_cast<const Sample*>(from.data + i * from.pitch);
    };
    Weighed<Sample> sum;
    if (facts_.chroma_y == 0) {
      sum.add(row(y), 1);
      return sum;
    }
    for (int t = 0; t < down_.count(); ++t) sum.add(row(down_.first(y) + t), down_.weight(y, t));
    return sum;
  }

  const Image& from_;
  const PixelFormatInfo& facts_;
  const RowKernels& kernels_;
  const QuarterTaps& down_;
  std::int64_t width_;
  std::uint16_t even_[3], odd_[3];
  std::vector<std::uint16_t> sums_;
  PaddedRow narrow_[2];
  std::vector<std::uint16_t> wide_[2];
};

bool is_rgb8(PixelFormat format) {
  return !format_info(format).yuv && !is_gray(format) && format_info(format).bits == 8;
}

/// Rows R, G and B of row `y`: in the planes, or, interleaved, in `memory` of three rows.
void component_rows(const Image& image, std::int64_t y, std::vector<std::uint8_t>& memory,
                    std::uint8_t* rows[3]) {
  const bool planar = format_info(image.format).planes == 3;
  for (int c = 0; c < 3; ++c) {
    const ComponentLayout layout = component_layout(image.format, c);
    const Plane& plane = image.planes[static_cast<std::size_t>(layout.plane)];
    rows[c] = planar ? reinterpret_cast<std::uint8_t*>(plane.data + y * plane.pitch)
                     : memory.data() + std::int64_t{layout.first} * image.width;
  }
}

/// One thread's buffers for converting to 8-bit R'G'B'.
class ToRgb {
public:
  ToRgb(const ConvertJob& job, const QuarterTaps& down, const RowMatrix& rule)
      : job_(job), kernels_(row_kernels()), chroma_(job.from, job.from_color, down), rule_(rule),
        memory_(static_cast<std::size_t>(job.to.width) * 3) {}

  void write(std::int64_t y) {
    const Plane& from = job_.from.planes[0];
    const std::byte* luma = from.data + y * from.pitch;
    const std::uint16_t* chroma[2];
    fetch_row(from, y + 2);
    chroma_.read(y, chroma);
    if (format_info(job_.from.format).bytes_per_sample == 1)
      write(y, reinterpret_cast<const std::uint8_t*>(luma), chroma, kernels_.ycc_to_rgb8_u8,
            kernels_.ycc_to_rgb24_u8);
    else
      write(y, reinterpret_cast<const std::uint16_t*>(luma), chroma, kernels_.ycc_to_rgb8_u16,
            kernels_.ycc_to_rgb24_u16);
  }

private:
  template<typename Luma, typename ToRows, typename ToPixels>
  void write(std::int64_t y, const Luma* luma, const std::uint16_t* const* chroma, ToRows to_rows,
             ToPixels to_pixels) {
    const std::int64_t n = job_.to.width;
    const PixelFormatInfo& facts = format_info(job_.to.format);
    const Plane& to = job_.to.planes[0];
    auto* out = reinterpret_cast<std::uint8_t*>(to.data + y * to.pitch);
    if (facts.planes == 1 && facts.samples[0] == 3) {
      const bool blue_first = component_layout(job_.to.format, 2).first == 0;
      return to_pixels(luma, chroma[0], chroma[1], rule_, blue_first, n, out);
    }
    std::uint8_t* rows[3];
    component_rows(job_.to, y, memory_, rows);
    to_rows(luma, chroma[0], chroma[1], rule_, n, rows);
    if (facts.planes == 3) return;
    const std::uint8_t* parts = memory_.data();
    kernels_.interleave4_u8(parts, parts + n, parts + 2 * n, n, out);
  }

  const ConvertJob& job_;
  const RowKernels& kernels_;
  ChromaRows chroma_;
  RowMatrix rule_;
  std::vector<std::uint8_t> memory_;
};

/// One thread's buffers for converting from 8-bit R'G'B'.
class FromRgb {
public:
  FromRgb(const ConvertJob& job, const QuarterTaps& down, const RowMatrix& rule)
      : job_(job), facts_(format_info(job.to.format)), kernels_(row_kernels()), down_(down),
        rule_(rule), sums_{PaddedRow(job.to.width), PaddedRow(job.to.width), PaddedRow(job.to.width)},
        halves_(static_cast<std::size_t>(job.to.width) * 3),
        codes_(static_cast<std::size_t>(job.to.width) * 2) {
    for (std::vector<std::uint8_t>& memory : memory_)
      memory.resize(static_cast<std::size_t>(job.to.width) * 3);
    const bool between = chroma_offset(job.to.format, job.to_color.siting).x == 0.5;
    const std::uint16_t weights[2][3] = {{1, 2, 1}, {0, 2, 2}};
    std::copy_n(weights[between ? 1 : 0], 3, across_);
  }

  /// Row `y` of chroma, and its rows of luma.
  void write(std::int64_t y) {
    const std::int64_t n = job_.to.width;
    const std::int64_t begin = y << facts_.chroma_y,
                       end = std::min<std::int64_t>(job_.to.height, (y + 1) << facts_.chroma_y);
    Weighed<std::uint8_t> sum[3];
    std::int64_t next = begin;
    for (int t = 0; t < down_.count(); ++t) {
      const std::int64_t row = down_.first(y) + t;
      const std::uint16_t weight = down_.weight(y, t);
      if (weight == 0) continue;
      std::uint8_t* parts[3];
      split(row, memory_[t], parts);
      if (row == next && row < end) write_luma(next++, parts);
      for (int c = 0; c < 3; ++c) sum[c].add(parts[c], weight);
    }
    for (int c = 0; c < 3; ++c)
      kernels_.weigh_u8(sum[c].rows, sum[c].weights, sum[c].count, n, sums_[c].data());
    write_chroma(y);
    for (; next < end; ++next) {
      std::uint8_t* parts[3];
      split(next, memory_[0], parts);
      write_luma(next, parts);
    }
  }

private:
  void split(std::int64_t y, std::vector<std::uint8_t>& memory, std::uint8_t* parts[3]) {
    component_rows(job_.from, y, memory, parts);
    if (format_info(job_.from.format).planes == 3) return;
    const std::int64_t n = job_.from.width;
    const Plane& from = job_.from.planes[0];
    const auto take = format_info(job_.from.format).samples[0] == 3 ? kernels_.split3_u8 : kernels_.split4_u8;
    take(reinterpret_cast<const std::uint8_t*>(from.data + y * from.pitch), n, memory.data(),
         memory.data() + n, memory.data() + 2 * n);
  }

  void write_luma(std::int64_t y, const std::uint8_t* const* parts) {
    const Plane& to = job_.to.planes[0];
    kernels_.mix_u8(parts, rule_.m[0], rule_.b[0], job_.to.width,
                    reinterpret_cast<std::uint8_t*>(to.data + y * to.pitch));
  }

  void write_chroma(std::int64_t y) {
    const std::int64_t n = job_.to.planes[1].width;
    const std::uint16_t* rows[3];
    for (std::size_t c = 0; c < 3; ++c) {
      rows[c] = sums_[c].data();
      if (facts_.chroma_x == 0) continue;
      sums_[c].pad(job_.to.width);
      rows[c] = halves_.data() + static_cast<std::int64_t>(c) * n;
      kernels_.halve_u16(sums_[c].data(), across_, n, halves_.data() + static_cast<std::int64_t>(c) * n);
    }
    const auto plane = [&](std::size_t p) {
      return reinterpret_cast<std::uint8_t*>(job_.to.planes[p].data + y * job_.to.planes[p].pitch);
    };
    const bool together = facts_.planes == 2;
    std::uint8_t* out[2] = {together ? codes_.data() : plane(1), together ? codes_.data() + n : plane(2)};
    for (int c = 0; c < 2; ++c) kernels_.mix_u16(rows, rule_.m[c + 1], rule_.b[c + 1], n, out[c]);
    if (together) kernels_.interleave2_u8(out[0], out[1], n, plane(1));
  }

  const ConvertJob& job_;
  const PixelFormatInfo& facts_;
  const RowKernels& kernels_;
  const QuarterTaps& down_;
  RowMatrix rule_;
  std::uint16_t across_[3];
  PaddedRow sums_[3];
  std::vector<std::uint8_t> memory_[3];
  std::vector<std::uint16_t> halves_;
  std::vector<std::uint8_t> codes_;
};

} // namespace

bool convert_ycc_to_rgb8(const ConvertJob& job) {
  const PixelFormatInfo& facts = format_info(job.from.format);
  if (!facts.yuv || facts.bits > 12 || facts.chroma_x > 1 || !is_rgb8(job.to.format)) return false;
  CodeMatrix rule = code_matrix(job);
  // The kernel takes red without Cb and blue without Cr, which YCgCo is not made of.
  if (rule.m[0][1] != 0 || rule.m[2][2] != 0) return false;
  const double unit = static_cast<double>(1 << facts.shift) / ChromaRows::unit(facts);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 1; j < 3; ++j) rule.m[i][j] *= unit;
    rule.b[i] += 0.5; // Rounds halves up.
  }
  const QuarterTaps down(chroma_rows(job.from, job.from_color));
  const RowMatrix row = row_matrix(rule);
  parallel_for(job.threads, 0, job.to.height, rows_at_once, [&](std::int64_t first, std::int64_t last) {
    ToRgb rows(job, down, row);
    for (std::int64_t y = first; y < last; ++y) rows.write(y);
  });
  return true;
}

bool convert_rgb8_to_ycc8(const ConvertJob& job) {
  const PixelFormatInfo& facts = format_info(job.to.format);
  if (!facts.yuv || facts.bits != 8 || facts.chroma_x > 1 || !is_rgb8(job.from.format)) return false;
  const ChromaOffset offset = chroma_offset(job.to.format, job.to_color.siting);
  const QuarterTaps down(subsampling(job.to.planes[1].height, offset.y, facts.chroma_y, job.to.height));
  CodeMatrix rule = code_matrix(job);
  const int unit = quarters * (facts.chroma_x ? quarters : 1);
  for (std::size_t i = 0; i < 3; ++i) {
    if (i > 0)
      for (double& weight : rule.m[i]) weight /= unit;
    rule.b[i] += 0.5;
  }
  const RowMatrix row = row_matrix(rule);
  parallel_for(job.threads, 0, job.to.planes[1].height, rows_at_once,
               [&](std::int64_t first, std::int64_t last) {
                 FromRgb rows(job, down, row);
                 for (std::int64_t y = first; y < last; ++y) rows.write(y);
               });
  return true;
}

} // namespace lanner
