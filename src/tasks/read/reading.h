#pragma once
// Possible meanings of outputs, from their names and shapes.

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/task.h>

namespace lanner::tasks {

/// The strength of a reading's evidence: the strongest reading wins.
enum class Ground : std::uint8_t {
  shapes, ///< Outputs that other networks may have too.
  names,  ///< Names, or types that are unique to it.
};

/// A possible meaning of the outputs.
struct Reading {
  Task task;                 ///< Kind, head, outputs and fields that follow from them.
  std::int64_t classes = -1; ///< -1 where the outputs do not determine it.
  Ground ground = Ground::shapes;
  std::string text; ///< `detect by yolo_v8 (80 classes)`.
};

/// A network's outputs, and what is known of the task before looking at them.
struct Facts {
  std::vector<Binding> outputs;       ///< Outputs that are not sequences.
  std::int64_t width = 0, height = 0; ///< Of the network's input; 0 where open.
  Task wanted;                        ///< Given, or declared by metadata.
  bool end_to_end = false;            ///< Metadata says that the network suppresses.
  bool pictures = true;               ///< Some input takes images.

  bool asked(Head head) const { return wanted.head == head; }
  bool asked(TaskKind kind) const { return wanted.kind == kind; }
  std::int64_t labels() const { return static_cast<std::int64_t>(wanted.labels.size()); }

  /// The output that `wanted.outputs` names for this part; null where it names none. Throws
  /// Error{invalid_argument}
  /// for an unknown output.
  const Binding* given(const std::string& part) const;
  /// The output with one of these names (a suffix `:0` is ignored); null.
  const Binding* named(std::initializer_list<std::string_view> names) const;
  /// The output of the part, else with one of the names, else the only one that `fits`; null.
  const Binding* find(const std::string& part, std::initializer_list<std::string_view> names,
                      const std::function<bool(const Binding&)>& fits) const;
  std::vector<const Binding*> all(const std::function<bool(const Binding&)>& fits) const;
};

/// Whether a dim is `size` or open.
inline bool may_be(std::int64_t dim, std::int64_t size) {
  return dim < 0 || dim == size;
}
inline bool has_rank(const Binding& output, std::size_t rank) {
  return output.ranked && output.dims.size() == rank;
}
/// [N, K, 4], or [N, K, 1, 4].
bool is_boxes(const Binding& output);
/// `output: f32[N, 3], ...`
std::string outputs_text(const std::vector<Binding>& outputs);

} // namespace lanner::tasks
