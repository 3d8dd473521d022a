#include "backends/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace lanner {

namespace {

constexpr std::size_t max_chain = 16; ///< Maximum number of nodes before an operand or after the result.

bool is_last_axis(const GroupOp& op) {
  const auto rank = static_cast<std::int64_t>(op.type().shape().rank());
  const std::int64_t axis = op.attributes().integer("axis", -1);
  return axis == -1 || axis == rank - 1;
}

/// All leading dims merged into one, then the two of a matrix.
AttentionOperand operand_of(std::size_t input, const StridedView& view) {
  const std::size_t rank = view.dims().size();
  return {input, joined_dims(view, 0, rank - 2), joined_dims(view, rank - 2, rank - 1),
          joined_dims(view, rank - 1, rank), view.offset()};
}

std::int64_t leading(const Shape& shape) {
  return Shape(std::span(shape.dims()).first(shape.rank() - 2)).elements();
}

/// The number that `op` multiplies its operand `data` by.
std::optional<float> factor_of(const GroupOp& op, std::size_t& data) {
  if (op.kind() != "mul" && op.kind() != "div") return std::nullopt;
  for (const std::size_t number : {std::size_t{1}, std::size_t{0}}) {
    if (op.kind() == "div" && number == 0) break;
    const auto value = scalar_value(op.input(number).constant);
    if (!value || op.input(1 - number).shape() != op.type().shape()) continue;
    data = 1 - number;
    return op.kind() == "mul" ? *value : 1 / *value;
  }
  return std::nullopt;
}

/// Matches a group, starting at its softmax and going up and down.
class Reader {
public:
  explicit Reader(const Group& group) : group_(group) {}

  std::optional<Attention> read() {
    const std::vector<GroupOp>& ops = group_.ops();
    const auto softmax = std::ranges::find(ops, "softmax", &GroupOp::kind);
    if (softmax == ops.end() || ops.size() < 3 || group_.outputs().size() != 1) return std::nullopt;
    const auto at = static_cast<std::size_t>(softmax - ops.begin());
    if (!is_last_axis(*softmax) || softmax->type().shape().rank() < 3) return std::nullopt;
    scores_ = softmax->type().shape();
    seen_.insert(at);
    if (!scores(softmax->input(0)) || !result(at)) return std::nullopt;
    return seen_.size() == ops.size() ? std::optional(attention_) : std::nullopt;
  }

private:
  const GroupOp* op_of(const Operand& operand) {
    if (!operand.is_op()) return nullptr;
    seen_.insert(operand.index);
    return &group_.ops()[operand.index];
  }

  /// From the softmax's operand up to the product of q and k.
  bool scores(const Operand& operand) {
    const GroupOp* op = op_of(operand);
    if (!op || op->type().shape().rank() < 3) return false;
    if (op->kind() == "matmul") return product(*op);
    if (op->kind() == "reshape") return same_matrices(*op) && scores(op->input(0));
    std::size_t data = 0;
    if (const auto factor = factor_of(*op, data)) {
      if (!scores(op->input(data))) return false;
      attention_.steps.push_back({*factor, {}, DType::f32});
      return true;
    }
    if (op->kind() != "add") return false;
    data = op->input(0).is_op() ? 0 : 1;
    const Operand bias = op->input(1 - data);
    if (!bias.is_input() || op->input(data).shape() != op->type().shape()) return false;
    const auto view = StridedView::dense(bias.shape()).broadcast(op->type().shape());
    if (!view || !scores(op->input(data))) return false;
    attention_.steps.push_back({1, operand_of(bias.index, *view), bias.dtype()});
    return true;
  }

  /// Whether a reshape changes leading dims only.
  static bool same_matrices(const GroupOp& op) {
    const Shape from = op.input(0).shape(), &to = op.type().shape();
    return from.rank() >= 2 && to.rank() >= 2 && from.back() == to.back() &&
           from[from.rank() - 2] == to[to.rank() - 2];
  }

