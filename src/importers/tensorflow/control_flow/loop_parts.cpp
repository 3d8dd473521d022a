#include "importers/tensorflow/control_flow/loop_parts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "importers/tensorflow/control_flow/dataflow_graph.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

/// Whether a constant node or value is this integer.
bool is_integer(const Tensor* tensor, std::int64_t number) {
  if (!tensor || tensor->elements() != 1) return false;
  if (tensor->dtype() == DType::i32) return tensor->as<std::int32_t>()[0] == number;
  return tensor->dtype() == DType::i64 && tensor->as<std::int64_t>()[0] == number;
}

/// The nodes of a body by the names of their results, and who reads each.
class BodyIndex {
public:
  explicit BodyIndex(const ImportGraph& body) {
    for (const ImportNode& node : body.nodes) {
      for (const std::string& output : node.outputs) writers_[output] = &node;
      for (const std::string& input : node.inputs) readers_[input].push_back(&node);
    }
    for (const ImportValue& output : body.outputs) readers_[output.name].push_back(nullptr);
  }

  const ImportNode* writer(const std::string& name) const {
    const auto found = writers_.find(name);
    return found == writers_.end() ? nullptr : found->second;
  }
  /// The value behind copies.
  std::string source(std::string name) const {
    std::vector<std::string> passed;
    for (;;) {
      const auto known = sources_.find(name);
      const ImportNode* node = known == sources_.end() ? writer(name) : nullptr;
      if (known != sources_.end()) name = known->second;
      if (!node || node->op != "Identity" || node->inputs.empty() || passed.size() > writers_.size()) break;
      passed.push_back(name);
      name = node->inputs[0];
    }
    for (std::string& copy : passed) sources_.emplace(std::move(copy), name);
    return name;
  }
  /// The only reader of a value, behind copies that are added to `passed`; nothing for another number of
  /// readers. Null within: the value is a result of the body.
  std::optional<const ImportNode*> only_reader(const std::string& name,
                                               std::set<const ImportNode*>& passed) const {
    const std::string* value = &name;
    for (;;) {
      const auto found = readers_.find(*value);
      if (found == readers_.end() || found->second.size() != 1) return std::nullopt;
      const ImportNode* reader = found->second[0];
      const bool copies = reader && reader->op == "Identity" && reader->outputs.size() == 1;
      if (!copies || !passed.insert(reader).second) return reader;
      value = &reader->outputs[0];
    }
  }

private:
  std::map<std::string, const ImportNode*, std::less<>> writers_;
  std::map<std::string, std::vector<const ImportNode*>, std::less<>> readers_;
  mutable std::map<std::string, std::string, std::less<>> sources_; ///< Of copies.
};

/// Where a writing operator has its list, index and element.
struct WriteInputs {
  std::size_t list, index, element;
};
std::optional<WriteInputs> write_inputs(const ImportNode& node) {
  if (node.op == "TensorListSetItem" && node.inputs.size() >= 3) return WriteInputs{0, 1, 2};
  if (node.op == "TensorArrayWriteV3" && node.inputs.size() >= 4) return WriteInputs{3, 1, 2};
  return std::nullopt;
}

class Writes {
public:
  Writes(const LoopParts& parts, const RuleContext& context)
      : parts_(parts), context_(context), index_(parts.body) {
    for (const ImportNode& node : parts.condition.nodes)
      read_by_condition_.insert(node.inputs.begin(), node.inputs.end());
    for (const ImportValue& output : parts.condition.outputs) read_by_condition_.insert(output.name);
  }

