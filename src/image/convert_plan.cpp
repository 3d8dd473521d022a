#include "image/convert_plan.h"

#include <algorithm>

namespace lanner {

bool is_gray(PixelFormat format) noexcept {
  return format_info(format).planes == 1 && format_info(format).samples[0] == 1;
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
  if (offset == 0.5) return make_taps(Resize::area, size, 2, 0.5, inputs);
  // A triangle of radius 2 with the border repeated: the mean of two triangles of radius 1, half a sample to
  // either side.
  const Taps left = make_taps(Resize::bilinear, size, 2, offset - 0.5, inputs);
  const Taps right = make_taps(Resize::bilinear, size, 2, offset + 0.5, inputs);
  Taps taps;
  taps.size = size;
  taps.count = static_cast<int>(std::min<std::int64_t>(3, inputs));
  taps.index.resize(static_cast<std::size_t>(size));
  taps.weights.assign(static_cast<std::size_t>(taps.count * size), 0.f);
  for (std::int64_t i = 0; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t first =
        std::clamp<std::int64_t>(std::min(left.index[at], right.index[at]), 0, inputs - taps.count);
    taps.index[at] = static_cast<std::int32_t>(first);
    for (const Taps* part : {&left, &right})
      for (int t = 0; t < part->count; ++t) {
        const float weight = part->weights[static_cast<std::size_t>(t * size + i)];
        if (weight != 0)
          taps.weights[static_cast<std::size_t>((part->index[at] + t - first) * size + i)] += weight / 2;
      }
  }
  return taps;
}

} // namespace lanner
