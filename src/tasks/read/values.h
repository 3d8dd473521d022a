#pragma once
// Outputs as the readers of tasks see them: numbers of one picture.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <lanner/tensor.h>

namespace lanner::tasks {

/// Numbers in row-major order, kept as f32, f16 or bf16; of other types they were converted to f32. On the
/// host, or left on a GPU where kernels read them (remote()).
class Values {
public:
  /// Rows that were chosen of an output: their numbers there, in order.
  using RowNumbers = std::shared_ptr<const std::vector<std::int32_t>>;

  Values() = default;
  /// On a GPU stays what is large and of a type that the kernels of tasks take, row-major; the rest comes to
  /// the host. Work that makes the numbers has ended.
  explicit Values(Tensor tensor);
  /// Some rows [count, channels] of what was of shape `whole`, on the host.
  Values(Tensor rows, Shape whole, RowNumbers numbers);

  bool defined() const noexcept { return tensor_.defined(); }
  const Shape& shape() const noexcept { return tensor_.shape(); }
  std::int64_t size() const noexcept { return size_; }
  std::int64_t dim(std::size_t i) const { return tensor_.shape()[i]; }
  /// Whether the numbers lie on a GPU, so that operator[] and run() may not be called.
  bool remote() const noexcept { return tensor_.defined() && !tensor_.device().is_host(); }
  Values on_host() const; ///< Copied where they are remote.
  const Tensor& tensor() const noexcept { return tensor_; }
  /// Of chosen rows: whether these are some, the output's shape, and which row of it this one was.
  bool chosen() const noexcept { return numbers_ != nullptr; }
  const Shape& whole() const noexcept { return numbers_ ? whole_ : tensor_.shape(); }
  std::int64_t number(std::int64_t row) const {
    return numbers_ ? (*numbers_)[static_cast<std::size_t>(row)] : row;
  }

  float operator[](std::int64_t i) const;
  /// `count` numbers from number `from` on: where they lie, or in `buffer`, which has room for them.
  const float* run(std::int64_t from, std::int64_t count, float* buffer) const;

private:
  Tensor tensor_;
  std::int64_t size_ = 0;
  Shape whole_;
  RowNumbers numbers_;
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