  /// The element that each iteration writes to variable `i`; the nodes that only pass the list are added to
  /// `passed`.
  std::optional<std::string> element(std::size_t i, std::set<const ImportNode*>& passed) const {
    if (read_by_condition_.contains(parts_.condition.inputs[i].name)) return std::nullopt;
    std::set<const ImportNode*> on_the_way;
    const auto reader = index_.only_reader(parts_.body.inputs[i].name, on_the_way);
    if (!reader || !*reader || (*reader)->outputs.size() != 1) return std::nullopt;
    const ImportNode& write = **reader;
    const auto inputs = write_inputs(write);
    if (!inputs || index_.source(write.inputs[inputs->list]) != parts_.body.inputs[i].name ||
        !is_counter(write.inputs[inputs->index]))
      return std::nullopt;
    on_the_way.insert(&write);
    const auto result = index_.only_reader(write.outputs[0], on_the_way);
    if (!result || *result || index_.source(parts_.body.outputs[i].name) != write.outputs[0])
      return std::nullopt;
    passed.merge(on_the_way);
    return write.inputs[inputs->element];
  }

private:
  /// Whether a value is a variable that counts the iterations from 0.
  bool is_counter(const std::string& name) const {
    const std::string source = index_.source(name);
    const auto input = std::ranges::find(parts_.body.inputs, source, &ImportValue::name);
    if (input == parts_.body.inputs.end()) return false;
    const auto i = static_cast<std::size_t>(input - parts_.body.inputs.begin());
    const ImportNode* add = index_.writer(index_.source(parts_.body.outputs[i].name));
    if (!add || (add->op != "Add" && add->op != "AddV2") || add->inputs.size() != 2) return false;
    const bool first = index_.source(add->inputs[0]) == source,
               second = index_.source(add->inputs[1]) == source;
    return first != second && is_one(add->inputs[first ? 1 : 0]) && is_integer(context_.constant(i), 0);
  }

  /// Of a constant of the body or an outer value.
  bool is_one(const std::string& name) const {
    const std::string source = index_.source(name);
    const ImportNode* node = index_.writer(source);
    if (!node) {
      const auto& inputs = context_.node.inputs;
      const auto outer = std::ranges::find(inputs, source);
      return outer != inputs.end() &&
             is_integer(context_.constant(static_cast<std::size_t>(outer - inputs.begin())), 1);
    }
    if (node->op != "Const") return false;
    const auto value = node->attributes.find("value");
    return value != node->attributes.end() && is_integer(std::get_if<Tensor>(&value->second.value), 1);
  }

  const LoopParts& parts_;
  const RuleContext& context_;
  const BodyIndex index_;
  std::set<std::string> read_by_condition_;
};

template<typename List>
void remove_places(List& list, const std::vector<std::size_t>& places) {
  for (auto place = places.rbegin(); place != places.rend(); ++place)
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(*place));
}

} // namespace

std::vector<std::size_t> take_written_lists(LoopParts& parts, const RuleContext& context) {
  std::vector<std::size_t> taken;
  std::set<const ImportNode*> passed;
  std::vector<ImportValue> elements;
  const Writes writes(parts, context);
  for (std::size_t i = 0; i < parts.body.inputs.size(); ++i) {
    auto element = writes.element(i, passed);
    if (!element) continue;
    taken.push_back(i);
    elements.push_back({std::move(*element), {}});
  }
  if (taken.empty()) return taken;
  std::vector<ImportNode> nodes;
  for (ImportNode& node : parts.body.nodes)
    if (!passed.contains(&node)) nodes.push_back(std::move(node));
  parts.body.nodes = std::move(nodes);
  remove_places(parts.body.inputs, taken);
  remove_places(parts.body.outputs, taken);
  remove_places(parts.condition.inputs, taken);
  parts.body.outputs.insert(parts.body.outputs.end(), elements.begin(), elements.end());
  return taken;
}

Value* written_list(RuleContext& context, Value* before, Value* elements) {
  const std::size_t rank = elements->type.ranked() ? elements->type.rank() : 0;
  check(before->type.ranked() && before->type.rank() > 0 && rank > 0, ErrorCode::unsupported,
        "the rank of the elements that a loop writes to a list is not known before running");
  if (before->type.dims()[0] == Dim(0)) return elements; // a list that grows
  const auto length = [&](Value* list) {
    return context.emit("slice", {context.emit("shape", {list}), context.ints({0}), context.ints({1})});
  };
  const auto concat = [&](std::vector<Value*> parts) {
    return context.emit("concat", std::move(parts), with("axis", std::int64_t{0}));
  };
  Value *count = length(before), *written = length(elements), *all = nullptr;
  if (is_unwritten_list(before->type, elements->type)) {
    Value* missing = context.emit("max", {context.emit("sub", {count, written}), context.ints({0})});
    all = context.emit("pad", {elements, concat({context.ints({0}), missing}), nullptr, context.ints({0})});
  } else {
    all = concat({elements, context.emit("slice", {before, written, count, context.ints({0})})});
  }
  // A loop that runs more often than the list has elements does not fit, and says so.
  std::vector<Value*> shape{count};
  if (rank > 1) shape.push_back(context.ints(std::vector<std::int64_t>(rank - 1, 0)));
  return context.emit("reshape", {all, shape.size() > 1 ? concat(std::move(shape)) : count});
}

} // namespace lanner::tensorflow
