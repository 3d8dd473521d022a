#include "image/convert_plan.h"

#include <algorithm>
#include <cstdlib>

namespace lanner {

bool is_gray(PixelFormat format) noexcept {
  return format_info(format).gray();
}

bool same_structure(const ConvertJob& job) noexcept {
  const PixelFormatInfo& a = format_info(job.from.format);
  const PixelFormatInfo& b = format_info(job.to.format);
  return a.yuv && b.yuv && a.chroma_x == b.chroma_x && a.chroma_y == b.chroma_y &&
         job.from_color.matrix == job.to_color.matrix &&
         (job.from_color.siting == job.to_color.siting || (a.chroma_x == 0 && a.chroma_y == 0));
}

namespace {

Matrix3 normal_matrix(const ConvertJob& job) noexcept {
  constexpr Matrix3 identity{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  const PixelFormat from = job.from.format, to = job.to.format;
  const bool from_yuv = format_info(from).yuv, to_yuv = format_info(to).yuv;
  if (is_gray(to)) return from_yuv || is_gray(from) ? identity : ycc_from_rgb(ColorMatrix::bt601);
  const ColorMatrix from_matrix = job.from_color.matrix, to_matrix = job.to_color.matrix;
  if (from_yuv && to_yuv)
    return from_matrix == to_matrix ? identity : product(ycc_from_rgb(to_matrix), rgb_from_ycc(from_matrix));
  if (from_yuv) return rgb_from_ycc(from_matrix);
  return to_yuv ? ycc_from_rgb(to_matrix) : identity;
}

} // namespace

CodeMatrix code_matrix(const ConvertJob& job) noexcept {
  const Matrix3 normal = normal_matrix(job);
  CodeMatrix rule{};
  const double unit = 1 << format_info(job.to.format).shift;
  for (int i = 0; i < 3; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const SampleScale out = sample_scale(job.to.format, job.to_color, i);
    double bias = -out.offset;
    for (int j = 0; j < 3; ++j) {
      const auto column = static_cast<std::size_t>(j);
      const SampleScale in = sample_scale(job.from.format, job.from_color, j);
      rule.m[row][column] = normal[row][column] * in.scale / out.scale / unit;
      bias += normal[row][column] * in.offset;
    }
    rule.b[row] = bias / out.scale / unit;
  }
  return rule;
}

RowMatrix row_matrix(const CodeMatrix& rule) noexcept {
  RowMatrix row{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) row.m[i][j] = static_cast<float>(rule.m[i][j]);
    row.b[i] = static_cast<float>(rule.b[i]);
  }
  return row;
}

Taps chroma_rows(const Image& image, const ColorInfo& color) {
  const double y = 1.0 / (1 << format_info(image.format).chroma_y);
  const double offset = chroma_offset(image.format, color.siting).y;
  return make_taps(Resize::bilinear, image.height, y, -offset * y, image.planes[1].height);
}

Sampling same_size(const Image& image, const ColorInfo& color) {
  const PixelFormatInfo& facts = format_info(image.format);
  Sampling sampling;
  sampling.luma_x = make_taps(Resize::nearest, image.width, 1, 0, image.width);
  sampling.luma_y = make_taps(Resize::nearest, image.height, 1, 0, image.height);
  if (!facts.yuv) return sampling;
  const double x = 1.0 / (1 << facts.chroma_x);
  const double offset = chroma_offset(image.format, color.siting).x;
  sampling.chroma_x = make_taps(Resize::bilinear, image.width, x, -offset * x, image.planes[1].width);
  sampling.chroma_y = chroma_rows(image, color);
  return sampling;
}

Taps subsampling(std::int64_t size, double offset, int log2, std::int64_t inputs) {
  if (log2 == 0) return make_taps(Resize::nearest, size, 1, 0, inputs);
  const std::int64_t step = std::int64_t{1} << log2;
  if (2 * offset == static_cast<double>(step - 1))
    return make_taps(Resize::area, size, static_cast<double>(step), offset, inputs);
  // On a pixel: a triangle that reaches up to the neighbouring chroma samples, with the border repeated.
  const auto centre = static_cast<std::int64_t>(offset);
  const auto inside = [&](std::int64_t k) { return std::clamp<std::int64_t>(k, 0, inputs - 1); };
  Taps taps;
  taps.size = size;
  taps.count = static_cast<int>(std::min<std::int64_t>(2 * step - 1, inputs));
  taps.index.resize(static_cast<std::size_t>(size));
  taps.weights.assign(static_cast<std::size_t>(taps.count * size), 0.f);
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t middle = i * step + centre;
    const std::int64_t first = std::clamp<std::int64_t>(middle - step + 1, 0, inputs - taps.count);
    taps.index[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(first);
    for (std::int64_t k = 1 - step; k < step; ++k) {
      const auto weight = static_cast<float>(step - std::abs(k)) / static_cast<float>(step * step);
      taps.weights[static_cast<std::size_t>((inside(middle + k) - first) * size + i)] += weight;
    }
  }
  return taps;
}

} // namespace lanner
