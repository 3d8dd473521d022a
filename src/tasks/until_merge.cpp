// Stands in for the names of tasks, which are told elsewhere.

#include <lanner/task.h>

namespace lanner {

std::string_view to_string(TaskKind kind) noexcept {
  constexpr std::string_view names[] = {"classify", "detect", "segment", "semantic", "depth",
                                        "image",    "pose",   "obb",     "embed",    "none"};
  return names[static_cast<std::size_t>(kind)];
}

} // namespace lanner
