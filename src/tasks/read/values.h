#pragma once
// Outputs for the task readers: the numbers of one picture.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <lanner/tensor.h>

namespace lanner::tasks {

/// Numbers in row-major order, as f32, f16 or bf16; other types were converted to f32. On the host, or on a
/// GPU where kernels read them (remote()).
class Values {
public:
  /// Selected rows of an output: their indices there, in order.
  using RowNumbers = std::shared_ptr<const std::vector<std::int32_t>>;

  Values() = default;
  /// Large tensors of a type that the kernels of tasks support, row-major, stay on the GPU; others are copied
  /// to the host. Work that writes the numbers must have ended.
  explicit Values(Tensor tensor);
  /// Selected rows [count, channels] of an output of shape `whole`, on the host.
  Values(Tensor rows, Shape whole, RowNumbers numbers);

  bool defined() const noexcept { return tensor_.defined(); }
  const Shape& shape() const noexcept { return tensor_.shape(); }
  std::int64_t size() const noexcept { return size_; }
  std::int64_t dim(std::size_t i) const { return tensor_.shape()[i]; }
  /// Whether the numbers are on a GPU, so that operator[] and run() may not be called.
  bool remote() const noexcept { return tensor_.defined() && !tensor_.device().is_host(); }
  Values on_host() const; ///< Copied to the host where they are remote.
  const Tensor& tensor() const noexcept { return tensor_; }
  /// For selected rows: whether these are such, the output's shape, and the row's index in it.
  bool chosen() const noexcept { return numbers_ != nullptr; }
  const Shape& whole() const noexcept { return numbers_ ? whole_ : tensor_.shape(); }
  std::int64_t number(std::int64_t row) const {
    return numbers_ ? (*numbers_)[static_cast<std::size_t>(row)] : row;
  }

  float operator[](std::int64_t i) const;
  /// `count` numbers from index `from` on: in place, or in `buffer`, which has room for them.
  const float* run(std::int64_t from, std::int64_t count, float* buffer) const;

private:
  Tensor tensor_;
  std::int64_t size_ = 0;
  Shape whole_;
  RowNumbers numbers_;
};

/// Numbers `step` apart, in rows that begin `pitch` apart: a head's values for each candidate besides its
/// box.
struct Rows {
  Values values;
  std::int64_t begin = 0, pitch = 0, step = 1, count = 0;
  float at(std::int64_t row, std::int64_t i) const { return values[begin + row * pitch + i * step]; }
};

using Outputs = std::map<std::string, Tensor>;

/// The values of an output for element `element` of the batch: without the batch's dimension where it has
/// `ranks + 1` dims, whole where it has `ranks` (then there is no batch, so `element` must be 0). `part`: the
/// output's part in its head. Throws Error{invalid_argument} for other ranks and for types without
/// numbers.
Values element_values(const Outputs& outputs, const std::string& name, std::string_view part,
                      std::int64_t element, std::size_t ranks);
/// The first dim is the batch's, whatever the rank.
Values batched_values(const Outputs& outputs, const std::string& name, std::string_view part,
                      std::int64_t element);

/// Elements that a loop converts at a time; a buffer has room for two such blocks.
inline constexpr std::int64_t block_size = 256;

} // namespace lanner::tasks
