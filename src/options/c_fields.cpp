#include "options/c_fields.h"

#include <lanner/model_folder.h>

namespace lanner {
namespace {

ShapeRange range_of(const lanner_shape_range& given, const Limits& limits) {
  check(given.rank <= limits.rank, ErrorCode::limit_exceeded,
        "shape of {}: rank {}, over the limit rank of {}; raise it with limits = \"rank=N\"",
        &not_null(given.input, "input of shapes"), given.rank, limits.rank);
  if (given.rank > 0) not_null(given.min, "min of a shape");
  const auto or_min = [&](const std::int64_t* sizes) {
    return Shape(std::span<const std::int64_t>(sizes ? sizes : given.min, given.rank));
  };
  return {or_min(given.min), or_min(given.opt), or_min(given.max)};
}

} // namespace

OptionSource open_source(const std::filesystem::path& path, const Limits& limits) {
  return {open_path(path, limits), model_folder(path)};
}

NamedShapes shapes_in(const lanner_shape_range* shapes, std::size_t count, const Limits& limits) {
  NamedShapes ranges;
  for (const lanner_shape_range& range : array_of(shapes, count, "shapes"))
    add_once(ranges, &not_null(range.input, "input of shapes"), range_of(range, limits), "input");
  return ranges;
}

Control control_in(lanner_progress progress, void* user) {
  Control control;
  control.cancel = CancelToken::create();
  control.progress = [cancel = control.cancel, progress, user](const ProgressUpdate& update) {
    const std::string stage(update.stage);
    if (progress(user, stage.c_str(), update.done, update.total) != 0) cancel.cancel();
  };
  return control;
}

} // namespace lanner
