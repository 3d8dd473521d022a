#pragma once
// Input pictures of a network: their records, and the memory that these point to.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <lanner/image.h>
#include <lanner/preprocess.h>
#include <lanner/tensor.h>

namespace lanner {

/// GPU memory that host pictures are uploaded to; one batch after another, in stream order.
struct PictureStaging {
  std::shared_ptr<void> memory;
  std::uint64_t bytes = 0;
};

/// The pictures of one batch, for kernels on one device. Shares their memory. Used by one thread at a time.
class BoundPictures {
public:
  /// `specs` is one for all, or one for each. Pictures are on `device` or on the host; for a GPU, those of
  /// the host need `staging`, which grows where it is too small. Throws Error{invalid_argument, unsupported}
  /// where pictures and their specs do not match.
  BoundPictures(std::span<const Image> images, std::span<const Preprocess> specs, Device device,
                PictureStaging& staging);

  /// u8 [N, picture_record_bytes] on the host; valid as long as this lives.
  const Tensor& records() const noexcept { return records_; }
  /// The images whose memory is read.
  std::span<const Image> images() const noexcept { return images_; }
  /// Queues the copies of host pictures to the GPU; does nothing on the host. Overwrites what earlier batches
  /// left in the same staging memory.
  void upload(Stream stream) const;

private:
  struct Piece {
    const std::byte* from;
    std::byte* to;
    std::uint64_t bytes;
  };

  Device device_;
  std::vector<Image> images_;
  std::vector<Piece> pieces_;
  std::shared_ptr<void> staging_;
  std::vector<std::shared_ptr<const void>> tables_;
  Tensor records_;
};

} // namespace lanner
