#pragma once
// Outputs as the readers of tasks see them: numbers of one picture, on the host.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <lanner/tensor.h>

namespace lanner::tasks {

/// Numbers in row-major order, kept as f32, f16 or bf16; of other types they were converted to f32.
class Values {
public:
  Values() = default;
  /// `shape` counts the elements at `tensor`, which lies on the host in row-major order.
  explicit Values(Tensor tensor);

  bool defined() const noexcept { return tensor_.defined(); }
  const Shape& shape() const noexcept { return tensor_.shape(); }
  std::int64_t size() const noexcept { return size_; }
  std::int64_t dim(std::size_t i) const { return tensor_.shape()[i]; }
  /// The same numbers under another shape.
  Values reshaped(Shape shape) const;

  float operator[](std::int64_t i) const;
  /// `count` numbers from number `from` on: where they lie, or in `buffer`, which has room for them.
  const float* run(std::int64_t from, std::int64_t count, float* buffer) const;

private:
  Tensor tensor_;
  std::int64_t size_ = 0;
};

/// Numbers that stand `step` apart, in rows that begin `pitch` apart: what a head says of each candidate
/// beside its box.
struct Rows {
  Values values;
  std::int64_t begin = 0, pitch = 0, step = 1, count = 0;
  float at(std::int64_t row, std::int64_t i) const { return values[begin + row * pitch + i * step]; }
};

using Outputs = std::map<std::string, Tensor>;

/// What an output says of element `element` of the batch: without the batch's dimension where it has
/// `ranks + 1` dims, whole where it has `ranks` (there is no batch then, so `element` must be 0). `part` is
/// what the output is of its head. Throws Error{invalid_argument} for other ranks and for what holds no
/// numbers.
Values element_values(const Outputs& outputs, const std::string& name, std::string_view part,
                      std::int64_t element, std::size_t ranks);
/// The first dim is the batch's, whatever the rank.
Values batched_values(const Outputs& outputs, const std::string& name, std::string_view part,
                      std::int64_t element);

/// Of the two ranges of a buffer that a loop converts at a time.
inline constexpr std::int64_t block_size = 256;

} // namespace lanner::tasks
