#pragma once
// The kernels of tasks, thread by thread on the host.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tasks/cuda/map_kernel.h"
#include "tasks/cuda/scan_kernel.h"
#include "tasks/cuda/suppress_kernel.h"
#include "tensor/float16.h"

namespace lanner::fake {

/// Calls `run(load)` with what loads numbers of the type that a kernel's name ends with.
template<typename Run>
void with_loader(const std::string& name, const void* values, Run&& run) {
  const auto* halves = static_cast<const std::uint16_t*>(values);
  if (name.ends_with("_f32"))
    run([floats = static_cast<const float*>(values)](std::int64_t i) { return floats[i]; });
  else if (name.ends_with("_bf16"))
    run([halves](std::int64_t i) { return bfloat16_to_float(halves[i]); });
  else
    run([halves](std::int64_t i) { return half_to_float(halves[i]); });
}

template<typename T>
T argument(void** arguments, int i) {
  return *static_cast<T*>(arguments[i]);
}

inline std::function<void()> row_kernel(const std::string& name, void** arguments) {
  using namespace tasks::cuda;
  if (name.starts_with("task_scan_"))
    return [name, flags = argument<std::uint8_t*>(arguments, 0), p = argument<ScanParameters>(arguments, 1)] {
      with_loader(name, p.values, [&](const auto& load) {
        for (std::int64_t row = 0; row < p.rows; ++row)
          flags[row] = p.peak_width > 0 ? is_peak(p, row, load) : counts_alone(p, row, load);
      });
      std::fill(flags + p.rows, flags + padded_flags(p.rows), std::uint8_t{0});
    };
  if (name == "task_list_rows")
    return [flags = argument<const std::uint8_t*>(arguments, 0), rows = argument<std::int64_t>(arguments, 1),
            list = argument<std::int32_t*>(arguments, 2), found = argument<std::int64_t*>(arguments, 3)] {
      std::int64_t count = 0;
      for (std::int64_t row = 0; row < padded_flags(rows); ++row)
        if (flags[row]) list[count++] = static_cast<std::int32_t>(row);
      *found = count;
    };
  if (name == "task_gather_rows")
    return [p = argument<GatherParameters>(arguments, 0)] {
      const std::int64_t rows = std::min(*p.found - p.first, p.room);
      for (std::int64_t i = 0; i < rows; ++i) p.numbers[i] = p.rows[p.first + i];
      for (int t = 0; t < p.count; ++t)
        for (std::int64_t i = 0; i < rows * p.tables[t].channels; ++i) gather_number(p, p.tables[t], i);
    };
  return {};
}

inline void resolve_boxes(const tasks::cuda::SuppressParameters& p, std::int64_t first) {
  using namespace tasks::cuda;
  std::int64_t count = p.state[stayed_before] = p.state[stayed];
  const std::int64_t end = std::min(first + suppressed_together, p.count);
  for (std::int64_t i = first; i < end && count < p.most; ++i) {
    if (p.gone[i]) continue;
    p.kept[count++] = static_cast<std::int32_t>(i);
    for (std::int64_t k = i + 1; k < end; ++k)
      if (!p.gone[k] && suppresses(p, i, k)) p.gone[k] = 1;
  }
  p.state[stayed] = count;
}

inline std::function<void()> suppress_kernel(const std::string& name, void** arguments) {
  using namespace tasks::cuda;
  const auto with = [&](auto run) -> std::function<void()> {
    return [run, p = argument<SuppressParameters>(arguments, 0)] { run(p); };
  };
  const auto behind = [&](auto run) -> std::function<void()> {
    return [run, p = argument<SuppressParameters>(arguments, 0),
            first = argument<std::int64_t>(arguments, 1)] { run(p, first); };
  };
  using P = SuppressParameters;
  if (name == "task_key_boxes")
    return with([](const P& p) {
      for (std::int64_t i = 0; i < p.count; ++i) {
        p.keys[i] = order_key(p.scores[i], i);
        if (!all_finite(p, i)) p.state[not_finite] = 1;
      }
      p.state[stayed] = 0;
    });
  if (name == "task_sort_boxes")
    return with([](const P& p) {
      std::vector<std::uint64_t> sorted(p.keys, p.keys + p.count);
      std::sort(sorted.begin(), sorted.end(), std::greater<>{});
      for (std::int64_t i = 0; i < p.count; ++i)
        place_box(p, i,
                  std::lower_bound(sorted.begin(), sorted.end(), p.keys[i], std::greater<>{}) -
                      sorted.begin());
    });
  if (name == "task_resolve_boxes") return behind(resolve_boxes);
  if (name == "task_tell_boxes")
    return behind([](const P& p, std::int64_t first) {
      for (std::int64_t own = first; own < p.count && p.state[stayed] < p.most; ++own)
        for (std::int64_t k = p.state[stayed_before]; k < p.state[stayed] && !p.gone[own]; ++k)
          p.gone[own] = suppresses(p, p.kept[k], own);
    });
  if (name == "task_number_boxes")
    return with([](const P& p) {
      for (std::int64_t k = 0; k < p.state[stayed]; ++k) p.kept[k] = p.order[p.kept[k]];
    });
  return {};
}

inline std::function<void()> map_kernel(const std::string& name, void** arguments) {
  using namespace tasks::cuda;
  const auto of_map = [&](auto count, auto run) -> std::function<void()> {
    return [name, count, run, p = argument<MapParameters>(arguments, 0)] {
      with_loader(name, p.values, [&](const auto& load) {
        for (std::int64_t i = 0; i < count(p); ++i) run(p, i, load);
      });
    };
  };
  const auto pixels = [](const MapParameters& p) { return std::int64_t{p.width} * p.height; };
  if (name.starts_with("task_find_best_"))
    return of_map([](const MapParameters& p) { return std::int64_t{p.map_width} * p.map_height; },
                  [](const auto& p, std::int64_t i, const auto& load) { find_best(p, i, load); });
  if (name.starts_with("task_find_class_"))
    return of_map(pixels, [](const auto& p, std::int64_t i, const auto& load) { find_class(p, i, load); });
  if (name.starts_with("task_find_number_"))
    return of_map(pixels, [](const auto& p, std::int64_t i, const auto& load) { find_number(p, i, load); });
  if (name.starts_with("task_find_byte_"))
    return [name, p = argument<PictureParameters>(arguments, 0)] {
      with_loader(name, p.values, [&](const auto& load) {
        for (std::int64_t i = 0; i < std::int64_t{p.width} * p.height * 3; ++i) find_byte(p, i, load);
      });
    };
  if (name.starts_with("task_check_"))
    return [name, values = argument<const void*>(arguments, 0), size = argument<std::int64_t>(arguments, 1),
            bad = argument<std::int32_t*>(arguments, 2)] {
      with_loader(name, values, [&](const auto& load) {
        for (std::int64_t i = 0; i < size; ++i)
          if (!finite_number(load(i))) *bad = 1;
      });
    };
  if (name.starts_with("task_find_map_"))
    return [name, p = argument<MaskParameters>(arguments, 0)] {
      with_loader(name, p.values, [&](const auto& load) {
        for (const MaskObject* o = p.objects; o != p.objects + p.count; ++o)
          for (std::int64_t i = 0; i < std::int64_t{o->map_width} * o->map_height; ++i)
            find_map(p, *o, i, load);
      });
    };
  if (name == "task_find_mask")
    return [p = argument<MaskParameters>(arguments, 0)] {
      for (const MaskObject* o = p.objects; o != p.objects + p.count; ++o)
        for (std::int64_t i = 0; i < std::int64_t{o->width} * o->height; ++i) find_mask(p, *o, i);
    };
  return {};
}

/// The work of a kernel of this name; empty for other names.
inline std::function<void()> task_kernel(const std::string& name, void** arguments) {
  if (!name.starts_with("task_")) return {};
  if (auto work = row_kernel(name, arguments)) return work;
  if (auto work = suppress_kernel(name, arguments)) return work;
  return map_kernel(name, arguments);
}

} // namespace lanner::fake
