#pragma once
// What outputs may mean by their names and shapes.

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/task.h>

namespace lanner::tasks {

/// How much speaks for a reading: those that more speaks for win.
enum class Ground : std::uint8_t {
  shapes, ///< Other networks have such outputs too.
  names,  ///< Names, or types that nothing else has.
};

/// One meaning that the outputs may have.
struct Reading {
  Task task;                 ///< Kind, head, outputs and what else follows.
  std::int64_t classes = -1; ///< -1 where the outputs do not tell.
  Ground ground = Ground::shapes;
  std::string text; ///< `detect by yolo_v8 (80 classes)`.
};

/// A network's outputs, and what is known of the task before they are looked at.
struct Facts {
  std::vector<Binding> outputs;       ///< Those that are no sequences.
  std::int64_t width = 0, height = 0; ///< Of the network's input; 0 where they are open.
  Task wanted;                        ///< Given, or declared by metadata.
  bool end_to_end = false;            ///< Metadata says that the network suppresses.
  bool pictures = true;               ///< Some input takes pictures.

  bool asked(Head head) const { return wanted.head == head; }
  bool asked(TaskKind kind) const { return wanted.kind == kind; }
  std::int64_t labels() const { return static_cast<std::int64_t>(wanted.labels.size()); }

  /// The output that `wanted.outputs` names for this part; null where none is. Throws Error{invalid_argument}
  /// where there is no such output.
  const Binding* given(const std::string& part) const;
  /// The output of one of these names (a `:0` behind them does not count); null.
  const Binding* named(std::initializer_list<std::string_view> names) const;
  /// That of the part, else of one of the names, else the only one that `fits`; null.
  const Binding* find(const std::string& part, std::initializer_list<std::string_view> names,
                      const std::function<bool(const Binding&)>& fits) const;
  std::vector<const Binding*> all(const std::function<bool(const Binding&)>& fits) const;
};

/// Whether a dim may be `size`: it is, or is open.
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
