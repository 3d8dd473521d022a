#include "video/nvenc/buffers.h"

#include <utility>

#include "image/planes.h"

namespace lanner::nvenc {
namespace {

constexpr uint32_t row_alignment = 256;

uint32_t pitch_of(const StoredForm& form, uint32_t width) {
  const uint32_t row = width * (form.depth > 8 ? 2 : 1);
  return (row + row_alignment - 1) / row_alignment * row_alignment;
}

/// Planes lie `pitch` by `height` bytes apart; those of chroma have half of the rows in 4:2:0.
std::uint64_t picture_bytes(const StoredForm& form, uint32_t pitch, uint32_t height) {
  const std::uint64_t plane = std::uint64_t{pitch} * height;
  return form.chroma == 3 ? 3 * plane : plane + std::uint64_t{pitch} * ((height + 1) / 2);
}

} // namespace

InputBuffer::InputBuffer(const Session& session, const StoredForm& form, const BufferSize& size)
    : session_(session), format_(form.input), size_(size), pitch_(pitch_of(form, size.width)) {
  cuda::check(cuda::driver().memory_alloc(&memory_, picture_bytes(form, pitch_, size.height)), "cuMemAlloc");
  try {
    enroll(form);
  } catch (const Error&) {
    free_memory();
    throw;
  }
}

void InputBuffer::enroll(const StoredForm& form) {
  auto resource = versioned<NV_ENC_REGISTER_RESOURCE>();
  resource.resourceType = NV_ENC_INPUT_RESOURCE_TYPE_CUDADEVICEPTR;
  resource.resourceToRegister = reinterpret_cast<void*>(memory_);
  resource.width = size_.width;
  resource.height = size_.height;
  resource.pitch = pitch_;
  resource.bufferFormat = form.buffer_format;
  resource.bufferUsage = NV_ENC_INPUT_IMAGE;
  session_.call(&Api::nvEncRegisterResource, "nvEncRegisterResource", &resource);
  registered_ = resource.registeredResource;
}

InputBuffer::~InputBuffer() {
  unmap_quietly();
  session_.release(&Api::nvEncUnregisterResource, registered_);
  free_memory();
}

void InputBuffer::free_memory() noexcept {
  static_cast<void>(cuda::driver().memory_free(memory_));
}

Image InputBuffer::view(std::int32_t width, std::int32_t height) const {
  Image image;
  image.format = format_;
  image.width = width;
  image.height = height;
  image.device = session_.gpu().device();
  shape_planes(image, 1);
  const std::uint64_t plane = std::uint64_t{pitch_} * size_.height;
  for (std::size_t p = 0; p < format_info(format_).planes; ++p) {
    image.planes[p].data = reinterpret_cast<std::byte*>(memory_ + p * plane);
    image.planes[p].pitch = pitch_;
  }
  return image;
}

NV_ENC_INPUT_PTR InputBuffer::map() {
  auto resource = versioned<NV_ENC_MAP_INPUT_RESOURCE>();
  resource.registeredResource = registered_;
  session_.call(&Api::nvEncMapInputResource, "nvEncMapInputResource", &resource);
  return mapped_ = resource.mappedResource;
}

void InputBuffer::unmap() {
  if (NV_ENC_INPUT_PTR mapped = std::exchange(mapped_, nullptr))
    session_.call(&Api::nvEncUnmapInputResource, "nvEncUnmapInputResource", mapped);
}

void InputBuffer::unmap_quietly() noexcept {
  if (NV_ENC_INPUT_PTR mapped = std::exchange(mapped_, nullptr))
    session_.release(&Api::nvEncUnmapInputResource, mapped);
}

OutputBuffer::OutputBuffer(const Session& session) : session_(session) {
  auto made = versioned<NV_ENC_CREATE_BITSTREAM_BUFFER>();
  session_.call(&Api::nvEncCreateBitstreamBuffer, "nvEncCreateBitstreamBuffer", &made);
  handle_ = made.bitstreamBuffer;
}

OutputBuffer::~OutputBuffer() {
  session_.release(&Api::nvEncDestroyBitstreamBuffer, handle_);
}

void copy_samples(const Session& session, const Image& from, const Image& to, cuda::StreamHandle stream) {
  const bool on_host = from.device.is_host();
  const cuda::Queueing queueing(stream ? Device{} : session.gpu().device());
  for (int p = 0; p < format_info(from.format).planes; ++p) {
    const Plane &source = from.planes[static_cast<std::size_t>(p)],
                &target = to.planes[static_cast<std::size_t>(p)];
    cuda::CopyRows rows;
    rows.from_type = on_host ? cuda::memory_host : cuda::memory_device;
    rows.from_host = source.data;
    rows.from_device = reinterpret_cast<cuda::DevicePointer>(source.data);
    rows.from_pitch = static_cast<std::size_t>(source.pitch);
    rows.to_device = reinterpret_cast<cuda::DevicePointer>(target.data);
    rows.to_pitch = static_cast<std::size_t>(target.pitch);
    rows.row_bytes = static_cast<std::size_t>(plane_row_bytes(to, p));
    rows.rows = static_cast<std::size_t>(target.height);
    cuda::check(cuda::driver().copy_rows(&rows, stream), "cuMemcpy2DAsync");
  }
  // Pinned memory of the host is read as late as that of the GPU.
  if (!stream || on_host) cuda::check(cuda::driver().stream_synchronize(stream), "cuStreamSynchronize");
}

} // namespace lanner::nvenc
