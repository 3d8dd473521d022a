// Fully connected layers in a row as one kernel: a few rows go through all of them, and what is between stays
// in the cache. Threads share the rows, so that none waits between layers.

#include <algorithm>

#include "backends/config_text.h"
#include "backends/family.h"
#include "backends/product/dense_layer.h"
#include "backends/product/panel.h"
#include "backends/storage_layout.h"
#include "base/check.h"
#include "device/parallel.h"

namespace lanner {

namespace {

constexpr std::size_t most_layers = 31;
/// Larger weights are read faster by several threads, each of which reads a part.
constexpr std::int64_t most_weights = 128 * 1024;
constexpr std::int64_t most_rows = 64; ///< As in the kernel gemm.
constexpr std::int64_t least_rows_of_a_thread = 4;

using Layers = std::vector<DenseLayer>;

bool begins_layer(const Node& node) {
  return node.kind() == "matmul";
}

/// The layer that a product begins, without steps; nothing, with `reason` set, where it is not supported.
std::optional<DenseLayer> layer_of(const GroupOp& op, std::string& reason) {
  DenseLayer layer;
  Product& product = layer.product;
  product.a = op.input(0);
  product.b = op.input(1);
  product.result = op.type().shape();
  if (product.a.shape().rank() != 2 || product.b.shape().rank() != 2 || product.result.elements() == 0)
    reason = "products must be of two dims";
  else if (op.type().dtype() != DType::f32)
    reason = "layers must be f32";
  else if (!product.b.is_input() || !product.b.constant)
    reason = "weights must be constants";
  else if (product.b.shape().elements() > most_weights)
    reason = fmt::format("a layer has {} weights, at most {} are supported", product.b.shape().elements(),
                         most_weights);
  else if (product.rows() > most_rows)
    reason = fmt::format("{} rows, at most {} are supported", product.rows(), most_rows);
  else
    return layer;
  return std::nullopt;
}

/// Adds a step to the layer whose result it reads: an activation, or a sum with a constant row.
bool take_step(DenseLayer& layer, const GroupOp& op, std::size_t before) {
  const auto is_last = [&](const Operand& operand) { return operand.is_op() && operand.index == before; };
  if (op.type().shape() != layer.product.result) return false;
  if (const auto call = activation_of(op); call && is_last(op.input(0))) {
    const bool plain = layer.steps.empty() && !layer.relu;
    if (plain && call->is("relu"))
      layer.relu = true;
    else
      layer.steps.push_back({call->formula, {call->alpha, call->beta}, {}, false});
    return true;
  }
  if (op.kind() != "add") return false;
  const Operand row = op.input(is_last(op.input(0)) ? 1 : 0);
  if (!is_last(op.input(0)) && !is_last(op.input(1))) return false;
  if (!row.constant || row.dtype() != DType::f32 || row.shape().elements() != layer.product.columns() ||
      spread_of(row.shape(), layer.product.result, 1) == Spread::full)
    return false;
  if (!layer.product.bias && !layer.relu && layer.steps.empty())
    layer.product.bias = row;
  else
    layer.steps.push_back({&formula_of(BinaryKind::add), {}, row, false});
  return true;
}

/// Nothing unless the group is layers, each of which reads the one before; `reason` says why for groups of
/// several.
std::optional<Layers> layers_of(const Group& group, std::string& reason) {
  const auto& ops = group.ops();
  if (ops.empty() || !begins_layer(*ops.front().node)) return std::nullopt;
  Layers layers;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (i > 0 && group.uses_of_op(i - 1) != 1) return std::nullopt;
    if (begins_layer(*ops[i].node)) {
      auto layer = layer_of(ops[i], reason);
      if (!layer) return std::nullopt;
      const Operand& a = layer->product.a;
      if (i == 0 ? !a.is_input() : !(a.is_op() && a.index == i - 1)) return std::nullopt;
      layers.push_back(std::move(*layer));
    } else if (!take_step(layers.back(), ops[i], i - 1)) {
      if (layers.size() > 1) reason = "steps must be activations and sums with a constant row";
      return std::nullopt;
    }
  }
  if (layers.size() <= most_layers) return layers;
  reason = fmt::format("{} layers, at most {} are supported", layers.size(), most_layers);
  return std::nullopt;
}

class MlpKernel final : public Kernel {
public:
  MlpKernel(Layers layers, int threads) : layers_(std::move(layers)), threads_(threads) {
    for (std::size_t l = 0; l + 1 < layers_.size(); ++l)
      stride_ = std::max(stride_, layers_[l].product.columns());
  }

