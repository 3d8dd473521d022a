// Conversion between formats of one structure, which differ in planar or interleaved storage, depth or range.

#include <algorithm>
#include <cstring>
#include <vector>

#include "device/parallel.h"
#include "image/convert_plan.h"

namespace lanner {

namespace {

/// Row buffers of one thread.
template<typename From, typename To>
class PlaneRows {
public:
  explicit PlaneRows(const ConvertJob& job)
      : job_(job), from_(format_info(job.from.format)), to_(format_info(job.to.format)),
        kernels_(row_kernels()), rule_(row_matrix(code_matrix(job))),
        same_codes_(from_.bits == to_.bits && job.from_color.range == job.to_color.range),
        top_(static_cast<float>((1 << to_.bits) - 1)), unit_(static_cast<float>(1 << to_.shift)),
        floats_(same_codes_ ? 0 : static_cast<std::size_t>(job.from.width)),
        split_(static_cast<std::size_t>(2 * job.from.planes[1].width)),
        joined_(static_cast<std::size_t>(2 * job.to.planes[1].width)) {}

  void luma(std::int64_t y) { codes(0, row<From>(job_.from, 0, y), job_.from.width, row<To>(job_.to, 0, y)); }

  void chroma(std::int64_t y) {
    const std::int64_t n = job_.to.planes[1].width;
    const From* in[2] = {row<From>(job_.from, 1, y), split_.data() + n};
    if (from_.planes == 2 && to_.planes == 2 && same_codes_)
      return codes(1, in[0], 2 * n, row<To>(job_.to, 1, y));
    if (from_.planes == 2) {
      split(in[0], n);
      in[0] = split_.data();
    } else {
      in[1] = row<From>(job_.from, 2, y);
    }
    const bool together = to_.planes == 2;
    To* out[2] = {together ? joined_.data() : row<To>(job_.to, 1, y),
                  together ? joined_.data() + n : row<To>(job_.to, 2, y)};
    for (int c = 0; c < 2; ++c) codes(c + 1, in[c], n, out[c]);
    if (together) interleave(out[0], out[1], n, row<To>(job_.to, 1, y));
  }

private:
  template<typename Sample>
  static Sample* row(const Image& image, std::size_t plane, std::int64_t y) {
    return reinterpret_cast<Sample*>(image.planes[plane].data + y * image.planes[plane].pitch);
  }

  void split(const From* in, std::int64_t n) {
    if constexpr (sizeof(From) == 1)
      kernels_.split2_u8(in, n, split_.data(), split_.data() + n);
    else
      kernels_.split2_u16(in, n, split_.data(), split_.data() + n);
  }

  void interleave(const To* a, const To* b, std::int64_t n, To* out) {
    if constexpr (sizeof(To) == 1)
      kernels_.interleave2_u8(a, b, n, out);
    else
      kernels_.interleave2_u16(a, b, n, out);
  }

  /// Converts samples of component `c` to the target's codes.
  void codes(int c, const From* in, std::int64_t n, To* out) {
    if (!same_codes_) return scaled(c, in, n, out);
    if constexpr (sizeof(From) == 2 && sizeof(To) == 2)
      return kernels_.shift_u16(in, std::max(0, to_.shift - from_.shift),
                                std::max(0, from_.shift - to_.shift), n, out);
    std::memcpy(out, in, static_cast<std::size_t>(n) * sizeof(To));
  }

  void scaled(int c, const From* in, std::int64_t n, To* out) {
    if constexpr (sizeof(From) == 1)
      kernels_.blend_u8(&in, &rule_.m[c][c], 1, n, floats_.data());
    else
      kernels_.blend_u16(&in, &rule_.m[c][c], 1, n, floats_.data());
    // Codes before the bias are within 16 bits; the bias moves them to the target's range.
    kernels_.clamp_affine(-65536.f, 2 * 65536.f, 1.f, rule_.b[c], n, floats_.data());
    if constexpr (sizeof(To) == 1)
      kernels_.store_u8(floats_.data(), top_, n, out);
    else
      kernels_.store_u16(floats_.data(), top_, unit_, n, out);
  }

  const ConvertJob& job_;
  const PixelFormatInfo &from_, &to_;
  const RowKernels& kernels_;
  RowMatrix rule_;
  bool same_codes_; ///< Whether codes stay as they are.
  float top_, unit_;
  std::vector<float> floats_;
  std::vector<From> split_;
  std::vector<To> joined_;
};

template<typename From, typename To>
void run(const ConvertJob& job) {
  const std::int64_t chroma = job.from.planes[1].height, luma = job.from.height;
  const int down = format_info(job.from.format).chroma_y;
  parallel_for(job.threads, 0, chroma, rows_at_once, [&](std::int64_t first, std::int64_t last) {
    PlaneRows<From, To> rows(job);
    for (std::int64_t y = first; y < last; ++y) {
      for (std::int64_t k = y << down; k < std::min(luma, (y + 1) << down); ++k) rows.luma(k);
      rows.chroma(y);
    }
  });
}

} // namespace

bool convert_planes(const ConvertJob& job) {
  if (!same_structure(job)) return false;
  const bool from_words = format_info(job.from.format).bytes_per_sample == 2,
             to_words = format_info(job.to.format).bytes_per_sample == 2;
  if (from_words)
    to_words ? run<std::uint16_t, std::uint16_t>(job) : run<std::uint16_t, std::uint8_t>(job);
  else
    to_words ? run<std::uint8_t, std::uint16_t>(job) : run<std::uint8_t, std::uint8_t>(job);
  return true;
}

} // namespace lanner
