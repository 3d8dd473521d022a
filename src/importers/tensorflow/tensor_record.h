#pragma once
// TensorProto to Tensor.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/limits.h>
#include <lanner/source.h>
#include <lanner/tensor.h>

#include "graph/type/type.h"

namespace lanner::tensorflow {

/// TensorFlow's DataType; reference types count as the referenced type. Throws Error{unsupported}.
DType dtype_of_tensorflow(std::int64_t data_type);

/// A TensorProto as read. Missing elements repeat the last given one.
struct TensorRecord {
  std::int64_t data_type = 0;
  std::optional<Dims> dims;
  std::string_view content;
  std::vector<double> reals;
  std::vector<std::int64_t> integers; ///< All integer types; the bits of halves.
  std::vector<std::string> strings;
};

/// Makes the tensors of one model, within the model's limits.
class TensorReader {
public:
  TensorReader(const Content& file, const Limits& limits) : file_(file), limits_(limits) {}

  /// Checks sizes before allocating; a view of the file where possible.
  Tensor make(const TensorRecord& record);

private:
  Tensor allocate(DType type, const Shape& shape);
  Tensor from_content(const TensorRecord& record, DType type, const Shape& shape);

  const Content& file_;
  const Limits& limits_;
  std::uint64_t taken_ = 0;
};

} // namespace lanner::tensorflow
