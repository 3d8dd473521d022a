#include "lower/widen.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <lanner/tensor.h>

#include "graph/op.h"
#include "passes/constant_math.h"
#include "passes/passes.h"

namespace lanner {
namespace {

class Widening {
public:
  explicit Widening(Graph& graph) : graph_(graph) {}

  void run() {
    std::vector<Node*> nodes;
    for (const auto& node : graph_.body().nodes()) nodes.push_back(node.get());
    for (Node* node : nodes) {
      if (node->kind() == "cast")
        take_over_cast(*node);
      else if (eligible(*node))
        widen(*node);
    }
    // Roundings that nobody reads, casts that were taken over, constants whose place others in f32 took.
    passes::drop_dead_nodes(graph_);
  }

private:
  static bool narrow(const Type& type) {
    return type.is_tensor() && (type.dtype() == DType::f16 || type.dtype() == DType::bf16);
  }

  /// Nodes whose operator means the same in f32. What names an element type or takes bits apart keeps its
  /// own.
  static bool eligible(const Node& node) {
    static const std::set<std::string_view> bound{"constant",
                                                  "cast_like",
                                                  "bit_cast",
                                                  "quantize_linear",
                                                  "dequantize_linear",
                                                  "dynamic_quantize_linear",
                                                  "fused",
                                                  "reorder"};
    if (!node.op().pure || !node.regions().empty() || bound.contains(node.kind())) return false;
    for (const auto& [name, value] : node.attributes)
      if (kind_of(value) == AttributeKind::dtype) return false;
    bool any = false;
    for (const auto& output : node.outputs()) {
      if (!output->type.is_tensor()) return false;
      any = any || narrow(output->type);
    }
    for (const Value* input : node.inputs()) {
      if (!input) continue;
      if (!input->type.is_tensor()) return false;
      any = any || narrow(input->type);
    }
    return any;
  }

  void widen(Node& node) {
    for (std::size_t i = 0; i < node.inputs().size(); ++i)
      if (Value* input = node.inputs()[i]; input && narrow(input->type)) node.set_input(i, wide(input, node));
    for (const auto& output : node.outputs())
      if (narrow(output->type)) round_behind(*output, node);
  }

  /// The value in f32: made where it was widened before, else converted in front of its reader.
  Value* wide(Value* value, Node& reader) {
    Value*& made = wide_[value];
    if (made) return made;
    made = cast(value, DType::f32, &reader);
    if (!value->constant()) return made;
    if (Value* folded = passes::fold_node(*made->producer())) made = folded;
    made->producer()->sources = value->producer()->sources;
    return made;
  }

  /// Makes `output` f32, with a cast behind it for readers that want the old type.
  void round_behind(Value& output, Node& node) {
    const Type before = output.type;
    output.type = before.with_dtype(DType::f32);
    const auto& nodes = node.region()->nodes();
    auto next = std::ranges::find_if(nodes, [&](const auto& other) { return other.get() == &node; });
    Node* behind = ++next == nodes.end() ? nullptr : next->get();
    Value* rounded = cast(&output, before.dtype(), behind);
    for (const Use& use : std::vector<Use>(output.uses().begin(), output.uses().end())) {
      if (use.node == rounded->producer()) continue;
      if (use.node)
        use.node->set_input(use.index, rounded);
      else
        use.region->set_output(use.index, rounded);
    }
    wide_[rounded] = &output;
  }

  Value* cast(Value* value, DType to, Node* before) {
    AttributeMap attributes;
    attributes.set("to", to);
    return graph_.emit("cast", std::vector<Value*>{value}, std::move(attributes), value->type.with_dtype(to),
                       value->name(), before);
  }

  /// A cast back to f32 takes the value from before the rounding.
  void take_over_cast(Node& node) {
    const auto found = wide_.find(node.input(0));
    if (found != wide_.end() && !node.input(0)->constant() && node.output()->type.dtype() == DType::f32)
      node.output()->replace_all_uses(found->second);
  }

  Graph& graph_;
  std::map<const Value*, Value*> wide_;
};

} // namespace

void widen_halves(Graph& graph, const Target& target) {
  // GPUs compute halves as they are, with sums in f32.
  if (target.device.is_host()) Widening(graph).run();
}

} // namespace lanner
