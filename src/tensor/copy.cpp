#include "base/check.h"
#include "tensor/cast.h"

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <numeric>

#include "tensor/cast_string.h"
#include "tensor/element_codec.h"
#include "tensor/float16.h"
#include "tensor/layout_offsets.h"
#include "tensor/strings.h"

namespace lanner {
namespace {

// Two dimensions are walked in tiles: the innermost in the target's memory and the innermost in the source's,
// so that both sides touch whole cache lines.
constexpr std::int64_t tile_rows = 16, tile_columns = 64;

/// Offsets of a tile's elements: that of element (r, c) is the sum of row offset r and column offset c.
struct Tile {
  std::int64_t rows = 1, columns = 1;
  std::array<std::int64_t, tile_rows> from_row{}, to_row{};
  std::array<std::int64_t, tile_columns> from_column{}, to_column{};

  std::size_t list(std::int64_t* from, std::int64_t* to) const {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        *from++ = from_row[r] + from_column[c];
        *to++ = to_row[r] + to_column[c];
      }
    return static_cast<std::size_t>(rows * columns);
  }
};
constexpr std::size_t tile_elements = tile_rows * tile_columns;

class TileWalk {
public:
  TileWalk(const Tensor& from, const Tensor& to)
      : shape_(from.shape()), from_(from.layout(), shape_), to_(to.layout(), shape_) {
    std::vector<std::size_t> order = to_.memory_order();
    if (order.empty()) return;
    column_ = order.back();
    order.pop_back();
    const std::size_t nearest = from_.memory_order().back();
    row_ = nearest != column_ ? nearest : order.empty() ? column_ : order.back();
    std::erase(order, row_);
    outer_ = std::move(order);
  }

  template<typename Body>
  void run(const Body& body) {
    if (shape_.elements() == 0) return;
    if (shape_.rank() == 0) return body(tile_);
    std::vector<std::int64_t> index(outer_.size(), 0);
    do run_plane(index, body);
    while (advance(index));
  }

private:
  bool advance(std::vector<std::int64_t>& index) const {
    for (std::size_t i = outer_.size(); i-- > 0;) {
      if (++index[i] < shape_[outer_[i]]) return true;
      index[i] = 0;
    }
    return false;
  }

  template<typename Body>
  void run_plane(const std::vector<std::int64_t>& index, const Body& body) {
    std::int64_t from_base = 0, to_base = 0;
    for (std::size_t i = 0; i < outer_.size(); ++i) {
      from_base += from_.offset(outer_[i], index[i]);
      to_base += to_.offset(outer_[i], index[i]);
    }
    const std::int64_t rows = row_ == column_ ? 1 : shape_[row_];
    for (std::int64_t r = 0; r < rows; r += tile_rows) {
      tile_.rows = std::min(tile_rows, rows - r);
      for (std::int64_t i = 0; i < tile_.rows; ++i) {
        tile_.from_row[i] = from_base + (row_ == column_ ? 0 : from_.offset(row_, r + i));
        tile_.to_row[i] = to_base + (row_ == column_ ? 0 : to_.offset(row_, r + i));
      }
      for (std::int64_t c = 0; c < shape_[column_]; c += tile_columns) {
        tile_.columns = std::min(tile_columns, shape_[column_] - c);
        for (std::int64_t i = 0; i < tile_.columns; ++i) {
          tile_.from_column[i] = from_.offset(column_, c + i);
          tile_.to_column[i] = to_.offset(column_, c + i);
        }
        body(tile_);
      }
    }
  }

  Shape shape_;
  LayoutOffsets from_, to_;
  std::size_t row_ = 0, column_ = 0;
  std::vector<std::size_t> outer_;
  Tile tile_;
};

template<typename T>
void move_elements(const Tensor& from, Tensor& to) {
  const T* source = static_cast<const T*>(from.data());
  T* target = static_cast<T*>(to.data());
  TileWalk(from, to).run([=](const Tile& tile) {
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      const T* source_row = source + tile.from_row[r];
      T* target_row = target + tile.to_row[r];
      for (std::int64_t c = 0; c < tile.columns; ++c)
        assign_element(target_row[tile.to_column[c]], source_row[tile.from_column[c]]);
    }
  });
}

