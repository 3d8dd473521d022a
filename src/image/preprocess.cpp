#include <lanner/preprocess.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "device/parallel.h"
#include "image/constant_luminance.h"
#include "image/cuda/gpu_preprocess.h"
#include "image/matrix_codes.h"
#include "image/preprocess_plan.h"
#include "image/row_kernels.h"
#include "image/ycgco_r.h"
#include "tensor/float16.h"

namespace lanner {

namespace {

/// Writes rows of final values into one batch element.
class TensorRows {
public:
  TensorRows(const Preprocess& spec, const PreprocessTarget& target, std::byte* data)
      : kernels_(row_kernels()), dtype_(spec.dtype), channels_last_(spec.channels_last),
        channels_(spec.gray ? 1 : 3), width_(target.width), height_(target.height),
        bytes_(bit_width(spec.dtype) / 8), data_(data) {}

  /// `rows` in the tensor's channel order, `n` pixels from column `x` on.
  void write(std::int64_t y, std::int64_t x, std::int64_t n, float* const* rows) const {
    if (!channels_last_ || channels_ == 1) {
      for (int c = 0; c < channels_; ++c) store(rows[c], n, 1, at((c * height_ + y) * width_ + x));
      return;
    }
    std::byte* out = at((y * width_ + x) * channels_);
    if (dtype_ == DType::f32)
      return kernels_.interleave3_f32(rows[0], rows[1], rows[2], n, reinterpret_cast<float*>(out));
    for (int c = 0; c < channels_; ++c) store(rows[c], n, channels_, out + c * bytes_);
  }

private:
  std::byte* at(std::int64_t element) const { return data_ + element * bytes_; }

  void store(const float* in, std::int64_t n, std::int64_t step, std::byte* out) const {
    switch (dtype_) {
    case DType::f32:
      return std::memcpy(out, in, static_cast<std::size_t>(n) * sizeof(float)), void();
    case DType::u8:
      return store_u8(in, n, step, reinterpret_cast<std::uint8_t*>(out));
    case DType::f16:
      for (std::int64_t i = 0; i < n; ++i)
        reinterpret_cast<std::uint16_t*>(out)[i * step] = float_to_half(in[i]);
      return;
    default:
      for (std::int64_t i = 0; i < n; ++i)
        reinterpret_cast<std::uint16_t*>(out)[i * step] = float_to_bfloat16(in[i]);
    }
  }

  void store_u8(const float* in, std::int64_t n, std::int64_t step, std::uint8_t* out) const {
    if (step == 1) return kernels_.store_u8(in, 255.f, n, out);
    for (std::int64_t i = 0; i < n; ++i)
      out[i * step] = static_cast<std::uint8_t>(std::clamp(in[i], 0.f, 255.f) + 0.5f);
  }

  const RowKernels& kernels_;
  DType dtype_;
  bool channels_last_;
  int channels_;
  std::int64_t width_, height_, bytes_;
  std::byte* data_;
};

constexpr std::int64_t rows_at_once = 16;

/// One thread's buffers. Rows are the source's; after an odd number of quarter turns they are the target's
/// columns, and are written many at a time.
class RowWorker {
public:
  RowWorker(const PreprocessPlan& plan, const Sampling& sampling, const TensorRows& out)
      : plan_(plan), out_(out), kernels_(row_kernels()), sampler_(plan.source, sampling, kernels_),
        length_(plan.axes.luma_x.size),
        memory_(static_cast<std::size_t>(length_ * 3 * (plan.swaps_axes() ? rows_at_once : 1))) {}

  /// Rows of the picture, `first` to `last` of the source's axis y, at most rows_at_once where axes are
  /// swapped.
  void run(std::int64_t first, std::int64_t last) {
    if (plan_.swaps_axes()) return run_swapped(first, last);
    for (std::int64_t i = first; i < last; ++i) {
      float* rows[3];
      read(i, 0, rows);
      out_.write(plan_.target.y + i, plan_.target.x, length_, rows);
    }
  }

private:
  void run_swapped(std::int64_t first, std::int64_t last) {
    float* rows[rows_at_once][3];
    for (std::int64_t i = first; i < last; ++i) read(i, i - first, rows[i - first]);
    float across[3][rows_at_once];
    float* const ordered[3] = {across[0], across[1], across[2]};
    for (std::int64_t y = 0; y < length_; ++y) {
      for (int c = 0; c < 3; ++c)
        for (std::int64_t i = 0; i < last - first; ++i) across[c][i] = rows[i][c][y];
      out_.write(plan_.target.y + y, plan_.target.x + first, last - first, ordered);
    }
  }

  /// Computes final values of row `i` into buffer `slot`; `rows` in the tensor's channel order.
  void read(std::int64_t i, std::int64_t slot, float* rows[3]) {
    for (int c = 0; c < 3; ++c) row_[c] = rows[c] = memory_.data() + (slot * 3 + c) * length_;
    sampler_.read(i, row_);
    finish(length_);
    if (plan_.spec.bgr && !plan_.spec.gray) std::swap(rows[0], rows[2]);
  }

