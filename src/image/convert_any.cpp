// Conversion between any two formats, in rows of floats.

#include <algorithm>
#include <vector>

#include "device/parallel.h"
#include "image/convert_plan.h"

namespace lanner {

namespace {

/// Rounds rows of codes and stores them in an image's planes.
class RowWriter {
public:
  RowWriter(Image& image, const RowKernels& kernels)
      : image_(image), facts_(format_info(image.format)), kernels_(kernels),
        top_(static_cast<float>((1 << facts_.bits) - 1)), unit_(static_cast<float>(1 << facts_.shift)),
        bytes_(static_cast<std::size_t>(image.width) * 3),
        words_(facts_.bytes_per_sample == 2 ? bytes_.size() : 0) {}

  /// Writes one row of plane `plane`, of 1 to 3 interleaved components. What lies between them is opacity and
  /// is set later.
  void write(int plane, std::int64_t y, const float* const* rows, int count) {
    const Plane& to = image_.planes[plane];
    std::byte* out = to.data + y * to.pitch;
    const int step = facts_.samples[static_cast<std::size_t>(plane)];
    if (facts_.bytes_per_sample == 2)
      write_words(reinterpret_cast<std::uint16_t*>(out), rows, count, to.width, step);
    else
      write_bytes(reinterpret_cast<std::uint8_t*>(out), rows, count, to.width, step);
  }

private:
  void write_words(std::uint16_t* out, const float* const* rows, int count, std::int64_t n, int step) {
    if (step == 1) return kernels_.store_u16(rows[0], top_, unit_, n, out);
    for (int c = 0; c < count; ++c) {
      kernels_.store_u16(rows[c], top_, unit_, n, words_.data());
      for (std::int64_t i = 0; i < n; ++i) out[i * step + c] = words_[static_cast<std::size_t>(i)];
    }
  }

  void write_bytes(std::uint8_t* out, const float* const* rows, int count, std::int64_t n, int step) {
    if (step == 1) return kernels_.store_u8(rows[0], top_, n, out);
    std::uint8_t* part[3];
    for (int c = 0; c < count; ++c) {
      part[c] = bytes_.data() + c * n;
      kernels_.store_u8(rows[c], top_, n, part[c]);
    }
    if (count == 2) return kernels_.interleave2_u8(part[0], part[1], n, out);
    if (step == 3) return kernels_.interleave3_u8(part[0], part[1], part[2], n, out);
    for (std::int64_t i = 0; i < n; ++i)
      for (int c = 0; c < count; ++c) out[step * i + c] = part[c][i];
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

/// Buffers of one thread.
class Converter {
public:
  Converter(const ConvertJob& job, const Sampling& sampling, const Taps& chroma_x, const Taps& chroma_y)
      : to_(job.to), facts_(format_info(job.to.format)), kernels_(row_kernels()),
        sampler_(job.from, sampling, kernels_), writer_(job.to, kernels_),
        rule_(row_matrix(code_matrix(job))), rows_(job.from.width), chroma_x_(chroma_x), chroma_y_(chroma_y),
        sum_(facts_.yuv ? to_.width : 0), small_(facts_.yuv ? to_.planes[1].width : 0) {}

  /// Row `y` of an image without chroma.
  void write_rgb(std::int64_t y) {
    read(y);
    if (facts_.gray()) return writer_.write(0, y, rows_.row, 1);
    const float* ordered[3]; // As they lie in memory.
    for (int c = 0; c < 3; ++c) {
      const ComponentLayout layout = component_layout(to_.format, c);
      ordered[layout.plane + layout.first] = rows_.row[c];
    }
    if (facts_.planes == 1) return writer_.write(0, y, ordered, 3);
    for (int p = 0; p < 3; ++p) writer_.write(p, y, &ordered[p], 1);
  }

  /// Row `y` of chroma, and its rows of luma.
  void write_yuv(std::int64_t y) {
    const std::int64_t begin = y << facts_.chroma_y,
                       end = std::min<std::int64_t>(to_.height, (y + 1) << facts_.chroma_y);
    bool written[4] = {};
    const auto write_luma = [&](std::int64_t row) {
      if (row < begin || row >= end || written[row - begin]) return;
      writer_.write(0, row, rows_.row, 1);
      written[row - begin] = true;
    };
    std::fill(sum_.memory.begin(), sum_.memory.end(), 0.f);
    for (int t = 0; t < chroma_y_.count; ++t) {
      const std::int64_t row = chroma_y_.index[static_cast<std::size_t>(y)] + t;
      const float weight = chroma_y_.weights[static_cast<std::size_t>(t * chroma_y_.size + y)];
      if (weight == 0) continue;
      read(row);
      write_luma(row);
      for (int c = 1; c < 3; ++c) kernels_.accumulate(weight, rows_.row[c], to_.width, sum_.row[c]);
    }
    write_chroma(y);
    for (std::int64_t row = begin; row < end; ++row) {
      if (written[row - begin]) continue;
      read(row);
      write_luma(row);
    }
  }

private:
  void read(std::int64_t y) {
    sampler_.read(y, rows_.row);
    kernels_.matrix(rule_, to_.width, rows_.row[0], rows_.row[1], rows_.row[2]);
  }

  void write_chroma(std::int64_t y) {
    for (int c = 1; c < 3; ++c)
      kernels_.gather(sum_.row[c], chroma_x_.index.data(), chroma_x_.weights.data(), chroma_x_.count, 1,
                      chroma_x_.size, small_.row[c]);
    if (facts_.planes == 2) return writer_.write(1, y, &small_.row[1], 2);
    writer_.write(1, y, &small_.row[1], 1);
    writer_.write(2, y, &small_.row[2], 1);
  }

  Image& to_;
  const PixelFormatInfo& facts_;
  const RowKernels& kernels_;
  RowSampler sampler_;
  RowWriter writer_;
  RowMatrix rule_;
  Rows rows_;
  const Taps& chroma_x_;
  const Taps& chroma_y_;
  Rows sum_, small_;
};

} // namespace

void convert_any(const ConvertJob& job) {
  const PixelFormatInfo& facts = format_info(job.to.format);
  const Sampling sampling = same_size(job.from, job.from_color);
  Taps chroma_x, chroma_y;
  if (facts.yuv) {
    const ChromaOffset offset = chroma_offset(job.to.format, job.to_color.siting);
    chroma_x = subsampling(job.to.planes[1].width, offset.x, facts.chroma_x, job.to.width);
    chroma_y = subsampling(job.to.planes[1].height, offset.y, facts.chroma_y, job.to.height);
  }
  parallel_for(job.threads, 0, facts.yuv ? job.to.planes[1].height : job.to.height, rows_at_once,
               [&](std::int64_t first, std::int64_t last) {
                 Converter converter(job, sampling, chroma_x, chroma_y);
                 for (std::int64_t y = first; y < last; ++y)
                   facts.yuv ? converter.write_yuv(y) : converter.write_rgb(y);
               });
}

} // namespace lanner
