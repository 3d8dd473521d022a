#include "importers/tensorflow/bundle/slice.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/limits/paced_deadline.h"

namespace lanner::tensorflow {
namespace {

/// The number of bytes that follow, and the number without leading zeros, the highest byte first.
void append_unsigned(std::string& code, std::uint64_t number) {
  std::string digits;
  for (; number > 0; number >>= 8) digits.insert(digits.begin(), static_cast<char>(number & 0xff));
  code.push_back(static_cast<char>(digits.size()));
  code += digits;
}

/// Zeros and 0xff are escaped, so that what follows the name does not change the order of names.
void append_text(std::string& code, std::string_view text) {
  for (const char c : text) {
    code.push_back(c);
    if (c == '\0') code.push_back('\xff');
    if (c == '\xff') code.push_back('\0');
  }
  code += std::string_view("\0\1", 2);
}

/// Big-endian in the fewest bytes that leave one bit for each byte and one for the sign. The leading bits say
/// how many bytes there are, inverted for a negative number.
void append_signed(std::string& code, std::int64_t number) {
  constexpr std::size_t most = 10, bits_each = 7;
  const std::uint64_t magnitude =
      number < 0 ? ~static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  std::size_t bytes = 1;
  while (bytes < most && bytes * bits_each - 1 < 64 && magnitude >> (bytes * bits_each - 1) != 0) ++bytes;
  std::string digits(most, number < 0 ? '\xff' : '\0');
  for (std::size_t i = 0; i < 8; ++i)
    digits[most - 1 - i] = static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i) & 0xff);
  digits.erase(0, most - bytes);
  for (std::size_t bit = 0; bit < bytes; ++bit)
    digits[bit / 8] = static_cast<char>(digits[bit / 8] ^ (0x80 >> (bit % 8)));
  code += digits;
}

bool overlap(const Slice& a, const Slice& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].start + a[i].length <= b[i].start || b[i].start + b[i].length <= a[i].start) return false;
  return true;
}

} // namespace

std::string slice_key(std::string_view name, const Slice& slice) {
  std::string code;
  append_unsigned(code, 0); // sorts slices before names
  append_text(code, name);
  append_unsigned(code, slice.size());
  for (const Extent& extent : slice) {
    append_signed(code, extent.start);
    append_signed(code, extent.length);
  }
  return code;
}

std::vector<Slice> checked_slices(const std::vector<Slice>& slices, const Shape& shape) {
  std::vector<Slice> checked = slices;
  PacedDeadline deadline;
  std::int64_t covered = 0;
  for (Slice& slice : checked) {
    check(slice.size() == shape.rank(), ErrorCode::bad_data, "a slice of {} dims of a tensor of {}",
          slice.size(), shape.rank());
    for (std::size_t i = 0; i < slice.size(); ++i) {
      Extent& extent = slice[i];
      if (extent.length == Extent::whole) extent = {0, shape[i]};
      check(extent.start >= 0 && extent.length >= 0 && extent.length <= shape[i] &&
                extent.start <= shape[i] - extent.length,
            ErrorCode::bad_data, "a slice of {} at {} of dim {} of {}", extent.length, extent.start, i,
            shape.to_string());
    }
    check(!__builtin_add_overflow(covered, shape_of(slice).elements(), &covered), ErrorCode::bad_data,
          "its slices have more elements than {}", shape.to_string());
  }
  for (std::size_t i = 0; i < checked.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      deadline(shape.rank() + 1);
      check(!overlap(checked[i], checked[j]), ErrorCode::bad_data, "two of its slices overlap");
    }
  check(covered == shape.elements(), ErrorCode::bad_data, "its slices have {} of the {} elements of {}",
        covered, shape.elements(), shape.to_string());
  return checked;
}

Shape shape_of(const Slice& slice) {
  Shape shape;
  for (const Extent& extent : slice) shape.push_back(extent.length);
  return shape;
}

namespace {

/// Calls `copy(at, part, bytes)` for each run of bytes that is contiguous in the whole tensor: where it is
/// there, and in the slice's own tensor.
template<typename Copy>
void each_run(const Slice& slice, const Shape& whole, std::size_t element, Copy copy) {
  const std::size_t rank = slice.size();
  const std::vector<std::int64_t> strides = dense_strides(whole);
  // Dims from `row` on are contiguous in the whole tensor.
  std::size_t row = rank;
  std::int64_t length = 1;
  while (row > 0) {
    length *= slice[--row].length;
    if (slice[row].length != whole[row]) break;
  }
  const auto bytes = static_cast<std::size_t>(length) * element;
  const auto all = static_cast<std::size_t>(shape_of(slice).elements()) * element;
  std::vector<std::int64_t> index(row);
  PacedDeadline deadline;
  for (std::size_t done = 0; done < all; done += bytes) {
    deadline(rank + 1);
    std::int64_t place = 0;
    for (std::size_t i = 0; i < rank; ++i) place += (slice[i].start + (i < row ? index[i] : 0)) * strides[i];
    copy(static_cast<std::size_t>(place) * element, done, bytes);
    for (std::size_t i = row; i-- > 0;) {
      if (++index[i] < slice[i].length) break;
      index[i] = 0;
    }
  }
}

} // namespace

void put_slice(const Tensor& part, const Slice& slice, Tensor& whole) {
  const auto* from = static_cast<const std::byte*>(part.data());
  auto* to = static_cast<std::byte*>(whole.data());
  each_run(slice, whole.shape(), bit_width(whole.dtype()) / 8,
           [&](std::size_t at, std::size_t in_part, std::size_t bytes) {
             std::memcpy(to + at, from + in_part, bytes);
           });
}

Tensor take_slice(const Tensor& whole, const Slice& slice) {
  Tensor part = Tensor::allocate(whole.dtype(), shape_of(slice));
  const auto* from = static_cast<const std::byte*>(whole.data());
  auto* to = static_cast<std::byte*>(part.data());
  each_run(slice, whole.shape(), bit_width(whole.dtype()) / 8,
           [&](std::size_t at, std::size_t in_part, std::size_t bytes) {
             std::memcpy(to + in_part, from + at, bytes);
           });
  return part;
}

} // namespace lanner::tensorflow