  std::size_t workspace() const override {
    return static_cast<std::size_t>(2 * rows() * stride_) * sizeof(float);
  }

  void launch(const Launch& launch) const override {
    const std::int64_t grain = std::max(least_rows_of_a_thread, (rows() + threads_ - 1) / threads_);
    parallel_for(threads_, 0, rows(), grain,
                 [&](std::int64_t begin, std::int64_t end) { run(launch, begin, end); });
  }

private:
  std::int64_t rows() const { return layers_.front().product.rows(); }

  static const float* floats(const Operand& operand, const Launch& launch) {
    if (!operand) return nullptr;
    const void* bytes = operand.is_input() ? launch.inputs[operand.index] : operand.constant->data();
    return static_cast<const float*>(bytes);
  }

  /// Rows [begin, end) through all layers.
  void run(const Launch& launch, std::int64_t begin, std::int64_t end) const {
    const Product& first = layers_.front().product;
    const float* from = floats(first.a, launch) + begin * first.depth();
    std::int64_t from_stride = first.depth();
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const bool last = l + 1 == layers_.size();
      const std::int64_t stride = last ? layers_[l].product.columns() : stride_;
      float* to = last ? static_cast<float*>(launch.outputs[0])
                       : static_cast<float*>(launch.workspace) + (l % 2 ? rows() * stride_ : 0);
      to += begin * stride;
      run_layer(layers_[l], launch, {from, nullptr, nullptr, to, from_stride, stride, end - begin});
      from = to;
      from_stride = stride;
    }
  }

  static void run_layer(const DenseLayer& layer, const Launch& launch, PanelProduct rows) {
    const std::int64_t width = panel_function().width, columns = layer.product.columns();
    const float *weights = floats(layer.product.b, launch), *bias = floats(layer.product.bias, launch);
    float* const out = rows.out;
    rows.depth = layer.product.depth();
    rows.relu = layer.relu;
    for (std::int64_t column = 0; column < columns; column += width) {
      rows.panel = weights + column * rows.depth;
      rows.bias = bias ? bias + column : nullptr;
      rows.out = out + column;
      rows.columns = std::min(width, columns - column);
      panel_function().run(rows);
    }
    for (const RowStep& step : layer.steps)
      for (std::int64_t row = 0; row < rows.rows; ++row) {
        float* const at = out + row * rows.out_stride;
        tile_functions()[*step.formula](at, at, floats(step.operand, launch), nullptr, columns, step.numbers);
      }
  }

  Layers layers_;
  std::int64_t stride_ = 0; ///< Floats from row to row of what is between layers.
  int threads_;
};

double seconds_on(int threads, const Layers& layers, const Target& target) {
  constexpr double of_a_step = 0.05e-6; // What one kernel instead of several saves.
  double seconds = -of_a_step * static_cast<double>(layers.size() - 1);
  for (const DenseLayer& layer : layers) seconds += seconds_on(threads, layer.product, target);
  return std::max(seconds, of_a_step);
}

std::vector<int> thread_counts(const Layers& layers, const Target& target) {
  const std::int64_t shares = layers.front().product.rows() / least_rows_of_a_thread;
  const int most = static_cast<int>(std::clamp<std::int64_t>(shares, 1, target.threads));
  return most > 1 ? std::vector{most, 1} : std::vector{1};
}