void convert_elements(const Tensor& from, Tensor& to, CastRules rules) {
  const auto* source = static_cast<const std::byte*>(from.data());
  auto* target = static_cast<std::byte*>(to.data());
  const Wide wide = wide_of(from.dtype());
  std::array<std::int64_t, tile_elements> from_offsets, to_offsets;
  std::array<WideValue, tile_elements> values;
  TileWalk(from, to).run([&](const Tile& tile) {
    const std::size_t count = tile.list(from_offsets.data(), to_offsets.data());
    read_elements(from.dtype(), source, std::span(from_offsets).first(count), values.data());
    write_elements(to.dtype(), target, std::span(to_offsets).first(count), wide, values.data(), rules);
  });
}

template<typename From, typename To>
void convert_complex(const Tensor& from, Tensor& to) {
  const auto* source = static_cast<const std::complex<From>*>(from.data());
  auto* target = static_cast<std::complex<To>*>(to.data());
  TileWalk(from, to).run([&](const Tile& tile) {
    for (std::int64_t r = 0; r < tile.rows; ++r)
      for (std::int64_t c = 0; c < tile.columns; ++c)
        target[tile.to_row[r] + tile.to_column[c]] =
            std::complex<To>(source[tile.from_row[r] + tile.from_column[c]]);
  });
}

void parse_strings(const Tensor& from, Tensor& to, CastRules rules) {
  const auto* source = static_cast<const std::string*>(from.data());
  std::array<std::int64_t, tile_elements> from_offsets, to_offsets;
  TileWalk(from, to).run([&](const Tile& tile) {
    const std::size_t count = tile.list(from_offsets.data(), to_offsets.data());
    for (std::size_t i = 0; i < count; ++i)
      parse_element(source[from_offsets[i]], to.dtype(), to.data(), to_offsets[i], rules);
  });
}

void print_strings(const Tensor& from, Tensor& to) {
  auto* target = static_cast<std::string*>(to.data());
  std::array<std::int64_t, tile_elements> from_offsets, to_offsets;
  TileWalk(from, to).run([&](const Tile& tile) {
    const std::size_t count = tile.list(from_offsets.data(), to_offsets.data());
    for (std::size_t i = 0; i < count; ++i)
      assign_element(target[to_offsets[i]], print_element(from.dtype(), from.data(), from_offsets[i]));
  });
}

void copy_to_strings(const Tensor& from, Tensor& to) {
  check(!is_complex(from.dtype()), ErrorCode::unsupported,
        "cast: {} to {} is not defined; take the real part first", to_string(from.dtype()),
        to_string(to.dtype()));
  if (from.data() == to.data()) return;
  Meter meter;
  if (from.dtype() == DType::string)
    move_elements<std::string>(from, to);
  else
    print_strings(from, to);
  own_characters(to);
}

void copy_same_type(const Tensor& from, Tensor& to, CastRules rules) {
  switch (bit_width(from.dtype())) {
  case 8:
    return move_elements<std::uint8_t>(from, to);
  case 16:
    return move_elements<std::uint16_t>(from, to);
  case 32:
    return move_elements<std::uint32_t>(from, to);
  case 64:
    return move_elements<std::uint64_t>(from, to);
  case 128:
    return move_elements<std::complex<double>>(from, to);
  default:
    return convert_elements(from, to, rules); // Packed types.
  }
}

void copy_other_type(const Tensor& from, Tensor& to, CastRules rules) {
  const DType a = from.dtype(), b = to.dtype();
  if (a == DType::c64 && b == DType::c128) return convert_complex<float, double>(from, to);
  if (a == DType::c128 && b == DType::c64) return convert_complex<double, float>(from, to);
  check(!is_complex(a) && !is_complex(b), ErrorCode::unsupported,
        "cast: {} to {} is not defined; take the real part first", to_string(a), to_string(b));
  if (a == DType::string) return parse_strings(from, to, rules);
  if (from.layout().row_major() && to.layout().row_major())
    return cast_elements(a, from.data(), b, to.data(), static_cast<std::size_t>(from.elements()), rules);
  convert_elements(from, to, rules);
}