  bool product(const GroupOp& op) {
    const Shape& shape = op.type().shape();
    auto q = source(op.input(0), shape), k = source(op.input(1), shape);
    if (!q || !k) return false;
    attention_.heads = leading(shape);
    attention_.queries = shape[shape.rank() - 2];
    attention_.keys = shape.back();
    attention_.depth = op.input(0).shape().back();
    attention_.q = *q;
    std::swap(k->rows, k->columns);
    attention_.k = *k;
    attention_.type = op.type().dtype();
    return true;
  }

  /// Operand of a product, with leading dims broadcast to those of `shape`, as strides in the group's input.
  /// Scale factors on it become steps of the scores.
  std::optional<AttentionOperand> source(const Operand& operand, const Shape& shape) {
    std::vector<const GroupOp*> chain;
    Operand at = operand;
    while (at.is_op() && chain.size() <= max_chain) {
      const GroupOp* op = op_of(at);
      std::size_t data = 0;
      const auto factor = factor_of(*op, data);
      if (factor && values_) return std::nullopt;
      if (factor) attention_.steps.push_back({*factor, {}, DType::f32});
      chain.push_back(factor ? nullptr : op);
      at = op->input(data);
    }
    if (!at.is_input() || at.dtype() != operand.dtype()) return std::nullopt;
    std::optional<StridedView> view = StridedView::dense(at.shape());
    for (auto op = chain.rbegin(); view && op != chain.rend(); ++op)
      if (*op) view = view->through(**op);
    if (!view || view->dims().size() < 2) return std::nullopt;
    std::vector<std::int64_t> whole(shape.dims().begin(), shape.dims().end() - 2);
    const Shape own = view->shape();
    whole.insert(whole.end(), own.dims().end() - 2, own.dims().end());
    view = view->broadcast(Shape(whole));
    return view ? std::optional(operand_of(at.index, *view)) : std::nullopt;
  }

  /// Skips where(is_nan(weights), 0, weights): `weights` becomes its result. False where the softmax's result
  /// has other uses.
  bool guard(std::size_t& weights) {
    const std::vector<GroupOp>& ops = group_.ops();
    if (group_.uses_of_op(weights) == 1) return true;
    const auto is_weights = [&](const Operand& o) { return o.is_op() && o.index == weights; };
    for (std::size_t i = weights + 1; i < ops.size(); ++i) {
      const GroupOp& op = ops[i];
      if (op.kind() != "where" || !op.input(0).is_op() || !is_weights(op.input(2))) continue;
      const std::size_t test = op.input(0).index;
      if (ops[test].kind() != "is_nan" || !is_weights(ops[test].input(0)) || group_.uses_of_op(test) != 1 ||
          group_.uses_of_op(weights) != 2 || scalar_value(op.input(1).constant) != 0.0F)
        return false;
      seen_.insert({test, i});
      attention_.zero_for_nan = true;
      weights = i;
      return true;
    }
    return false;
  }

  /// From the softmax down to the group's output.
  bool result(std::size_t softmax) {
    const std::vector<GroupOp>& ops = group_.ops();
    const auto reads = [](const GroupOp& op, std::size_t input, std::size_t from) {
      return op.input(input).is_op() && op.input(input).index == from;
    };
    if (!guard(softmax)) return false;
    std::size_t at = ops.size();
    for (std::size_t i = softmax + 1; i < ops.size(); ++i)
      if (ops[i].kind() == "matmul" && reads(ops[i], 0, softmax)) at = i;
    if (at == ops.size() || group_.uses_of_op(softmax) != 1 || ops[at].type().shape().rank() < 3 ||
        leading(ops[at].type().shape()) != leading(scores_))
      return false;
    seen_.insert(at);
    values_ = true;
    const auto v = source(ops[at].input(1), ops[at].type().shape());
    if (!v) return false;
    attention_.v = *v;
    attention_.columns = ops[at].type().shape().back();
    std::vector<const GroupOp*> chain;
    const std::size_t last = group_.outputs().front().index;
    for (std::size_t next = at; next != last;) {
      const auto reader = std::ranges::find_if(ops, [&](const GroupOp& op) { return reads(op, 0, next); });
      if (reader == ops.end() || chain.size() > max_chain) return false;
      next = static_cast<std::size_t>(reader - ops.begin());
      seen_.insert(next);
      chain.push_back(&*reader);
    }
    std::optional<StridedView> view = StridedView::dense(ops[last].type().shape());
    for (auto op = chain.rbegin(); view && op != chain.rend(); ++op) view = view->before(**op);
    if (!view) return false;
    attention_.result = operand_of(0, *view);
    return ops[last].type().dtype() == attention_.type;
  }

