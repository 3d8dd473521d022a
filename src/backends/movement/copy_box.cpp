#include "backends/movement/copy_box.h"

#include <algorithm>
#include <cstring>

#include <lanner/error.h>

#include "backends/movement/transpose_tile.h"
#include "base/check.h"
#include "device/parallel.h"

namespace lanner {

namespace {

/// The innermost one or two axes of a box, which one call copies.
struct Plane {
  std::int64_t rows = 1, row_source = 0, row_target = 0; ///< The outer one of the two axes.
  std::int64_t columns = 1, column_source = 1, column_target = 1;
};

template<typename T>
void copy_run(const T* source, std::int64_t source_stride, T* target, std::int64_t target_stride,
              std::int64_t count) {
  if (target_stride == 1 && source_stride == 1)
    std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(T));
  else if (target_stride == 1 && source_stride == 0)
    std::fill_n(target, count, *source);
  else
    for (std::int64_t i = 0; i < count; ++i) target[i * target_stride] = source[i * source_stride];
}

template<typename T>
void copy_elements(const T* source, T* target, const Plane& p) {
  for (std::int64_t i = 0; i < p.rows; ++i)
    for (std::int64_t j = 0; j < p.columns; ++j)
      target[i * p.row_target + j * p.column_target] = source[i * p.row_source + j * p.column_source];
}

/// A plane that is contiguous along its rows in the source and along its columns in the target.
template<typename T>
void transpose_plane(const T* source, T* target, const Plane& p) {
  constexpr std::int64_t side = tile_side<T>;
  const std::int64_t whole_rows = p.rows / side * side, whole_columns = p.columns / side * side;
  for (std::int64_t j = 0; j < whole_columns; j += side)
    for (std::int64_t i = 0; i < whole_rows; i += side)
      transpose_tile(source + i + j * p.column_source, p.column_source, target + i * p.row_target + j,
                     p.row_target);
  Plane rest = p;
  rest.rows = whole_rows;
  rest.columns = p.columns - whole_columns;
  copy_elements(source + whole_columns * p.column_source, target + whole_columns, rest);
  rest = p;
  rest.rows = p.rows - whole_rows;
  copy_elements(source + whole_rows, target + whole_rows * p.row_target, rest);
}

/// Tiles of a plane, so that the cache lines being read and written all stay in L1 until they are used up.
template<typename T>
void copy_plane(const T* source, T* target, const Plane& p) {
  constexpr std::int64_t side = 64 / sizeof(T);
  const bool crossed = p.row_source == 1 && p.column_source != 1;
  if (!crossed) {
    for (std::int64_t row = 0; row < p.rows; ++row)
      copy_run(source + row * p.row_source, p.column_source, target + row * p.row_target, p.column_target,
               p.columns);
    return;
  }
  if constexpr (sizeof(T) <= 2)
    if (p.column_target == 1) return transpose_plane(source, target, p);
  for (std::int64_t row = 0; row < p.rows; row += side)
    for (std::int64_t column = 0; column < p.columns; column += side) {
      const std::int64_t last_row = std::min(p.rows, row + side),
                         last_column = std::min(p.columns, column + side);
      for (std::int64_t i = row; i < last_row; ++i) {
        const T* from = source + i + column * p.column_source;
        T* to = target + i * p.row_target + column * p.column_target;
        for (std::int64_t j = column; j < last_column; ++j, from += p.column_source, to += p.column_target)
          *to = *from;
      }
    }
}

template<typename T>
void copy_all(const Box& box, const T* source, T* target, int threads) {
  const std::size_t rank = box.sizes.size();
  source += box.source_offset;
  target += box.target_offset;
  if (rank == 0) {
    *target = *source;
    return;
  }
  Plane plane;
  plane.columns = box.sizes[rank - 1];
  plane.column_source = box.source_strides[rank - 1];
  plane.column_target = box.target_strides[rank - 1];
  std::size_t outer = rank - 1;
  if (outer > 0) {
    --outer;
    plane.rows = box.sizes[outer];
    plane.row_source = box.source_strides[outer];
    plane.row_target = box.target_strides[outer];
  }
  std::int64_t planes = 1;
  for (std::size_t axis = 0; axis < outer; ++axis) planes *= box.sizes[axis];
  // Units of work are strips of rows, so that a single plane is shared among threads too.
  const std::int64_t side = 64 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t strips = (plane.rows + side - 1) / side;
  const std::int64_t grain = std::max<std::int64_t>(
      1, (1 << 16) / std::max<std::int64_t>(1, plane.columns * side * static_cast<std::int64_t>(sizeof(T))));
  parallel_for(threads, 0, planes * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      std::int64_t rest = unit / strips;
      const std::int64_t first = unit % strips * side;
      const T* from = source + first * plane.row_source;
      T* to = target + first * plane.row_target;
      for (std::size_t axis = outer; axis-- > 0;) {
        const std::int64_t i = rest % box.sizes[axis];
        rest /= box.sizes[axis];
        from += i * box.source_strides[axis];
        to += i * box.target_strides[axis];
      }
      Plane part = plane;
      part.rows = std::min(side, plane.rows - first);
      copy_plane(from, to, part);
    }
  });
}

} // namespace

void copy_box(const Box& box, const void* source, void* target, std::size_t element_bytes, int threads) {
  if (box.elements() == 0) return;
  switch (element_bytes) {
  case 1:
    return copy_all(box, static_cast<const std::uint8_t*>(source), static_cast<std::uint8_t*>(target),
                    threads);
  case 2:
    return copy_all(box, static_cast<const std::uint16_t*>(source), static_cast<std::uint16_t*>(target),
                    threads);
  case 4:
    return copy_all(box, static_cast<const std::uint32_t*>(source), static_cast<std::uint32_t*>(target),
                    threads);
  case 8:
    return copy_all(box, static_cast<const std::uint64_t*>(source), static_cast<std::uint64_t*>(target),
                    threads);
  default:
    fail(ErrorCode::internal, "cpu: movement of elements of {} bytes", element_bytes);
  }
}

} // namespace lanner
