#pragma once
// TensorProto to Tensor.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/limits.h>
#include <lanner/source.h>
#include <lanner/tensor.h>

#include "importers/importer.h"

namespace lanner::onnx {

/// A TensorProto as read: the element type decides which of the data fields holds the elements.
struct TensorRecord {
  std::string name;
  std::int64_t data_type = 0;
  std::vector<std::int64_t> dims;
  std::string_view raw;
  bool has_raw = false;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int64_t> integers; ///< int32_data, int64_data and uint64_data.
  std::vector<std::string> strings;
  std::int64_t data_location = 0;
  std::map<std::string, std::string> external; ///< location, offset, length.
};

/// ONNX's TensorProto.DataType. Throws Error{unsupported}.
DType dtype_of_onnx(std::int64_t data_type);

/// Makes the tensors of one model, from its own bytes and from external files, within the model's limits.
class TensorReader {
public:
  /// `owner` keeps the memory that TensorRecord::raw views.
  TensorReader(std::shared_ptr<const void> owner, const ImportOptions& options)
      : owner_(std::move(owner)), options_(options), limits_(options.limits) {}

  /// Checks counts and sizes before allocating. Throws Error{bad_data, limit_exceeded, not_found} that names
  /// the tensor.
  Tensor make(const TensorRecord& record);
  /// A tensor with `values` at `indices` (both COO, as in SparseTensorProto) and zero elsewhere.
  Tensor densify(const Tensor& values, const Tensor& indices, const std::vector<std::int64_t>& dims);

private:
  Tensor make_unnamed(const TensorRecord& record);
  Tensor external(const TensorRecord& record, DType type, const Shape& shape);
  Tensor from_fields(const TensorRecord& record, DType type, const Shape& shape);
  Tensor view_or_copy(std::span<const std::byte> bytes, DType type, const Shape& shape,
                      std::shared_ptr<const void> owner);
  const Content& file(const std::string& location);
  void charge(std::uint64_t bytes); ///< Called before memory is allocated.

  std::shared_ptr<const void> owner_;
  const ImportOptions& options_;
  const Limits& limits_;
  std::map<std::string, Content> files_;
  std::uint64_t taken_ = 0;
};

} // namespace lanner::onnx