TacticList mlp_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto begins = [](const GroupOp& op) { return begins_layer(*op.node); };
  if (std::ranges::count_if(group.ops(), begins) < 2)
    return list; // Not several layers, so not refused either.
  const auto layers = layers_of(group, list.reason);
  if (!layers || layers->size() < 2) return list;
  for (const int threads : thread_counts(*layers, target)) {
    Tactic tactic;
    tactic.kernel = "mlp";
    tactic.config = ConfigText().set("threads", threads).bytes();
    tactic.inputs.resize(node.inputs().size());
    for (const DenseLayer& layer : *layers)
      tactic.inputs[layer.product.b.index] = stored(panel_layout(layer.product));
    tactic.outputs.resize(node.outputs().size());
    tactic.estimate = seconds_on(threads, *layers, target);
    tactic.accumulates = DType::f32;
    list.tactics.push_back(std::move(tactic));
  }
  return list;
}

std::unique_ptr<Kernel> mlp_prepare(const Preparation& p) {
  std::string reason;
  auto layers = layers_of(p.group, reason);
  check_taken(layers.has_value(), p, reason);
  for (const DenseLayer& layer : *layers) check_panels(p, layer.product, "mlp");
  const auto threads = static_cast<int>(ConfigText(p.tactic.config).integer("threads"));
  return std::make_unique<MlpKernel>(std::move(*layers), std::clamp(threads, 1, p.target.threads));
}

/// The only node that reads the value, or null.
const Node* only_reader(const Value& value) {
  const Node* reader = nullptr;
  for (const Use& use : value.uses()) {
    if (!use.node || (reader && reader != use.node)) return nullptr;
    reader = use.node;
  }
  return reader && reader->region() == value.producer()->region() && reader->outputs().size() == 1 ? reader
                                                                                                   : nullptr;
}

/// As many layers from the product on as one kernel takes.
std::vector<const Node*> layers_from(const Node& product) {
  std::vector<const Node*> nodes{&product};
  std::string reason;
  if (!begins_layer(product) || !layers_of(Group::of(nodes), reason)) return {};
  while (const Node* next = only_reader(*nodes.back()->output())) {
    nodes.push_back(next);
    if (layers_of(Group::of(nodes), reason)) continue;
    nodes.pop_back();
    break;
  }
  return nodes;
}

/// Whether the product reads another layer's result.
bool continues(const Node& product) {
  const Node* node = product.input(0)->producer();
  while (node && !begins_layer(*node) && node->op().elementwise && only_reader(*node->output()))
    node = node->input(0)->producer();
  if (!node || !begins_layer(*node)) return false;
  std::string reason;
  std::vector<const Node*> nodes{node};
  for (const Node* next = only_reader(*node->output()); next; next = only_reader(*next->output())) {
    nodes.push_back(next);
    if (!layers_of(Group::of(nodes), reason)) return false;
    if (next == &product) return true;
  }
  return false;
}

/// From the first layer on, all that follow, in groups of as many as a kernel takes: each layer is in one
/// group.
std::vector<std::vector<const Node*>> mlp_propose(const Node& anchor, const Target&) {
  if (!begins_layer(anchor) || continues(anchor)) return {};
  std::vector<std::vector<const Node*>> groups;
  for (const Node* product = &anchor; product && begins_layer(*product);) {
    std::vector<const Node*> nodes = layers_from(*product);
    if (nodes.empty()) break;
    product = only_reader(*nodes.back()->output());
    if (std::ranges::count_if(nodes, [](const Node* node) { return begins_layer(*node); }) > 1)
      groups.push_back(std::move(nodes));
  }
  return groups;
}

} // namespace

extern const KernelFamily mlp_family{.kernel = "mlp",
                                     .trust = KernelTrust::own(),
                                     .tactics = mlp_tactics,
                                     .prepare = mlp_prepare,
                                     .propose = mlp_propose};

} // namespace lanner
