#include "video/nvdec/picture_copier.h"

#include <cstring>
#include <utility>

#include "device/memory.h"
#include "image/planes.h"

namespace lanner::nvdec {
namespace {

constexpr std::int64_t row_alignment = 256;

std::uint64_t plane_bytes(const Image& image, int plane) {
  return static_cast<std::uint64_t>(image.planes[plane].pitch * image.planes[plane].height);
}

} // namespace

PictureCopier::PictureCopier(const GpuContext& context, const CopyTarget& target)
    : context_(context), target_(target), stream_(target.callers), memory_(context, target.callers) {
  if (!stream_) stream_ = own_stream_.emplace(context.handle).handle();
  for (auto& slot : slots_) slot = std::make_unique<Slot>(context.handle);
}

Image PictureCopier::make_image(const PictureLayout& layout) {
  if (target_.device.is_host())
    return Image::allocate(layout.format, layout.width, layout.height, target_.limits);
  Image image;
  image.format = layout.format;
  image.width = layout.width;
  image.height = layout.height;
  image.device = target_.device;
  std::uint64_t bytes = 0;
  std::array<std::uint64_t, 3> offsets{};
  shape_planes(image, row_alignment);
  for (int p = 0; p < format_info(layout.format).planes; ++p) {
    offsets[p] = bytes;
    bytes += plane_bytes(image, p);
  }
  image.owner = memory_.take(bytes);
  auto* memory = static_cast<std::byte*>(const_cast<void*>(image.owner.get()));
  for (int p = 0; p < format_info(layout.format).planes; ++p) image.planes[p].data = memory + offsets[p];
  return image;
}

PictureCopier::Copied PictureCopier::copy(Session& session, int picture, CUVIDPROCPARAMS parameters,
                                          const PictureLayout& layout) {
  const std::uint64_t number = next_++;
  Slot& slot = *slots_[number % slots_.size()];
  release(slot);
  Image image = make_image(layout);
  image.color = layout.color;
  parameters.output_stream = reinterpret_cast<CUstream>(stream_);
  unsigned pitch = 0;
  slot.surface = session.map(picture, parameters, pitch);
  slot.session = &session;
  slot.number = number;
  queue_copies(slot, image, layout, pitch);
  slot.copied.record(stream_);
  if (target_.device.is_host()) slot.image = image;
  return {std::move(image), number};
}

void PictureCopier::queue_copies(Slot& slot, const Image& to, const PictureLayout& layout, unsigned pitch) {
  const PixelFormatInfo& facts = format_info(to.format);
  const bool to_host = to.device.is_host();
  std::byte* staged = to_host ? staging(slot, to) : nullptr;
  for (int p = 0; p < facts.planes; ++p) {
    const bool chroma = p > 0 && facts.yuv;
    const auto left = static_cast<std::size_t>(chroma ? layout.left >> facts.chroma_x : layout.left);
    const auto top = static_cast<std::size_t>(chroma ? layout.top >> facts.chroma_y : layout.top);
    cuda::CopyRows rows;
    rows.from_device = slot.surface;
    rows.from_pitch = pitch;
    rows.from_x = left * facts.samples[p] * facts.bytes_per_sample;
    rows.from_y = static_cast<std::size_t>(layout.planes[static_cast<std::size_t>(p)]) *
                      static_cast<std::size_t>(layout.surface_rows) +
                  top;
    rows.to_type = to_host ? cuda::memory_host : cuda::memory_device;
    rows.to_host = staged;
    rows.to_device = to_host ? 0 : reinterpret_cast<cuda::DevicePointer>(to.planes[p].data);
    rows.to_pitch = static_cast<std::size_t>(to.planes[p].pitch);
    rows.row_bytes = static_cast<std::size_t>(plane_row_bytes(to, p));
    rows.rows = static_cast<std::size_t>(to.planes[p].height);
    cuda::check(cuda::driver().copy_rows(&rows, stream_), "cuMemcpy2DAsync");
    if (to_host) staged += plane_bytes(to, p);
  }
}

std::byte* PictureCopier::staging(Slot& slot, const Image& image) {
  std::uint64_t bytes = 0;
  for (int p = 0; p < format_info(image.format).planes; ++p) bytes += plane_bytes(image, p);
  if (slot.staging_bytes < bytes) {
    slot.staging.reset();
    slot.staging_bytes = 0;
    slot.staging = allocate_pinned(context_.gpu->device(), bytes);
    slot.staging_bytes = bytes;
  }
  return static_cast<std::byte*>(slot.staging.get());
}

void PictureCopier::release(Slot& slot) {
  if (!slot.session) return;
  slot.copied.synchronize();
  const Image image = std::exchange(slot.image, {});
  if (image.defined()) {
    const auto* staged = static_cast<const std::byte*>(slot.staging.get());
    for (int p = 0; p < format_info(image.format).planes; ++p) {
      std::memcpy(image.planes[p].data, staged, plane_bytes(image, p));
      staged += plane_bytes(image, p);
    }
  }
  std::exchange(slot.session, nullptr)->unmap(slot.surface);
}

void PictureCopier::finish(std::uint64_t number) {
  if (target_.callers && !target_.device.is_host()) return;
  Slot& slot = *slots_[number % slots_.size()];
  if (slot.number == number) release(slot);
}

void PictureCopier::finish_all() {
  for (std::uint64_t i = 0; i < slots_.size(); ++i) release(*slots_[(next_ + i) % slots_.size()]);
}

void PictureCopier::abandon() noexcept {
  for (const auto& slot : slots_) {
    Session* session = std::exchange(slot->session, nullptr);
    slot->image = {};
    if (!session) continue;
    try {
      // What was queued before the failure still reads the surface.
      static_cast<void>(cuda::driver().stream_synchronize(stream_));
      session->unmap(slot->surface);
    } catch (const Error&) {
    }
  }
}

} // namespace lanner::nvdec