  const Group& group_;
  Shape scores_;
  Attention attention_;
  bool values_ = false; ///< Whether the operands being read come after the softmax (v).
  std::set<std::size_t> seen_;
};

// --- Choosing the nodes ---

using Chain = std::vector<const Node*>; ///< In order from the product upwards.

bool is_number(const Value* value) {
  return value && scalar_value(value->constant()).has_value();
}

/// The producer of a product's operand, if it can be absorbed: a node that moves elements, or a product with
/// one number.
const Node* mover_of(const Value* value, bool numbers, const Region* region) {
  const Node* node = value ? value->producer() : nullptr;
  if (!node || node->region() != region || node->outputs().size() != 1) return nullptr;
  static const std::set<std::string_view> movers{"transpose", "reshape", "slice", "expand"};
  if (movers.contains(node->kind())) return node;
  const bool scaled = (node->kind() == "mul" && (is_number(node->input(0)) || is_number(node->input(1)))) ||
                      (node->kind() == "div" && is_number(node->input(1)));
  return numbers && scaled ? node : nullptr;
}

const Value* data_of(const Node& node) {
  return node.kind() == "mul" && is_number(node.input(0)) ? node.input(1) : node.input(0);
}

/// The longest chain of nodes before `value` that can be expressed as one strided view.
Chain chain_of(const Value* value, bool numbers, const Region* region) {
  Chain chain;
  while (const Node* node = chain.size() < max_chain ? mover_of(value, numbers, region) : nullptr) {
    chain.push_back(node);
    value = data_of(*node);
  }
  for (; !chain.empty(); chain.pop_back()) {
    const Type& type = data_of(*chain.back())->type;
    if (!type.is_static()) continue;
    std::optional<StridedView> view = StridedView::dense(type.shape());
    for (auto node = chain.rbegin(); view && node != chain.rend(); ++node) {
      if ((*node)->kind() == "mul" || (*node)->kind() == "div") continue;
      const Group alone = Group::of(**node);
      view = alone.empty() ? std::nullopt : view->through(alone.ops().front());
    }
    if (view) break;
  }
  return chain;
}

const Node* only_reader(const Node& node) {
  const auto& uses = node.output()->uses();
  return uses.size() == 1 ? uses.front().node : nullptr;
}

/// Adds to `chain` the nodes from `value`'s producer up to the product of q and k, which comes last; false
/// where there is no such path.
bool score_chain(const Value* value, const Region* region, Chain& chain) {
  const Node* node = value ? value->producer() : nullptr;
  if (!node || node->region() != region || !only_reader(*node) || chain.size() == max_chain) return false;
  chain.push_back(node);
  if (node->kind() == "matmul") return true;
  if (node->kind() == "add") {
    const std::size_t length = chain.size();
    if (score_chain(node->input(0), region, chain)) return true;
    chain.resize(length);
    return score_chain(node->input(1), region, chain);
  }
  const bool passes = node->kind() == "mul" || node->kind() == "div" || node->kind() == "reshape";
  return passes && score_chain(data_of(*node), region, chain);
}

/// Matches what may stand between the softmax and the product with v: nothing, or a replacement of NaN
/// weights. Returns the product, with the nodes before it in `chain`; null where there is none.
const Node* product_with_values(const Node& softmax, Chain& chain) {
  const Value* weights = softmax.output();
  if (weights->uses().size() == 2) {
    for (const Use& use : weights->uses())
      if (use.node && use.node->kind() == "is_nan") chain.push_back(use.node);
    const Node* where = chain.empty() ? nullptr : only_reader(*chain.front());
    if (!where || where->kind() != "where" || where->region() != softmax.region()) return nullptr;
    chain.push_back(where);
    weights = where->output();
  }
  const Node* product = weights->uses().size() == 1 ? weights->uses().front().node : nullptr;
  const bool fits = product && product->kind() == "matmul" && product->region() == softmax.region() &&
                    product->input(0) == weights;
  return fits ? product : nullptr;
}

/// Consecutive readers of the result that only move elements.
Chain movements_after(const Node& product) {
  Chain chain;
  for (const Node* node = only_reader(product);
       node && node->region() == product.region() && chain.size() < max_chain &&
       (node->kind() == "transpose" ||
        (node->kind() == "reshape" && node->input(0)->producer() == &product) ||
        (node->kind() == "reshape" && !chain.empty() && node->input(0)->producer() == chain.back()));
       node = only_reader(*node))
    chain.push_back(node);
  return chain;
}

/// Cuts each chain at the first node whose value has other readers.
std::set<const Node*> with_chains(std::vector<Chain> chains, const std::set<const Node*>& core) {
  for (;;) {
    std::set<const Node*> all = core;
    for (const Chain& chain : chains) all.insert(chain.begin(), chain.end());
    bool cut = false;
    for (Chain& chain : chains)
      for (std::size_t i = 0; i < chain.size(); ++i) {
        const bool own = std::ranges::all_of(
            chain[i]->output()->uses(), [&](const Use& use) { return use.node && all.contains(use.node); });
        if (own) continue;
        chain.resize(i);
        cut = true;
      }
    if (!cut) return all;
  }
}

} // namespace

