#pragma once
// TensorProto to Tensor.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/limits.h>
#include <lanner/source.h>
#include <lanner/tensor.h>

namespace lanner::onnx {

/// A TensorProto as read: which of the data fields holds the elements depends on the type.
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
  std::string pending_key;                     ///< Of the external entry that is being read.
};

/// ONNX's TensorProto.DataType. Throws Error{unsupported}.
DType dtype_of_onnx(std::int64_t data_type);

/// Where a model's tensors may come from.
struct TensorSource {
  std::shared_ptr<const void> owner; ///< Keeps the memory that `raw` views.
  std::filesystem::path folder;
  const Limits& limits;
};

/// Checks counts and sizes before memory is taken. Throws Error{bad_data, limit_exceeded, not_found} that names the tensor.
Tensor make_tensor(const TensorRecord& record, const TensorSource& source);

/// A tensor with `values` at `indices` (both COO, as SparseTensorProto has them) and zero elsewhere.
Tensor densify(const Tensor& values, const Tensor& indices, const std::vector<std::int64_t>& dims, const Limits& limits);

} // namespace lanner::onnx
