#pragma once
// What a session reads pictures from and writes packets to.

#include <lanner/image.h>

#include "video/nvenc/session.h"
#include "video/nvenc/stored_form.h"

namespace lanner::nvenc {

/// Size of the largest pictures.
struct BufferSize {
  uint32_t width = 0, height = 0;
};

/// GPU memory of one picture, registered with the session for as long as it lives: registering takes longer
/// than a copy. It is mapped while the encoder has the picture. The session outlives it; its context is the
/// thread's whenever one is used.
class InputBuffer {
public:
  InputBuffer(const Session& session, const StoredForm& form, const BufferSize& size);
  InputBuffer(const InputBuffer&) = delete;
  InputBuffer& operator=(const InputBuffer&) = delete;
  ~InputBuffer();

  /// Where the samples of a picture of that size go.
  Image view(std::int32_t width, std::int32_t height) const;
  uint32_t pitch() const noexcept { return pitch_; }
  NV_ENC_INPUT_PTR map();
  /// When the packet of its picture was read.
  void unmap();
  void unmap_quietly() noexcept;

private:
  void enroll(const StoredForm& form);
  void free_memory() noexcept;

  const Session& session_;
  PixelFormat format_;
  BufferSize size_;
  uint32_t pitch_;
  cuda::DevicePointer memory_ = 0;
  NV_ENC_REGISTERED_PTR registered_ = nullptr;
  NV_ENC_INPUT_PTR mapped_ = nullptr;
};

/// A buffer of the library for one packet.
class OutputBuffer {
public:
  explicit OutputBuffer(const Session& session);
  OutputBuffer(const OutputBuffer&) = delete;
  OutputBuffer& operator=(const OutputBuffer&) = delete;
  ~OutputBuffer();
  NV_ENC_OUTPUT_PTR handle() const noexcept { return handle_; }

private:
  const Session& session_;
  NV_ENC_OUTPUT_PTR handle_ = nullptr;
};

/// Copies samples into a buffer's view, from the host or the same GPU, of one format and size. With a stream
/// the copy of a picture on the GPU is queued there; else it is done at return.
void copy_samples(const Session& session, const Image& from, const Image& to, cuda::StreamHandle stream);

} // namespace lanner::nvenc