double Attention::operations() const {
  return 2.0 * static_cast<double>(heads) * static_cast<double>(queries) * static_cast<double>(keys) *
         static_cast<double>(depth + columns);
}

double Attention::elements() const {
  return static_cast<double>(heads) * (static_cast<double>(queries + keys) * static_cast<double>(depth) +
                                       static_cast<double>(queries + keys) * static_cast<double>(columns));
}

std::optional<Attention> read_attention(const Group& group, std::string& reason) {
  auto attention = Reader(group).read();
  if (!attention) return std::nullopt;
  const bool sizes = attention->heads > 0 && attention->queries > 0 && attention->keys > 0 &&
                     attention->depth > 0 && attention->columns > 0;
  if (sizes) return attention;
  reason = "attention without elements";
  return std::nullopt;
}

std::vector<std::vector<const Node*>> propose_attention(const Node& anchor, const Target&) {
  if (anchor.kind() != "softmax") return {};
  Chain guard, scores;
  const Node* values = product_with_values(anchor, guard);
  if (!values || !score_chain(anchor.input(0), anchor.region(), scores)) return {};
  std::set<const Node*> core(scores.begin(), scores.end());
  core.insert(guard.begin(), guard.end());
  core.insert({&anchor, values});
  const Region* region = anchor.region();
  const Node& product = *scores.back();
  std::set<const Node*> all =
      with_chains({chain_of(product.input(0), true, region), chain_of(product.input(1), true, region),
                   chain_of(values->input(1), false, region)},
                  core);
  const Chain moved = movements_after(*values);
  all.insert(moved.begin(), moved.end());
  std::vector<std::vector<const Node*>> groups{{all.begin(), all.end()}};
  if (all != core) groups.emplace_back(core.begin(), core.end());
  return groups;
}

} // namespace lanner
