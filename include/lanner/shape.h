#pragma once
// Concrete shapes.

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <lanner/limits.h>

namespace lanner {

/// Sizes of a tensor's logical dimensions, outermost first. Every size is >= 0.
class Shape {
public:
  using value_type = std::int64_t;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(std::span<const std::int64_t> dims) : dims_(dims.begin(), dims.end()) {}
  explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

  std::size_t rank() const noexcept { return dims_.size(); }
  std::int64_t operator[](std::size_t i) const { return dims_[i]; }
  std::int64_t& operator[](std::size_t i) { return dims_[i]; }
  std::int64_t back() const { return dims_.back(); }
  auto begin() const noexcept { return dims_.begin(); }
  auto end() const noexcept { return dims_.end(); }
  const std::vector<std::int64_t>& dims() const noexcept { return dims_; }
  void push_back(std::int64_t size) { dims_.push_back(size); }

  /// Number of elements; throws Error{limit_exceeded} when it overflows 63 bits.
  std::int64_t elements() const;
  /// `[1, 3, 224, 224]`.
  std::string to_string() const;

  friend bool operator==(const Shape&, const Shape&) = default;

private:
  std::vector<std::int64_t> dims_;
};

/// Row-major strides of `shape`, in elements.
std::vector<std::int64_t> dense_strides(const Shape& shape);

/// Shape of an elementwise operation on all `shapes` by NumPy's rule; throws Error{invalid_argument} naming
/// both.
Shape broadcast(std::span<const Shape> shapes);

} // namespace lanner
