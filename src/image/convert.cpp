#include <lanner/image.h>

#include <algorithm>
#include <vector>

#include "image/color.h"
#include "image/resample.h"
#include "image/row_kernels.h"

namespace lanner {

namespace {

bool is_gray(PixelFormat format) {
  return info(format).planes == 1 && info(format).samples[0] == 1;
}

// Every pixel where it is; chroma between its samples by a triangle, at its siting.
Sampling same_size(const Image& image, const ColorInfo& color) {
  const PixelFormatInfo& facts = info(image.format);
  const ChromaOffset offset = chroma_offset(image.format, color.siting);
  Sampling sampling;
  sampling.luma_x = make_taps(Resize::nearest, image.width, 1, 0, image.width);
  sampling.luma_y = make_taps(Resize::nearest, image.height, 1, 0, image.height);
  if (!facts.yuv) return sampling;
  const double x = 1.0 / (1 << facts.chroma_x), y = 1.0 / (1 << facts.chroma_y);
  sampling.chroma_x = make_taps(Resize::bilinear, image.width, x, -offset.x * x, image.planes[1].width);
  sampling.chroma_y = make_taps(Resize::bilinear, image.height, y, -offset.y * y, image.planes[1].height);
  return sampling;
}

// The kernel that chroma is taken by from rows or columns of full size: two samples about a centre between
// them, else one with half of each neighbour.
Taps subsampling(std::int64_t size, double offset, int log2, std::int64_t inputs) {
  if (log2 == 0) return make_taps(Resize::nearest, size, 1, 0, inputs);
  if (offset == 0.5) return make_taps(Resize::area, size, 2, 0.5, inputs);
  // A triangle of radius 2, the border repeated: the mean of two triangles of radius 1, half a sample to
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

Matrix3 normal_matrix(const Image& from, const ColorInfo& from_color, const Image& to,
                      const ColorInfo& to_color) {
  constexpr Matrix3 identity{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  const bool from_yuv = info(from.format).yuv, to_yuv = info(to.format).yuv;
  if (is_gray(to.format))
    return from_yuv || is_gray(from.format) ? identity : ycc_from_rgb(ColorMatrix::bt601);
  if (from_yuv && to_yuv)
    return from_color.matrix == to_color.matrix
               ? identity
               : product(ycc_from_rgb(to_color.matrix), rgb_from_ycc(from_color.matrix));
  if (from_yuv) return rgb_from_ycc(from_color.matrix);
  return to_yuv ? ycc_from_rgb(to_color.matrix) : identity;
}

// From stored samples of one image to codes (samples less their shift) of the other.
RowMatrix code_matrix(const Image& from, const ColorInfo& from_color, const Image& to,
                      const ColorInfo& to_color) {
  const Matrix3 normal = normal_matrix(from, from_color, to, to_color);
  RowMatrix rule{};
  for (int i = 0; i < 3; ++i) {
    const SampleScale out = sample_scale(to.format, to_color, i);
    const double unit = 1 << info(to.format).shift;
    double bias = -out.offset;
    for (int j = 0; j < 3; ++j) {
      const SampleScale in = sample_scale(from.format, from_color, j);
      rule.m[i][j] = static_cast<float>(normal[i][j] * in.scale / out.scale / unit);
      bias += normal[i][j] * in.offset;
    }
    rule.b[i] = static_cast<float>(bias / out.scale / unit);
  }
  return rule;
}

/// Rounds rows of codes into an image's planes.
class RowWriter {
public:
  RowWriter(Image& image, const RowKernels& kernels)
      : image_(image), facts_(info(image.format)), kernels_(kernels),
        top_(static_cast<float>((1 << facts_.bits) - 1)), unit_(static_cast<float>(1 << facts_.shift)),
        bytes_(static_cast<std::size_t>(image.width) * 3),
        words_(facts_.bytes_per_sample == 2 ? bytes_.size() : 0) {}

  /// One row of plane `plane`, of 1 to 3 interleaved components.
  void write(int plane, std::int64_t y, const float* const* rows, int count) {
    const Plane& to = image_.planes[plane];
    std::byte* out = to.data + y * to.pitch;
    if (facts_.bytes_per_sample == 2)
      write_words(reinterpret_cast<std::uint16_t*>(out), rows, count, to.width);
    else
      write_bytes(reinterpret_cast<std::uint8_t*>(out), rows, count, to.width, facts_.samples[plane]);
  }

private:
  void write_words(std::uint16_t* out, const float* const* rows, int count, std::int64_t n) {
    if (count == 1) return kernels_.store_u16(rows[0], top_, unit_, n, out);
    for (int c = 0; c < count; ++c) {
      kernels_.store_u16(rows[c], top_, unit_, n, words_.data());
      for (std::int64_t i = 0; i < n; ++i) out[i * count + c] = words_[static_cast<std::size_t>(i)];
    }
  }

  void write_bytes(std::uint8_t* out, const float* const* rows, int count, std::int64_t n, int step) {
    if (count == 1) return kernels_.store_u8(rows[0], top_, n, out);
    std::uint8_t* part[3];
    for (int c = 0; c < count; ++c) {
      part[c] = bytes_.data() + c * n;
      kernels_.store_u8(rows[c], top_, n, part[c]);
    }
    if (count == 2) return kernels_.interleave2_u8(part[0], part[1], n, out);
    if (step == 3) return kernels_.interleave3_u8(part[0], part[1], part[2], n, out);
    for (std::int64_t i = 0; i < n; ++i) {
      for (int c = 0; c < 3; ++c) out[4 * i + c] = part[c][i];
      out[4 * i + 3] = 255; // Opaque.
    }
  }

  Image& image_;
  const PixelFormatInfo& facts_;
  const RowKernels& kernels_;
  float top_, unit_;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::uint16_t> words_;
};

/// Three rows of floats.
struct Rows {
  explicit Rows(std::int64_t width) : memory(static_cast<std::size_t>(width) * 3) {
    for (int c = 0; c < 3; ++c) row[c] = memory.data() + c * width;
  }
  std::vector<float> memory;
  float* row[3];
};

class Converter {
public:
  Converter(const Image& from, const ColorInfo& from_color, Image& to, const ColorInfo& to_color)
      : to_(to), facts_(info(to.format)), kernels_(row_kernels()), sampling_(same_size(from, from_color)),
        sampler_(from, sampling_, kernels_), writer_(to, kernels_),
        rule_(code_matrix(from, from_color, to, to_color)), rows_(from.width) {
    if (!facts_.yuv) return;
    const ChromaOffset offset = chroma_offset(to.format, to_color.siting);
    chroma_x_ = subsampling(to.planes[1].width, offset.x, facts_.chroma_x, to.width);
    chroma_y_ = subsampling(to.planes[1].height, offset.y, facts_.chroma_y, to.height);
  }

  void run() {
    if (!facts_.yuv) return run_rgb();
    Rows sum(to_.width), small(to_.planes[1].width);
    std::int64_t luma_rows = 0;
    for (std::int64_t y = 0; y < to_.planes[1].height; ++y) {
      std::fill(sum.memory.begin(), sum.memory.end(), 0.f);
      for (int t = 0; t < chroma_y_.count; ++t) {
        const std::int64_t row = chroma_y_.index[static_cast<std::size_t>(y)] + t;
        const float weight = chroma_y_.weights[static_cast<std::size_t>(t * chroma_y_.size + y)];
        if (weight == 0 && row < luma_rows) continue; // Already written.
        read(row);
        if (row == luma_rows) writer_.write(0, luma_rows++, rows_.row, 1);
        for (int c = 1; c < 3; ++c) kernels_.accumulate(weight, rows_.row[c], to_.width, sum.row[c]);
      }
      write_chroma(y, sum, small);
    }
    for (; luma_rows < to_.height; ++luma_rows) {
      read(luma_rows);
      writer_.write(0, luma_rows, rows_.row, 1);
    }
  }

private:
  void read(std::int64_t y) {
    sampler_.read(y, rows_.row);
    kernels_.matrix(rule_, to_.width, rows_.row[0], rows_.row[1], rows_.row[2]);
  }

  void run_rgb() {
    const bool bgr = component_place(to_.format, 0).first == 2 || component_place(to_.format, 0).plane == 2;
    const int order[3] = {bgr ? 2 : 0, 1, bgr ? 0 : 2};
    const float* ordered[3] = {rows_.row[order[0]], rows_.row[order[1]], rows_.row[order[2]]};
    for (std::int64_t y = 0; y < to_.height; ++y) {
      read(y);
      if (facts_.planes == 1)
        writer_.write(0, y, ordered, std::min<int>(3, facts_.samples[0]));
      else
        for (int p = 0; p < 3; ++p) writer_.write(p, y, &ordered[p], 1);
    }
  }

  void write_chroma(std::int64_t y, const Rows& sum, Rows& small) {
    for (int c = 1; c < 3; ++c)
      kernels_.gather(sum.row[c], chroma_x_.index.data(), chroma_x_.weights.data(), chroma_x_.count, 1,
                      chroma_x_.size, small.row[c]);
    if (facts_.planes == 2) return writer_.write(1, y, &small.row[1], 2);
    writer_.write(1, y, &small.row[1], 1);
    writer_.write(2, y, &small.row[2], 1);
  }

  Image& to_;
  const PixelFormatInfo& facts_;
  const RowKernels& kernels_;
  Sampling sampling_;
  RowSampler sampler_;
  RowWriter writer_;
  RowMatrix rule_;
  Rows rows_;
  Taps chroma_x_, chroma_y_;
};

// Planes that differ in storage, depth or range only: no sample is mixed with another.
bool same_structure(const Image& from, const ColorInfo& from_color, const Image& to,
                    const ColorInfo& to_color) {
  const PixelFormatInfo& a = info(from.format);
  const PixelFormatInfo& b = info(to.format);
  return a.yuv && b.yuv && a.chroma_x == b.chroma_x && a.chroma_y == b.chroma_y &&
         from_color.matrix == to_color.matrix &&
         (from_color.siting == to_color.siting || (a.chroma_x == 0 && a.chroma_y == 0));
}

void convert_planes(const Image& from, const ColorInfo& from_color, Image& to, const ColorInfo& to_color) {
  const RowMatrix rule = code_matrix(from, from_color, to, to_color);
  const RowKernels& kernels = row_kernels();
  RowWriter writer(to, kernels);
  Rows rows(from.width);
  std::vector<float> samples(static_cast<std::size_t>(from.width) + 2);
  const float one = 1;
  const PixelFormatInfo& facts = info(from.format);
  const auto read = [&](int c, std::int64_t y) {
    const ComponentPlace place = component_place(from.format, c);
    const Plane& plane = from.planes[place.plane];
    const std::byte* data = plane.data + y * plane.pitch;
    const std::int64_t n = std::int64_t{plane.width} * place.step;
    samples.resize(static_cast<std::size_t>(n));
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(data);
    const auto* words = reinterpret_cast<const std::uint16_t*>(data);
    if (facts.bytes_per_sample == 1)
      kernels.blend_u8(&bytes, &one, 1, n, samples.data());
    else
      kernels.blend_u16(&words, &one, 1, n, samples.data());
    for (std::int64_t i = 0; i < plane.width; ++i)
      rows.row[c][i] =
          samples[static_cast<std::size_t>(i * place.step + place.first)] * rule.m[c][c] + rule.b[c];
  };
  for (std::int64_t y = 0; y < from.planes[0].height; ++y) {
    read(0, y);
    writer.write(0, y, &rows.row[0], 1);
  }
  for (std::int64_t y = 0; y < from.planes[1].height; ++y) {
    read(1, y);
    read(2, y);
    if (info(to.format).planes == 2)
      writer.write(1, y, &rows.row[1], 2);
    else
      writer.write(1, y, &rows.row[1], 1), writer.write(2, y, &rows.row[2], 1);
  }
}

} // namespace

void convert(const Image& from, Image& to, Stream stream, int threads) {
  static_cast<void>(stream), static_cast<void>(threads);
  check(from.defined() && to.defined() && from.width == to.width && from.height == to.height,
        ErrorCode::invalid_argument, "convert: {}x{} into {}x{}, expected two images of one size", from.width,
        from.height, to.width, to.height);
  check(from.device.is_host() && to.device.is_host(), ErrorCode::unsupported,
        "convert: expected host memory on both sides");
  const ColorInfo from_color = resolved(from.color, from.format, from.height);
  const ColorInfo to_color = resolved(to.color, to.format, to.height);
  if (from.format == to.format && (from_color == to_color || !info(from.format).yuv)) {
    const ColorInfo kept = to.color;
    copy(from, to);
    to.color = kept;
    return;
  }
  if (same_structure(from, from_color, to, to_color)) return convert_planes(from, from_color, to, to_color);
  Converter(from, from_color, to, to_color).run();
}

} // namespace lanner
