#include <lanner/preprocess.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "device/memory.h"
#include "device/parallel.h"
#include "image/cuda/gpu_preprocess.h"
#include "image/preprocess_plan.h"
#include "image/row_kernels.h"
#include "tensor/float16.h"

namespace lanner {

namespace {

/// Writes rows of finished values into one batch element.
class TensorRows {
public:
  TensorRows(const Preprocess& spec, const PreprocessRegion& region, std::byte* data)
      : kernels_(row_kernels()), dtype_(spec.dtype), channels_last_(spec.channels_last),
        channels_(spec.gray ? 1 : 3), width_(region.width), height_(region.height),
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

/// One thread's buffers.
class RowWorker {
public:
  RowWorker(const Image& image, const PreprocessPlan& plan, const TensorRows& out)
      : plan_(plan), out_(out), kernels_(row_kernels()), sampler_(image, plan.sampling, kernels_),
        width_(plan.region.width), memory_(static_cast<std::size_t>(width_) * 6) {
    for (int c = 0; c < 3; ++c) {
      row_[c] = memory_.data() + c * width_;
      float* pad = memory_.data() + (3 + c) * width_;
      std::fill(pad, pad + width_,
                std::clamp(plan.spec.pad_value, 0.f, 255.f) * plan.scale[c] + plan.bias[c]);
      pad_[c] = pad;
    }
  }

  void run(std::int64_t y) {
    const PreprocessRegion& region = plan_.region;
    const std::int64_t inner = y - region.y;
    if (inner < 0 || inner >= region.rows) return out_.write(y, 0, width_, pad_);
    if (region.x > 0) out_.write(y, 0, region.x, pad_);
    const std::int64_t end = region.x + region.columns;
    if (end < width_) out_.write(y, end, width_ - end, pad_);
    sampler_.read(inner, row_);
    finish(region.columns);
    float* ordered[3] = {row_[0], row_[1], row_[2]};
    if (plan_.spec.bgr && !plan_.spec.gray) std::swap(ordered[0], ordered[2]);
    out_.write(y, region.x, region.columns, ordered);
  }

private:
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
  std::int64_t width_;
  std::vector<float> memory_;
  float* row_[3];
  float* pad_[3];
};

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

void check_preprocess(const Image& image, const Preprocess& spec, const Tensor& output,
                      std::int64_t batch_index) {
  check(image.defined(), ErrorCode::invalid_argument, "preprocess: no image was given");
  check(image.device.is_host() || image.device == output.device(), ErrorCode::unsupported,
        "preprocess: image lies on {}, expected host memory or {}", image.device.to_string(),
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
    GpuPreprocess(output.device()).run(image, spec, output, batch_index, run.stream);
    if (!run.stream.handle) synchronize(output.device());
    return;
  }
  check_preprocess(image, spec, output, batch_index);
  const Shape element = output_shape(spec, image.width, image.height);
  const PreprocessPlan plan = preprocess_plan(image, spec);
  const auto bytes = element.elements() * static_cast<std::int64_t>(bit_width(spec.dtype) / 8);
  const TensorRows out(spec, plan.region, static_cast<std::byte*>(output.data()) + batch_index * bytes);
  constexpr std::int64_t rows_at_once = 16;
  parallel_for(run.threads, 0, plan.region.height, rows_at_once, [&](std::int64_t first, std::int64_t last) {
    RowWorker worker(image, plan, out);
    for (std::int64_t y = first; y < last; ++y) worker.run(y);
  });
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
