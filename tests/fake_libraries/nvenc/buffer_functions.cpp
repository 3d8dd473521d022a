#include <algorithm>
#include <cstdint>

#include "fake_driver/fake_cuda.h"
#include "fake_libraries/nvenc/functions.h"
#include "fake_libraries/nvenc/reserved.h"

namespace lanner::fake_nvenc {

using namespace nvenc;

namespace {

constexpr std::uint32_t pitch_unit = 256;

/// A handle that is never used again, so that stale ones are found. It points to nothing.
void* new_handle() {
  static std::uintptr_t last = 0x10000;
  return reinterpret_cast<void*>(last += 16);
}

bool knows_format(const Call& call, NV_ENC_BUFFER_FORMAT format) {
  const auto formats = formats_of(call.settings().codec());
  return std::ranges::find(formats, format) != formats.end();
}

/// A size of pictures that the session can encode, now or after a change.
void check_picture_size(Checker& check, const Call& call, std::uint32_t width, std::uint32_t height) {
  const NV_ENC_INITIALIZE_PARAMS& init = call.settings().init;
  check.require(width >= init.encodeWidth && height >= init.encodeHeight, NV_ENC_ERR_INVALID_PARAM,
                "the buffer is {}x{}, pictures are {}x{}", width, height, init.encodeWidth,
                init.encodeHeight);
}

template<typename Map>
auto found_in(Map& map, void* handle) {
  const auto at = map.find(handle);
  return at == map.end() ? nullptr : &at->second;
}

} // namespace

Status create_input(Call& call, NV_ENC_CREATE_INPUT_BUFFER* p) {
  Checker check(call);
  check.require(reserved_clear(*p), NV_ENC_ERR_INVALID_PARAM,
                "a reserved member of NV_ENC_CREATE_INPUT_BUFFER is not 0");
  check.require(knows_format(call, p->bufferFmt), NV_ENC_ERR_INVALID_PARAM,
                "bufferFmt {:#x} is not supported", unsigned{p->bufferFmt});
  check.require(!p->pSysMemBuffer, NV_ENC_ERR_UNSUPPORTED_PARAM, "pSysMemBuffer is not supported");
  check_picture_size(check, call, p->width, p->height);
  if (!check.right()) return check.status();
  const std::uint32_t row = p->width * facts_of(p->bufferFmt).sample_bytes(),
                      pitch = (row + pitch_unit - 1) / pitch_unit * pitch_unit;
  void* handle = new_handle();
  InputBuffer& made = call.session().inputs[handle];
  made.bytes.resize(bytes_of(p->bufferFmt, pitch, p->height), 0xee);
  made.view = {made.bytes.data(), p->bufferFmt, p->width, p->height, pitch, p->height};
  p->inputBuffer = handle;
  return NV_ENC_SUCCESS;
}

Status destroy_input(Call& call, void* buffer) {
  Session& session = call.session();
  const InputBuffer* found = found_in(session.inputs, buffer);
  if (!found) return call.refuse(NV_ENC_ERR_INVALID_PARAM, "there is no such input buffer");
  const bool locked = found->locked, busy = session.busy(buffer);
  if (busy) flush(session);
  write_placed(call, buffer);
  session.inputs.erase(buffer);
  if (locked) return call.refuse(NV_ENC_ERR_INVALID_CALL, "the input buffer is locked");
  if (busy) return call.refuse(NV_ENC_ERR_INVALID_CALL, "a picture from the input buffer is not yet encoded");
  return NV_ENC_SUCCESS;
}

Status lock_input(Call& call, NV_ENC_LOCK_INPUT_BUFFER* p) {
  InputBuffer* found = found_in(call.session().inputs, p->inputBuffer);
  Checker check(call);
  check.require(reserved_clear(*p), NV_ENC_ERR_INVALID_PARAM,
                "a reserved member of NV_ENC_LOCK_INPUT_BUFFER is not 0");
  check.require(found != nullptr, NV_ENC_ERR_INVALID_PARAM, "there is no such input buffer");
  check.require(!found || !found->locked, NV_ENC_ERR_INVALID_CALL, "the input buffer is locked already");
  if (!check.right()) return check.status();
  if (call.session().waits(p->inputBuffer)) {
    if (p->doNotWait)
      return call.tell(NV_ENC_ERR_ENCODER_BUSY, "a picture from the input buffer is not yet encoded");
    return call.refuse(NV_ENC_ERR_INVALID_CALL,
                       "a picture from the input buffer waits for those behind it: this would wait for ever");
  }
  write_placed(call, p->inputBuffer); // as locking waits for the hardware
  found->locked = true;
  p->bufferDataPtr = found->bytes.data();
  p->pitch = found->view.pitch;
  return NV_ENC_SUCCESS;
}

Status unlock_input(Call& call, void* buffer) {
  InputBuffer* found = found_in(call.session().inputs, buffer);
  if (!found) return call.refuse(NV_ENC_ERR_INVALID_PARAM, "there is no such input buffer");
  if (!std::exchange(found->locked, false))
    return call.refuse(NV_ENC_ERR_INVALID_CALL, "the input buffer is not locked");
  return NV_ENC_SUCCESS;
}

Status create_bitstream(Call& call, NV_ENC_CREATE_BITSTREAM_BUFFER* p) {
  if (!reserved_clear(*p))
    return call.refuse(NV_ENC_ERR_INVALID_PARAM,
                       "a reserved member of NV_ENC_CREATE_BITSTREAM_BUFFER is not 0");
  p->bitstreamBuffer = new_handle();
  call.session().outputs[p->bitstreamBuffer];
  return NV_ENC_SUCCESS;
}

Status destroy_bitstream(Call& call, void* buffer) {
  Session& session = call.session();
  const BitstreamBuffer* found = found_in(session.outputs, buffer);
  if (!found) return call.refuse(NV_ENC_ERR_INVALID_PARAM, "there is no such bitstream buffer");
  const BufferState state = found->state;
  session.outputs.erase(buffer);
  std::erase(session.waiting, buffer);
  std::erase_if(session.to_lock, [&](const auto& output) { return output.first == buffer; });
  if (state == BufferState::locked)
    return call.refuse(NV_ENC_ERR_INVALID_CALL, "the bitstream buffer is locked");
  if (state == BufferState::waiting)
    return call.refuse(NV_ENC_ERR_INVALID_CALL,
                       "a picture waits for the bitstream buffer: the end was not sent");
  return NV_ENC_SUCCESS;
}

Status register_resource(Call& call, NV_ENC_REGISTER_RESOURCE* p) {
  const FormatFacts facts = facts_of(p->bufferFormat);
  Checker check(call);
  check.require(reserved_clear(*p), NV_ENC_ERR_INVALID_PARAM,
                "a reserved member of NV_ENC_REGISTER_RESOURCE is not 0");
  check.require(p->resourceType == NV_ENC_INPUT_RESOURCE_TYPE_CUDADEVICEPTR, NV_ENC_ERR_UNIMPLEMENTED,
                "resourceType is {}, only CUDA's device pointers are supported", unsigned{p->resourceType});
  check.require(p->bufferUsage == NV_ENC_INPUT_IMAGE, NV_ENC_ERR_UNSUPPORTED_PARAM,
                "bufferUsage is {}, only input images are supported", unsigned{p->bufferUsage});
  check.require(p->resourceToRegister != nullptr, NV_ENC_ERR_INVALID_PTR, "resourceToRegister is null");
  check.require(!p->subResourceIndex && !p->pInputFencePoint, NV_ENC_ERR_INVALID_PARAM,
                "subResourceIndex and pInputFencePoint are for DirectX");
  check.require(knows_format(call, p->bufferFormat), NV_ENC_ERR_INVALID_PARAM,
                "bufferFormat {:#x} is not supported", unsigned{p->bufferFormat});
  check_picture_size(check, call, p->width, p->height);
  check.require(p->pitch % 4 == 0 && p->pitch >= p->width * facts.sample_bytes(), NV_ENC_ERR_INVALID_PARAM,
                "pitch is {} for {} samples of {} bytes; it has to be a multiple of 4", p->pitch, p->width,
                facts.sample_bytes());
  if (!check.right()) return check.status();
  const std::size_t bytes = bytes_of(p->bufferFormat, p->pitch, p->height),
                    there = fake_cuda_bytes_at(p->resourceToRegister, call.session().context);
  if (there < bytes)
    return call.refuse(NV_ENC_ERR_RESOURCE_REGISTER_FAILED,
                       "the picture takes {} bytes, of the context's device lie {} there", bytes, there);
  p->registeredResource = new_handle();
  Resource& made = call.session().resources[p->registeredResource];
  made.view = {static_cast<const std::uint8_t*>(p->resourceToRegister),
               p->bufferFormat,
               p->width,
               p->height,
               p->pitch,
               p->height};
  made.usage = p->bufferUsage;
  made.bytes = bytes;
  return NV_ENC_SUCCESS;
}

Status unregister_resource(Call& call, void* resource) {
  Session& session = call.session();
  const Resource* found = found_in(session.resources, resource);
  if (!found) return call.refuse(NV_ENC_ERR_RESOURCE_NOT_REGISTERED, "there is no such resource");
  if (found->mapping)
    return call.refuse(NV_ENC_ERR_INVALID_CALL,
                       "the resource is mapped: nvEncUnmapInputResource comes first");
  session.resources.erase(resource);
  return NV_ENC_SUCCESS;
}

Status map_resource(Call& call, NV_ENC_MAP_INPUT_RESOURCE* p) {
  Session& session = call.session();
  Resource* found = found_in(session.resources, p->registeredResource);
  Checker check(call);
  check.require(reserved_clear(*p), NV_ENC_ERR_INVALID_PARAM,
                "a reserved member of NV_ENC_MAP_INPUT_RESOURCE is not 0");
  check.require(found != nullptr, NV_ENC_ERR_RESOURCE_NOT_REGISTERED, "there is no such resource");
  check.require(!found || !found->mapping, NV_ENC_ERR_MAP_FAILED, "the resource is mapped already");
  if (!check.right()) return check.status();
  if (fake_cuda_bytes_at(found->view.data, session.context) < found->bytes)
    return call.refuse(NV_ENC_ERR_MAP_FAILED, "the memory was freed before it was unregistered");
  found->mapping = p->mappedResource = new_handle();
  p->mappedBufferFmt = found->view.format;
  session.mappings[found->mapping] = p->registeredResource;
  return NV_ENC_SUCCESS;
}

Status unmap_resource(Call& call, void* mapping) {
  Session& session = call.session();
  void* const* resource = found_in(session.mappings, mapping);
  if (!resource) return call.refuse(NV_ENC_ERR_RESOURCE_NOT_MAPPED, "there is no such mapping");
  const bool busy = session.busy(mapping);
  if (busy) flush(session);
  write_placed(call, mapping);
  session.resources.at(*resource).mapping = nullptr;
  session.mappings.erase(mapping);
  if (busy)
    return call.refuse(NV_ENC_ERR_INVALID_CALL,
                       "a picture from the mapping is not yet encoded: its bitstream is locked first");
  return NV_ENC_SUCCESS;
}

} // namespace lanner::fake_nvenc
