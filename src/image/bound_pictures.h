#pragma once
// Pictures that a network is to read: their records, and what these point to.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <lanner/image.h>
#include <lanner/preprocess.h>
#include <lanner/tensor.h>

namespace lanner {

/// Memory of a GPU that pictures of the host go through; one batch after the other, in a stream's order.
struct PictureStaging {
  std::shared_ptr<void> memory;
  std::uint64_t bytes = 0;
};

/// Of one batch, for kernels on one device. Shares the pictures' memory. Used by one thread at a time.
class BoundPictures {
public:
  /// `specs` is one for all, or one for each. Pictures lie on `device` or on the host; those of the host need
  /// `staging` for a GPU, which grows where it is too small. Throws Error{invalid_argument, unsupported}
  /// where pictures and their specs do not fit.
  BoundPictures(std::span<const Image> images, std::span<const Preprocess> specs, Device device,
                PictureStaging& staging);

  /// u8 [N, picture_record_bytes] on the host; right as long as this lives.
  const Tensor& records() const noexcept { return records_; }
  /// Whose memory is read.
  std::span<const Image> images() const noexcept { return images_; }
  /// Queues the copies of the host's pictures to the GPU; nothing elsewhere. What earlier batches left in the
  /// same staging memory is gone.
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
