#pragma once
// From surfaces of a session to images of their own.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include <lanner/image.h>
#include <lanner/limits.h>

#include "video/nvdec/frame_memory.h"
#include "video/nvdec/session.h"

namespace lanner::nvdec {

/// How the pictures of a sequence lie in their surfaces, and what becomes of them.
struct PictureLayout {
  PixelFormat format = PixelFormat::nv12;
  int left = 0, top = 0, width = 0, height = 0; ///< What is shown, in luma samples.
  int surface_rows = 0;                         ///< From one plane of a surface to the next.
  std::array<std::uint8_t, 3> planes{0, 1, 2};  ///< The surface's plane for each plane of the image.
  ColorInfo color;
};

/// Where images go.
struct CopyTarget {
  Device device;              ///< The decoding GPU, or the host.
  cuda::StreamHandle callers; ///< The caller's stream; null for one of our own.
  Limits limits;
};

// Note [Mapped surfaces]
// A surface is copied out by work that is queued on a stream and must stay mapped until that is done. So that
// the processor need not wait for each copy, a few surfaces stay mapped, each with an event behind its copy;
// the oldest is let go when its place is needed.

/// Maps pictures and copies them out. The context must be the thread's at every call.
class PictureCopier {
public:
  PictureCopier(const GpuContext& context, const CopyTarget& target);

  struct Copied {
    Image image;
    std::uint64_t number = 0; ///< For finish().
  };
  /// Queues the copy of a picture that `session` has decoded or is decoding.
  Copied copy(Session& session, int picture, CUVIDPROCPARAMS parameters, const PictureLayout& layout);
  /// Waits until an image is complete, unless the caller's own stream orders that.
  void finish(std::uint64_t number);
  /// Lets all surfaces go, when their copies are done: before a session is changed or given back.
  void finish_all();
  /// The same after a failure: what fails on the way is passed over.
  void abandon() noexcept;

private:
  struct Slot {
    explicit Slot(cuda::ContextHandle context) : copied(context) {}
    cuda::Event copied;
    Session* session = nullptr; ///< Null where nothing is mapped.
    CUdeviceptr surface = 0;
    std::uint64_t number = 0;
    Image image; ///< On the host, to be filled from `staging`.
    std::shared_ptr<void> staging;
    std::uint64_t staging_bytes = 0;
  };
  void release(Slot& slot);
  Image make_image(const PictureLayout& layout);
  void queue_copies(Slot& slot, const Image& to, const PictureLayout& layout, unsigned pitch);
  std::byte* staging(Slot& slot, const Image& image);

  GpuContext context_;
  CopyTarget target_;
  std::optional<cuda::OwnedStream> own_stream_;
  cuda::StreamHandle stream_;
  FrameMemory memory_;
  std::array<std::unique_ptr<Slot>, output_surfaces> slots_;
  std::uint64_t next_ = 0;
};

} // namespace lanner::nvdec
