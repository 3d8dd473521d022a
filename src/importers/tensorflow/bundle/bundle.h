#pragma once
// TensorFlow's checkpoints in format V2 (tensor_bundle.proto): an index `PREFIX.index` and the tensors' bytes
// in `PREFIX.data-00000-of-00001` and further shards.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/limits.h>
#include <lanner/tensor.h>

namespace lanner::tensorflow {

/// An open checkpoint. Copies share it; any thread may read.
class Bundle {
public:
  /// Reads the index. `prefix` is the path without `.index`, as `variables/variables`; shards are only ever
  /// files beside it. `on_file` is called once with the path of each file before it is read. Throws
  /// Error{not_found, bad_data, limit_exceeded}, and Error{unsupported} for a checkpoint in format V1 or of a
  /// big-endian machine.
  static Bundle open(const std::filesystem::path& prefix, const Limits& limits,
                     std::function<void(const std::filesystem::path&)> on_file = {});

  bool contains(std::string_view key) const;
  /// All tensors, in the order of their names.
  std::vector<std::string> keys() const;
  /// Throws Error{not_found, unsupported, bad_data}.
  DType dtype(std::string_view key) const;
  Shape shape(std::string_view key) const;

  /// The tensor in memory of its own: slices are put together, checksums checked. Throws Error{not_found}
  /// with the nearest names, Error{bad_data, unsupported, limit_exceeded, io}.
  Tensor read(std::string_view key) const;
  /// The only element of a tensor of strings, such as `_CHECKPOINTABLE_OBJECT_GRAPH`.
  std::string read_string(std::string_view key) const;

private:
  class State;
  explicit Bundle(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

} // namespace lanner::tensorflow
