#include "backends/movement/box_copy.h"

#include <string>

#include <fmt/format.h>

#include "backends/cuda/storage.h"
#include "base/check.h"

namespace lanner::cuda {
namespace {

constexpr std::int64_t widest_bytes = 16;

/// Elements per thread and iteration: `ahead` in boxes.cu.
constexpr std::int64_t elements_of_thread = 4;

std::int64_t element_bytes(DType type) {
  return static_cast<std::int64_t>(bit_width(type) / 8);
}

std::string name_of(const char* copy, const char* convert, DType from, DType to) {
  if (from == to) return fmt::format("{}{}", copy, element_bytes(from));
  return fmt::format("{}{}_{}", convert, suffix(from), suffix(to));
}

bool is_aligned(const void* pointer, std::uint64_t alignment) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

} // namespace

bool fits_box_kernels(const Box& box) {
  return box_parameters(simplified(box)).has_value();
}

BoxCopy::BoxCopy(const Gpu& gpu, const Box& given, DType from, DType to) {
  const Box box = simplified(given);
  const std::int64_t from_bytes = element_bytes(from), to_bytes = element_bytes(to);
  elements_ = static_cast<std::uint64_t>(box.elements());
  source_bytes_ = box.source_offset * from_bytes;
  target_bytes_ = box.target_offset * to_bytes;
  const auto plain = [&](const std::string& function, const Box& moved) {
    const auto parameters = box_parameters(moved);
    lanner::check(parameters.has_value(), ErrorCode::unsupported,
                  "cuda: movement: a box of {} axes: build the plan again", moved.sizes.size());
    const std::int64_t threads = (parameters->elements + elements_of_thread - 1) / elements_of_thread;
    return Plain{embedded_function(gpu, "boxes", function.c_str()), grid_for(gpu, threads), *parameters};
  };
  single_ = plain(name_of("copy_box_", "convert_box_", from, to), box);
  const std::int64_t narrow = std::min(from_bytes, to_bytes);
  if (const auto tiles = tile_parameters(box, tile_edge(static_cast<int>(narrow)))) {
    set_tiled(gpu, box, *tiles, from, to);
    return;
  }
  const std::int64_t count = elements_at_once(box, from == to ? widest_bytes / from_bytes : 4);
  if (count == 1 || (from != to && count != 4)) return;
  source_alignment_ = static_cast<std::uint64_t>(count * from_bytes);
  target_alignment_ = static_cast<std::uint64_t>(count * to_bytes);
  grouped_ = plain(from == to ? fmt::format("copy_box_{}", count * from_bytes)
                              : name_of("", "convert_box_4_", from, to),
                   in_groups(box, count));
}

void BoxCopy::set_tiled(const Gpu& gpu, const Box& box, const TileParameters& tiles, DType from, DType to) {
  const std::int64_t bytes = element_bytes(from);
  const std::int64_t count = tiles.outer.elements * tiles.row_tiles * tiles.column_tiles;
  const auto made = [&](const std::string& function) {
    return Tiled{embedded_function(gpu, "boxes", function.c_str()), grid_for(gpu, count * 256), tiles};
  };
  tiled_ = made(name_of("rotate_box_", "rotate_box_", from, to));
  constexpr std::int64_t least_group = 4;
  if (from != to || (bytes != 2 && bytes != 4)) return;
  const std::int64_t group = tile_group(box, widest_bytes / bytes);
  if (group < least_group) return;
  tiled_in_groups_ = made(fmt::format("rotate_box_{}_by_{}", bytes, group));
  source_alignment_ = target_alignment_ = static_cast<std::uint64_t>(group * bytes);
}

void BoxCopy::launch(const void* source, void* target, Stream stream) const {
  if (elements_ == 0) return;
  const void* from = static_cast<const std::byte*>(source) + source_bytes_;
  void* to = static_cast<std::byte*>(target) + target_bytes_;
  const bool aligned = is_aligned(from, source_alignment_) && is_aligned(to, target_alignment_);
  if (tiled_) {
    const Tiled& tiled = tiled_in_groups_ && aligned ? *tiled_in_groups_ : *tiled_;
    return cuda::launch(tiled.function, tiled.grid, stream, from, to, tiled.parameters);
  }
  const Plain& plain = grouped_ && aligned ? *grouped_ : single_;
  cuda::launch(plain.function, plain.grid, stream, from, to, plain.parameters);
}

} // namespace lanner::cuda