  void finish(std::int64_t n) {
    kernels_.matrix(plan_.to_rgb, n, row_[0], row_[1], row_[2]);
    const bool gray = plan_.spec.gray;
    for (int c = 0; c < 3; ++c) {
      const int channel = plan_.spec.bgr && !gray ? 2 - c : c;
      kernels_.clamp_affine(0.f, 255.f, gray ? 1.f : plan_.scale[channel], gray ? 0.f : plan_.bias[channel],
                            n, row_[c]);
    }
    if (!gray) return;
    kernels_.clamp_affine(0.f, 255.f, 0.299f, 0.f, n, row_[0]);
    kernels_.accumulate(0.587f, row_[1], n, row_[0]);
    kernels_.accumulate(0.114f, row_[2], n, row_[0]);
    kernels_.clamp_affine(0.f, 255.f, plan_.scale[0], plan_.bias[0], n, row_[0]);
  }

  const PreprocessPlan& plan_;
  const TensorRows& out_;
  const RowKernels& kernels_;
  RowSampler sampler_;
  std::int64_t length_;
  std::vector<float> memory_;
  float* row_[3] = {};
};

/// The target's pixels around the picture.
void write_padding(const PreprocessPlan& plan, const TensorRows& out) {
  const PreprocessTarget& target = plan.target;
  if (target.columns == target.width && target.rows == target.height) return;
  std::vector<float> memory(static_cast<std::size_t>(target.width) * 3);
  float* pad[3];
  for (int c = 0; c < 3; ++c) {
    pad[c] = memory.data() + c * target.width;
    const float value = std::clamp(plan.spec.pad_value, 0.f, 255.f) * plan.scale[c] + plan.bias[c];
    std::fill(pad[c], pad[c] + target.width, value);
  }
  const std::int64_t right = target.x + target.columns;
  for (std::int64_t y = 0; y < target.height; ++y) {
    const bool inside = y >= target.y && y < target.y + target.rows;
    if (!inside) out.write(y, 0, target.width, pad);
    if (inside && target.x > 0) out.write(y, 0, target.x, pad);
    if (inside && right < target.width) out.write(y, right, target.width - right, pad);
  }
}

void check_output(const Preprocess& spec, const Shape& element, const Tensor& output,
                  std::int64_t batch_index) {
  const Shape& shape = output.shape();
  const bool fits = shape.rank() == 4 && std::equal(element.begin(), element.end(), shape.begin() + 1);
  check(fits && output.dtype() == spec.dtype && output.layout().row_major(), ErrorCode::invalid_argument,
        "preprocess: output is {} of shape {}, expected row-major {} of shape [N] + {}",
        to_string(output.dtype()), shape.to_string(), to_string(spec.dtype), element.to_string());
  check(batch_index >= 0 && batch_index < shape[0], ErrorCode::invalid_argument,
        "preprocess: batch index {}, the batch has {}", batch_index, shape[0]);
}

} // namespace

void preprocess_into(std::byte* element, const Image& image, const Preprocess& spec, int threads) {
  if (const std::optional<Image> rgb = without_ycgco_r(image))
    return preprocess_into(element, *rgb, spec, threads);
  check_convertible("preprocess", image.format, image.color);
  if (has_constant_luminance(image))
    return preprocess_into(element, without_constant_luminance(image, threads), spec, threads);
  const PreprocessPlan plan = preprocess_plan(image, spec);
  const TensorRows out(spec, plan.target, element);
  write_padding(plan, out);
  const Sampling sampling = sampling_of(plan.axes);
  parallel_for(threads, 0, sampling.luma_y.size, rows_at_once, [&](std::int64_t first, std::int64_t last) {
    RowWorker worker(plan, sampling, out);
    for (std::int64_t i = first; i < last; i += rows_at_once) worker.run(i, std::min(i + rows_at_once, last));
  });
}

void check_preprocess(const Image& image, const Preprocess& spec, const Tensor& output,
                      std::int64_t batch_index) {
  check(image.defined(), ErrorCode::invalid_argument, "preprocess: no image was given");
  check(image.device.is_host() || image.device == output.device(), ErrorCode::unsupported,
        "preprocess: image is on {}, expected host memory or {}", image.device.to_string(),
        output.device().to_string());
  check(spec.dtype == DType::u8 || spec.dtype == DType::f16 || spec.dtype == DType::bf16 ||
            spec.dtype == DType::f32,
        ErrorCode::invalid_argument, "preprocess: type {}, expected u8, f16, bf16 or f32",
        to_string(spec.dtype));
  check_output(spec, output_shape(spec, image.width, image.height), output, batch_index);
}

void preprocess(const Image& image, const Preprocess& spec, Tensor& output, std::int64_t batch_index,
                const PreprocessRun& run) {
  if (!output.device().is_host()) {
    const cuda::Queueing queueing(run.stream.handle ? Device{} : output.device());
    preprocess_on_gpu(image, spec, output, batch_index, run.stream);
    if (!run.stream.handle) synchronize(output.device());
    return;
  }
  check_preprocess(image, spec, output, batch_index);
  const Shape element = output_shape(spec, image.width, image.height);
  const auto bytes = element.elements() * static_cast<std::int64_t>(bit_width(spec.dtype) / 8);
  preprocess_into(static_cast<std::byte*>(output.data()) + batch_index * bytes, image, spec, run.threads);
}

Tensor to_tensor(const Image& image, const Preprocess& spec, const PreprocessRun& run) {
  check(image.defined(), ErrorCode::invalid_argument, "preprocess: no image was given");
  Shape shape{1};
  for (const std::int64_t size : output_shape(spec, image.width, image.height)) shape.push_back(size);
  Tensor output = Tensor::allocate(spec.dtype, std::move(shape), {}, image.device);
  preprocess(image, spec, output, 0, run);
  return output;
}

} // namespace lanner
