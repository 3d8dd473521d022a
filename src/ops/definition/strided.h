#pragma once
// Copies of elements of any type: by size in bytes, as strings, or as codes packed below a byte.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <lanner/tensor.h>

#include "base/check.h"
#include "ops/definition/visit.h"

namespace lanner::ops {

/// Strided access to a shape: the first element and the step along each dim, in elements.
struct Walk {
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
};

/// The walk over all of a dense tensor of `shape`.
Walk dense_walk(const Shape& shape);

/// Copies the elements of a walk over `shape` in `from` to a walk in `to`, of the same dtype and not
/// overlapping, on up to `threads` threads where elements are whole bytes. The caller ensures that both walks
/// stay inside, and, for several threads, that no two elements are written to one position.
void copy_strided(const Shape& shape, const Tensor& from, const Walk& source, Tensor& to, const Walk& target,
                  int threads = 1);

/// Copies runs of elements between tensors of one dtype.
class RunCopy {
public:
  explicit RunCopy(DType dtype);
  /// to[at + i * step] = from[from_at + i * from_step] for i < count.
  void operator()(void* to, std::int64_t at, std::int64_t step, const void* from, std::int64_t from_at,
                  std::int64_t from_step, std::int64_t count) const {
    function_(to, at, step, from, from_at, from_step, count);
  }
  /// The same for consecutive elements.
  void operator()(void* to, std::int64_t at, const void* from, std::int64_t from_at,
                  std::int64_t count) const {
    function_(to, at, 1, from, from_at, 1, count);
  }

private:
  using Function = void (*)(void*, std::int64_t, std::int64_t, const void*, std::int64_t, std::int64_t,
                            std::int64_t);
  Function function_;
};

/// Copies all elements of `from` to `to`, of the same dtype and count; does nothing where they are the same
/// memory.
void copy_elements(const Tensor& from, Tensor& to, int threads = 1);
/// Every element of `to` becomes the one element of `value`, of the same dtype.
void fill_elements(Tensor& to, const Tensor& value, int threads = 1);
/// Every element becomes 0, false or "".
void clear_elements(Tensor& to);

/// Calls `body(Tag<T>{})` with a T that stores elements of `type` whole: an unsigned integer of its size, a
/// pair of them, or std::string. Error{unsupported} for types under a byte.
template<typename Body>
void visit_storage(DType type, Body&& body) {
  using Pair = std::array<std::uint64_t, 2>;
  if (type == DType::string) return body(Tag<std::string>{});
  switch (bit_width(type)) {
  case 8:
    return body(Tag<std::uint8_t>{});
  case 16:
    return body(Tag<std::uint16_t>{});
  case 32:
    return body(Tag<std::uint32_t>{});
  case 64:
    return body(Tag<std::uint64_t>{});
  case 128:
    return body(Tag<Pair>{});
  default:
    fail(ErrorCode::unsupported, "elements of type {} are not supported here", to_string(type));
  }
}

} // namespace lanner::ops
