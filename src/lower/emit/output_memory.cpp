#include "lower/emit/output_memory.h"

#include <algorithm>
#include <map>
#include <set>

#include "program/lowered/joins.h"
#include "program/lowered/lowered.h"
#include "program/lowered/views.h"

namespace lanner {
namespace {

class OutputMemory {
public:
  OutputMemory(Graph& graph, const LowerOptions& options, const InPlaceKernels& in_place,
               const CopyValue& copy)
      : body_(graph.body()), options_(options), callers_(options.callers), in_place_(in_place), copy_(copy),
        allowing_(options.callers) {
    allowing_.overwritable.assign(body_.parameters().size(), true);
  }

  void settle() {
    for (std::size_t i = 0; i < body_.outputs().size(); ++i)
      if (is_planned(*body_.outputs()[i]) && !alias_of(i)) settle_own(i);
    // Writes to inputs come last, when no other input is read any more.
    for (std::size_t i = 0; i < body_.outputs().size(); ++i)
      if (is_planned(*body_.outputs()[i]) && alias_of(i)) take_from_input(i);
    for (std::size_t i = 0; i < body_.outputs().size(); ++i)
      if (is_planned(*body_.outputs()[i]) && alias_of(i)) settle_alias(i);
  }

private:
  const CallerMemory::Alias* alias_of(std::size_t output) const {
    const CallerMemory::Alias* alias = callers_.alias_of_output(output);
    return alias && alias->required ? alias : nullptr;
  }

  Storage wanted(std::size_t i) const {
    const Value& value = *body_.outputs()[i];
    return settled_storage(callers_.output(i), value.storage, value.type, options_.target.device);
  }

  void put_copy(std::size_t i, const char* suffix) {
    Value* value = body_.outputs()[i];
    body_.set_output(i, copy_(value, wanted(i), value->name() + suffix));
  }

  /// The value whose memory this is, views followed.
  static const Value* root_of(const Value* value) {
    while (value->producer() && is_alias_of_input(*value->producer())) value = value->producer()->input(0);
    return value;
  }

  /// Whether it is a proper part of another value's memory.
  static bool is_part(const Value* value) {
    for (; value->producer() && is_alias_of_input(*value->producer()); value = value->producer()->input(0))
      if (is_part_view(*value->producer())) return true;
    return false;
  }

  const InPlace* in_place(const Value& root) const {
    const auto kernel = root.producer() ? in_place_.find(root.producer()) : in_place_.end();
    return kernel == in_place_.end() ? nullptr : &kernel->second;
  }

  /// Whether an in-place kernel may end up in the memory of an input.
  bool lies_in_input(const Value* root) const {
    const InPlace* kernel = in_place(*root);
    if (!kernel || !kernel->required) return !root->producer();
    for (; kernel; kernel = in_place(*root)) root = root_of(root->producer()->input(kernel->input));
    return !root->producer();
  }

  /// Whether a kernel writes it as output `i` needs it.
  bool is_written(const Value& root, std::size_t i) const {
    const Value& value = *body_.outputs()[i];
    // Parts are written before a concatenation is reached, when an input may still be read.
    if (alias_of(i) && root.producer() && is_join(*root.producer())) return false;
    return root.producer() && !root.constant() && root.producer()->tactic.backend != interpreter_backend &&
           same_storage(value.type, value.storage, wanted(i));
  }

  void settle_own(std::size_t i) {
    const Value* root = root_of(body_.outputs()[i]);
    if (is_part(body_.outputs()[i]) || lies_in_input(root) || !is_written(*root, i) ||
        !roots_.insert(root).second)
      put_copy(i, ".out");
  }

  void take_from_input(std::size_t i) {
    const Value* root = root_of(body_.outputs()[i]);
    if (is_part(body_.outputs()[i]) || (!root->producer() && root != body_.parameter(alias_of(i)->input)))
      put_copy(i, ".in");
  }

  void settle_alias(std::size_t i) {
    const Value& memory = *body_.parameter(alias_of(i)->input);
    const Value* root = root_of(body_.outputs()[i]);
    const bool there = root == &memory && same_storage(memory.type, memory.storage, wanted(i));
    if (there || (is_written(*root, i) && comes_behind(*root, memory) && roots_.insert(root).second)) return;
    put_copy(i, ".out");
  }

  /// Whether `root` may be written to `memory`, an input's: all readers of it have run by then, except a
  /// kernel that works in place.
  bool comes_behind(const Value& root, const Value& memory) {
    const Node& writer = *root.producer();
    const InPlace* kernel = in_place(root);
    const auto& order = this->order();
    if (kernel && writer.input(kernel->input) == &memory &&
        storage_bytes(memory) == storage_bytes(*writer.output()) &&
        may_overwrite(writer, kernel->input, order, allowing_))
      return true;
    return !(kernel && kernel->required) && all_read_before(memory, writer, order);
  }

  /// Execution order of all nodes; recomputed, as copies were appended since the last call.
  const std::map<const Node*, std::size_t>& order() {
    const auto& nodes = body_.nodes();
    const Node* next = last_ ? body_.next(last_) : nodes.empty() ? nullptr : nodes.front().get();
    for (; next; next = body_.next(next)) {
      order_.emplace(next, order_.size());
      last_ = next;
    }
    return order_;
  }

  static bool all_read_before(const Value& value, const Node& writer,
                              const std::map<const Node*, std::size_t>& order) {
    return std::ranges::all_of(value.uses(), [&](const Use& use) {
      if (!use.node) return false;
      if (use.node->tactic.backend == alias_backend)
        return std::ranges::all_of(
            use.node->outputs(), [&](const auto& output) { return all_read_before(*output, writer, order); });
      return order.at(use.node) < order.at(&writer);
    });
  }

  Region& body_;
  const LowerOptions& options_;
  const CallerMemory& callers_;
  const InPlaceKernels& in_place_;
  const CopyValue& copy_;
  CallerMemory allowing_;        ///< The same, with all inputs overwritable.
  std::set<const Value*> roots_; ///< Values whose memory is an output's.
  std::map<const Node*, std::size_t> order_;
  const Node* last_ = nullptr; ///< Of these.
};

} // namespace

void settle_outputs(Graph& graph, const LowerOptions& options, const InPlaceKernels& in_place,
                    const CopyValue& copy) {
  OutputMemory(graph, options, in_place, copy).settle();
}

} // namespace lanner
