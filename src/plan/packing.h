#pragma once
// Constants in the storage that kernels ask for, each made once.

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include <lanner/tensor.h>

#include "graph/storage.h"

namespace lanner {

/// `tensor` in the layout and type of `storage`, on the host; the tensor itself when it already is.
Tensor pack(const Tensor& tensor, const Storage& storage);
/// Row-major, of this type: to widen, narrow or unpack a tensor.
Storage of_type(DType type);

/// Remembers packed constants by memory and storage. Thread-safe.
class PackedConstants {
public:
  Tensor get(const Tensor& tensor, const Storage& storage);
  /// `packed`, which get() gave or which lives as long as this, copied to a device once.
  Tensor on(const Tensor& packed, Device device);
  /// Memory of packed forms of `tensor` that have the same element type.
  std::vector<const void*> packed_forms(const Tensor& tensor) const;
  /// From now on `packed`, as it is stored, is what get() gives for `tensor`: a plan's weight, unpacked.
  void know(const Tensor& tensor, const Tensor& packed);

private:
  mutable std::mutex mutex_;
  struct Entry {
    Tensor source, packed; ///< The source is held so that its address is not used again.
  };
  std::map<std::pair<const void*, std::string>, Entry> entries_;
  std::map<std::tuple<const void*, Device, std::uint64_t>, Entry> moved_; ///< By memory, device and bytes.
};

} // namespace lanner
