#include "image/bound_pictures.h"

#include <lanner/error.h>

#include "base/check.h"
#include "device/memory.h"
#include "image/cuda/gpu_preprocess.h"
#include "image/picture_record.h"
#include "image/preprocess_plan.h"

namespace lanner {
namespace {

/// Bytes from the first to the last sample of a region's plane.
std::uint64_t plane_bytes(const Image& view, std::size_t p) {
  const PixelFormatInfo& facts = format_info(view.format);
  const Plane& plane = view.planes[p];
  const std::int64_t row = std::int64_t{plane.width} * facts.samples[p] * facts.bytes_per_sample;
  return static_cast<std::uint64_t>((plane.height - 1) * plane.pitch + row);
}

constexpr std::uint64_t alignment = 256;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// The number of planes to upload.
std::size_t staged_planes(const PreprocessPlan& plan, Device device) {
  const bool same_device = plan.source.device == device;
  return same_device ? 0 : format_info(plan.source.format).planes;
}

std::uint64_t staged_bytes(std::span<const PreprocessPlan> plans, Device device) {
  std::uint64_t bytes = 0;
  for (const PreprocessPlan& plan : plans)
    for (std::size_t p = 0; p < staged_planes(plan, device); ++p)
      bytes += aligned(plane_bytes(plan.source, p));
  return bytes;
}

} // namespace

BoundPictures::BoundPictures(std::span<const Image> images, std::span<const Preprocess> specs, Device device,
                             PictureStaging& staging)
    : device_(device), images_(images.begin(), images.end()),
      records_(
          Tensor::allocate(DType::u8, {static_cast<std::int64_t>(images.size()), picture_record_bytes})) {
  std::vector<PreprocessPlan> plans;
  const auto spec_of = [&](std::size_t n) -> const Preprocess& { return specs[specs.size() == 1 ? 0 : n]; };
  for (std::size_t n = 0; n < images_.size(); ++n) {
    const Image& image = images_[n];
    check(image.defined(), ErrorCode::invalid_argument, "picture: no image was given");
    check(image.device.is_host() || image.device == device, ErrorCode::unsupported,
          "picture: it is on {}, expected host memory{}", image.device.to_string(),
          device.is_host() ? "" : " or " + device.to_string());
    plans.push_back(preprocess_plan(image, spec_of(n))); // on the host too, so that errors are found now
  }
  const std::uint64_t bytes = staged_bytes(plans, device);
  if (bytes > staging.bytes) staging = {allocate_memory(device, bytes), bytes};
  if (bytes > 0) staging_ = staging.memory;
  auto* free = static_cast<std::byte*>(staging_.get());
  auto* memory = static_cast<std::byte*>(records_.data());
  for (std::size_t n = 0; n < images_.size(); ++n, memory += picture_record_bytes) {
    PictureRecord record = record_of(images_[n], spec_of(n));
    for (std::size_t p = 0; p < staged_planes(plans[n], device); ++p) {
      std::byte*& data = plans[n].source.planes[p].data;
      pieces_.push_back({data, free, plane_bytes(plans[n].source, p)});
      data = free;
      free += aligned(pieces_.back().bytes);
    }
    if (!device.is_host()) {
      GpuPicture there = picture_on_gpu(plans[n], device);
      record.gpu.parameters = there.parameters;
      if (there.tables) tables_.push_back(std::move(there.tables));
    }
    write_record(record, memory);
  }
}

void BoundPictures::upload(Stream stream) const {
  for (const Piece& piece : pieces_)
    copy_memory({piece.to, device_}, {const_cast<std::byte*>(piece.from), {}}, piece.bytes, stream);
}

} // namespace lanner