bool same_layout(const Tensor& from, const Tensor& to) {
  return from.layout() == to.layout() || (from.layout().row_major() && to.layout().row_major());
}

void copy_verbatim(const Tensor& from, Tensor& to) {
  if (const std::uint64_t bytes = from.bytes()) std::memmove(to.data(), from.data(), bytes);
}

// The padding of a blocked layout, and bits after the last element of a packed type, are zero.
void clear_padding(Tensor& to) {
  const std::uint64_t bytes = to.bytes();
  if (to.dtype() == DType::string || bytes == 0) return;
  if (to.layout().padded(to.shape()) != to.shape()) std::memset(to.data(), 0, bytes);
  if (bit_width(to.dtype()) < 8) static_cast<std::byte*>(to.data())[bytes - 1] = std::byte{0};
}

bool cast_directly(DType from_type, const void* from, DType to_type, void* to, std::size_t count) {
  const auto* half_source = static_cast<const std::uint16_t*>(from);
  const auto* float_source = static_cast<const float*>(from);
  auto* half_target = static_cast<std::uint16_t*>(to);
  auto* float_target = static_cast<float*>(to);
  if (from_type == DType::f16 && to_type == DType::f32)
    std::transform(half_source, half_source + count, float_target, half_to_float);
  else if (from_type == DType::bf16 && to_type == DType::f32)
    std::transform(half_source, half_source + count, float_target, bfloat16_to_float);
  else if (from_type == DType::f32 && to_type == DType::f16)
    std::transform(float_source, float_source + count, half_target, float_to_half);
  else if (from_type == DType::f32 && to_type == DType::bf16)
    std::transform(float_source, float_source + count, half_target, float_to_bfloat16);
  else
    return false;
  return true;
}

} // namespace

void cast_elements(DType from_type, const void* from, DType to_type, void* to, std::size_t count,
                   CastRules rules) {
  if (from_type == to_type && bit_width(to_type) > 0) {
    if (count > 0) std::memcpy(to, from, (count * bit_width(to_type) + 7) / 8);
    return;
  }
  if (cast_directly(from_type, from, to_type, to, count)) return;
  if (bit_width(to_type) < 8 && count > 0)
    static_cast<std::byte*>(to)[(count * bit_width(to_type) + 7) / 8 - 1] = std::byte{0};
  std::array<std::int64_t, tile_elements> offsets;
  std::array<WideValue, tile_elements> values;
  for (std::size_t done = 0; done < count; done += tile_elements) {
    const std::size_t part = std::min(tile_elements, count - done);
    std::iota(offsets.begin(), offsets.begin() + part, static_cast<std::int64_t>(done));
    const std::span<const std::int64_t> at = std::span(offsets).first(part);
    read_elements(from_type, static_cast<const std::byte*>(from), at, values.data());
    write_elements(to_type, static_cast<std::byte*>(to), at, wide_of(from_type), values.data(), rules);
  }
}

void copy_tensor(const Tensor& from, Tensor& to, CastRules rules) {
  check(from.shape() == to.shape(), ErrorCode::invalid_argument,
        "copy: shape {} into shape {}; they must be equal", from.shape().to_string(), to.shape().to_string());
  check(from.device().is_host() && to.device().is_host(), ErrorCode::unsupported,
        "copy: from {} to {}; both must be on the host", from.device().to_string(), to.device().to_string());
  if (to.dtype() == DType::string) return copy_to_strings(from, to);
  if (from.dtype() == to.dtype() && same_layout(from, to)) return copy_verbatim(from, to);
  clear_padding(to);
  if (from.dtype() == to.dtype()) return copy_same_type(from, to, rules);
  copy_other_type(from, to, rules);
}

void copy_tensor(const Tensor& from, Tensor& to) {
  copy_tensor(from, to, CastRules{});
}

} // namespace lanner
