// einsum becomes the sums, transposes and products that it stands for: these have kernels and fuse, einsum
// does not (docs/decisions/006).

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "ops/product/einsum.h"
#include "passes/passes.h"
#include "passes/rewriting/reshape_target.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/transposes.h"
#include "tensor/half_types.h"

namespace lanner::passes {

namespace {

using ops::EinsumLabel;
using Labels = std::vector<EinsumLabel>;

constexpr EinsumLabel no_label = SIZE_MAX; // Label of an axis of size 1 that the equation does not have.

bool holds(const Labels& labels, EinsumLabel label) {
  return std::ranges::find(labels, label) != labels.end();
}

template<typename Keep>
Labels filtered(const Labels& labels, Keep&& keep) {
  Labels kept;
  std::ranges::copy_if(labels, std::back_inserter(kept), keep);
  return kept;
}

Labels joined(std::initializer_list<Labels> parts) {
  Labels all;
  for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Labels head(const Labels& group) {
  return Labels(group.begin(), group.begin() + (group.empty() ? 0 : 1));
}

/// A value with named axes and a list of steps to apply to it. No node is created before emit, since with
/// symbolic sizes a later step may have no reshape target.
class AxisPath {
public:
  AxisPath(Value* value, Type type, Labels labels)
      : value_(value), type_(std::move(type)), labels_(std::move(labels)) {}

  const Labels& labels() const { return labels_; }
  const Type& type() const { return type_; }
  const Value* value() const { return value_; }
  const Dim& size(EinsumLabel label) const { return type_.dims()[index_of(label)]; }

  /// By `reduce_sum` or `squeeze`.
  void remove(std::string_view kind, const Labels& gone);
  void order(const Labels& wanted);
  /// Adds axes of size 1 at these positions of the result.
  void insert(const std::vector<std::int64_t>& positions);
  /// Merges a group of axes into its first; false where no reshape target expresses that.
  bool merge(const Labels& group);
  bool reshape(Dims to, Labels labels);
  /// Axes of `lead`, then one axis for each group.
  bool gather(const Labels& lead, const Labels& first, const Labels& second);
  /// As an operand of elementwise nodes whose other operands have the axes `wanted`.
  void align(const Labels& wanted);

  /// Rank of the steps' copy cost. An operand of a product needs no copy when only its last two axes are
  /// swapped.
  int cost(bool is_operand) const;
  Value* emit(Node& before, Value* value) const;
  Value* emit(Node& before) const { return emit(before, value_); }

private:
  struct Step {
    std::string_view kind;
    std::vector<std::int64_t> numbers; ///< Axes, permutation or target.
    Type from, to;
  };

  std::size_t index_of(EinsumLabel label) const {
    return static_cast<std::size_t>(std::ranges::find(labels_, label) - labels_.begin());
  }
  bool are_adjacent(const Labels& group) const {
    return group.empty() ||
           std::search(labels_.begin(), labels_.end(), group.begin(), group.end()) != labels_.end();
  }
  void add(std::string_view kind, std::vector<std::int64_t> numbers, Dims to, Labels labels);

  Value* value_;
  Type type_;
  Labels labels_;
  std::vector<Step> steps_;
};

void AxisPath::add(std::string_view kind, std::vector<std::int64_t> numbers, Dims to, Labels labels) {
  steps_.push_back({kind, std::move(numbers), type_, type_.with_dims(std::move(to))});
  type_ = steps_.back().to;
  labels_ = std::move(labels);
}

void AxisPath::remove(std::string_view kind, const Labels& gone) {
  std::vector<std::int64_t> axes;
  Dims to;
  Labels labels;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    if (holds(gone, labels_[i])) {
      axes.push_back(static_cast<std::int64_t>(i));
    } else {
      to.push_back(type_.dims()[i]);
      labels.push_back(labels_[i]);
    }
  }
  if (!axes.empty()) add(kind, std::move(axes), std::move(to), std::move(labels));
}

void AxisPath::order(const Labels& wanted) {
  ops::Permutation p;
  for (const EinsumLabel label : wanted) p.push_back(static_cast<std::int64_t>(index_of(label)));
  if (!ops::is_identity(p)) add("transpose", p, ops::permuted(type_, p).dims(), wanted);
}

void AxisPath::insert(const std::vector<std::int64_t>& positions) {
  if (positions.empty()) return;
  Dims to = type_.dims();
  Labels labels = labels_;
  for (const std::int64_t at : positions) {
    to.insert(to.begin() + at, Dim(1));
    labels.insert(labels.begin() + at, no_label);
  }
  add("unsqueeze", positions, std::move(to), std::move(labels));
}

bool AxisPath::reshape(Dims to, Labels labels) {
  auto target = reshape_target(type_, type_.with_dims(to));
  if (target) add("reshape", std::move(*target), std::move(to), std::move(labels));
  return target.has_value();
}

bool AxisPath::merge(const Labels& group) {
  if (group.size() < 2) return true;
  const auto at = static_cast<std::ptrdiff_t>(index_of(group.front()));
  const auto count = static_cast<std::ptrdiff_t>(group.size());
  Dims to = type_.dims();
  Labels labels = labels_;
  to[static_cast<std::size_t>(at)] = product(Dims(to.begin() + at, to.begin() + at + count));
  to.erase(to.begin() + at + 1, to.begin() + at + count);
  labels.erase(labels.begin() + at + 1, labels.begin() + at + count);
  return reshape(std::move(to), std::move(labels));
}

bool AxisPath::gather(const Labels& lead, const Labels& first, const Labels& second) {
  // Groups of adjacent axes are merged first: the transpose that follows often swaps the last two axes only.
  if (!are_adjacent(first) || !are_adjacent(second)) order(joined({lead, first, second}));
  if (!merge(first) || !merge(second)) return false;
  order(joined({lead, head(first), head(second)}));
  const auto at = static_cast<std::int64_t>(lead.size());
  if (first.empty()) insert({at});
  if (second.empty()) insert({at + 1});
  return true;
}

void AxisPath::align(const Labels& wanted) {
  const Labels own = labels_;
  order(filtered(wanted, [&](EinsumLabel label) { return holds(own, label); }));
  std::vector<std::int64_t> missing;
  std::int64_t at = 0;
  for (const EinsumLabel label : wanted) {
    // Broadcasting adds missing leading axes by itself.
    if (!holds(own, label) && at == 0) continue;
    if (!holds(own, label)) missing.push_back(at);
    ++at;
  }
  insert(missing);
}

int AxisPath::cost(bool is_operand) const {
  constexpr int view = 1, exchange = 2, copy = 8;
  if (value_ && value_->constant()) return 0;
  int total = 0;
  for (const Step& step : steps_) {
    if (step.kind == "transpose" && !ops::moves_nothing(step.from, step.numbers)) {
      ops::Permutation p = step.numbers;
      std::swap(p[p.size() - 2], p[p.size() - 1]);
      total += is_operand && ops::is_identity(p) ? exchange : copy;
    } else {
      total += view;
    }
  }
  return total;
}

Value* AxisPath::emit(Node& before, Value* value) const {
  for (const Step& step : steps_) {
    if (step.kind == "transpose") {
      value = emit_transpose(before, value, step.numbers);
    } else if (step.kind == "reshape") {
      value = emit_reshape(before, value, step.numbers, step.to);
    } else {
      AttributeMap attributes;
      if (step.kind == "reduce_sum") attributes.set("keepdims", std::int64_t{0});
      const std::vector<Value*> inputs{value, integers_before(before, step.numbers, "axes")};
      value = emit_before(before, step.kind, inputs, std::move(attributes), step.to);
    }
  }
  return value;
}

/// Two operands whose axes are in both and the output (`batch`), in both but not the output (`summed`), or in
/// one and the output (free); all but `summed` in the output's order.
struct Contraction {
  AxisPath left, right;
  Labels batch, left_free, right_free, summed, output;
};

/// Where the sizes of a label differ, one of them is 1, and that axis is removed. False where that is known
/// only at run time.
bool drop_repeated_axes(AxisPath& left, AxisPath& right) {
  Labels from_left, from_right;
  for (const EinsumLabel label : left.labels()) {
    if (!holds(right.labels(), label) || left.size(label) == right.size(label)) continue;
    if (left.size(label) == Dim(1))
      from_left.push_back(label);
    else if (right.size(label) == Dim(1))
      from_right.push_back(label);
    else
      return false;
  }
  left.remove("squeeze", from_left);
  right.remove("squeeze", from_right);
  return true;
}

std::optional<Contraction> read_contraction(AxisPath left, AxisPath right, const Labels& output) {
  if (!drop_repeated_axes(left, right)) return std::nullopt;
  const auto own = [&](const AxisPath& one, const AxisPath& other) {
    return filtered(one.labels(), [&](EinsumLabel label) {
      return !holds(other.labels(), label) && !holds(output, label);
    });
  };
  const Labels own_left = own(left, right), own_right = own(right, left);
  // A sum before the product would round f16 and bf16.
  if (is_half(left.type().dtype()) && !(own_left.empty() && own_right.empty())) return std::nullopt;
  left.remove("reduce_sum", own_left);
  right.remove("reduce_sum", own_right);
  const auto free = [&](const AxisPath& one, const AxisPath& other) {
    return filtered(output, [&](EinsumLabel label) {
      return holds(one.labels(), label) && !holds(other.labels(), label);
    });
  };
  const Labels batch = filtered(
      output, [&](EinsumLabel label) { return holds(left.labels(), label) && holds(right.labels(), label); });
  // Transposing a constant costs nothing at run time.
  const AxisPath& pattern = left.value()->constant() ? right : left;
  const Labels summed = filtered(pattern.labels(), [&](EinsumLabel label) { return !holds(output, label); });
  return Contraction{left, right, batch, free(left, right), free(right, left), summed, output};
}

Contraction exchanged(const Contraction& c) {
  return {c.right, c.left, c.batch, c.right_free, c.left_free, c.summed, c.output};
}

/// One way to express a contraction as matmul.
struct MatmulForm {
  AxisPath left, right;
  Type product;
  AxisPath result;
  int cost = 0;
};

/// From matmul's result to the output: rows and columns are one axis each, preceded by `lead`.
std::optional<AxisPath> result_path(const Contraction& c, Type type, const Labels& lead, const Labels& rows,
                                    const Labels& columns) {
  const auto name = [](const Labels& group) { return group.empty() ? no_label : group.front(); };
  AxisPath result(nullptr, std::move(type), joined({lead, {name(rows), name(columns)}}));
  if (rows.size() < 2 && columns.size() < 2) {
    result.remove("squeeze", {no_label});
  } else {
    const Labels all = joined({lead, rows, columns});
    Dims to;
    for (const EinsumLabel label : all)
      to.push_back(holds(c.left.labels(), label) ? c.left.size(label) : c.right.size(label));
    if (!result.reshape(std::move(to), all)) return std::nullopt;
  }
  result.order(c.output);
  return result;
}

/// The first `left_outer` or `right_outer` free axes of one operand stay separate, and matmul broadcasts the
/// other operand along them.
std::optional<MatmulForm> matmul_form(const Contraction& c, std::size_t left_outer, std::size_t right_outer) {
  constexpr int repeated = 32; // Few matmul kernels broadcast an operand along some of several leading axes.
  const auto split = [](const Labels& free, std::size_t count) {
    const auto at = free.begin() + static_cast<std::ptrdiff_t>(count);
    return std::pair(Labels(free.begin(), at), Labels(at, free.end()));
  };
  const auto [left_apart, rows] = split(c.left_free, left_outer);
  const auto [right_apart, columns] = split(c.right_free, right_outer);
  AxisPath left = c.left, right = c.right;
  if (!left.gather(joined({left_apart, c.batch}), rows, c.summed) ||
      !right.gather(joined({right_apart, c.batch}), c.summed, columns))
    return std::nullopt;
  const Labels lead = joined({left_apart, right_apart, c.batch});
  const Dims& longer = (right_apart.empty() ? left : right).type().dims();
  Dims dims(longer.begin(), longer.begin() + static_cast<std::ptrdiff_t>(lead.size()));
  dims.push_back(left.type().dims()[left.type().rank() - 2]);
  dims.push_back(right.type().dims().back());
  const Type product = left.type().with_dims(std::move(dims));
  auto result = result_path(c, product, lead, rows, columns);
  if (!result) return std::nullopt;
  int cost = left.cost(true) + right.cost(true) + result->cost(false);
  if (lead.size() > c.batch.size() && !c.batch.empty()) cost += repeated;
  return MatmulForm{std::move(left), std::move(right), product, std::move(*result), cost};
}

std::optional<MatmulForm> best_matmul_form(const Contraction& given) {
  std::optional<MatmulForm> best;
  const auto offer = [&](std::optional<MatmulForm> form) {
    if (form && (!best || form->cost < best->cost)) best = std::move(form);
  };
  for (const Contraction& c : {given, exchanged(given)}) {
    offer(matmul_form(c, 0, 0));
    for (std::size_t i = 1; i < c.left_free.size(); ++i) offer(matmul_form(c, i, 0));
    for (std::size_t i = 1; i < c.right_free.size(); ++i) offer(matmul_form(c, 0, i));
  }
  return best;
}

// A product of one-row by one-column matrices is slower than mul and a sum. Halves keep it: mul would round.
// round.
bool is_dots(const Contraction& c) {
  return c.left_free.empty() && c.right_free.empty() && !c.batch.empty() && !is_half(c.left.type().dtype());
}

Value* emit_dots(Node& node, Contraction c) {
  if (c.left.value()->constant()) std::swap(c.left, c.right);
  c.right.order(c.left.labels());
  AxisPath result(nullptr, c.left.type(), c.left.labels());
  result.remove("reduce_sum", c.summed);
  result.order(c.output);
  const std::vector<Value*> factors{c.left.emit(node), c.right.emit(node)};
  return result.emit(node, emit_before(node, "mul", factors, {}, c.left.type()));
}

Value* emit_product(Node& node, Contraction c) {
  const Type& type = node.output()->type;
  if (c.summed.empty()) {
    c.left.align(c.output);
    c.right.align(c.output);
    const std::vector<Value*> factors{c.left.emit(node), c.right.emit(node)};
    return emit_before(node, "mul", factors, {}, type);
  }
  if (is_dots(c)) return emit_dots(node, std::move(c));
  const auto form = best_matmul_form(c);
  if (!form) return nullptr;
  const std::vector<Value*> operands{form->left.emit(node), form->right.emit(node)};
  return form->result.emit(node, emit_before(node, "matmul", operands, {}, form->product));
}

Value* emit_single(Node& node, AxisPath path, const Labels& output) {
  path.remove("reduce_sum",
              filtered(path.labels(), [&](EinsumLabel label) { return !holds(output, label); }));
  path.order(output);
  Value* made = path.emit(node);
  if (made != path.value()) return made;
  return emit_before(node, "identity", std::vector<Value*>{made}, {}, node.output()->type);
}

// matmul is not defined for other types, and without elements a reshape may have no target.
bool takes(const Value* operand) {
  static constexpr DType types[] = {DType::f16, DType::bf16, DType::f32, DType::f64,
                                    DType::i32, DType::i64,  DType::u32, DType::u64};
  return operand->type.ranked() && std::ranges::find(types, operand->type.dtype()) != std::end(types) &&
         std::ranges::find(operand->type.dims(), Dim(0)) == operand->type.dims().end();
}

// Diagonals and more than two operands are left alone: intermediate products would round halves.
bool decompose(Node& node) {
  if (node.kind() != "einsum" || node.own_inputs().size() > 2 || !node.output()->type.ranked()) return false;
  if (!std::ranges::all_of(node.own_inputs(), takes)) return false;
  std::vector<std::size_t> ranks;
  for (const Value* operand : node.own_inputs()) ranks.push_back(operand->type.rank());
  const auto terms = ops::parse_equation(node.attributes.get<std::string>("equation"), ranks);
  std::vector<AxisPath> paths;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    Labels sorted = terms.operands[i];
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) return false;
    paths.emplace_back(node.input(i), node.input(i)->type, terms.operands[i]);
  }
  Value* result = nullptr;
  if (paths.size() == 1) {
    result = emit_single(node, paths[0], terms.output);
  } else if (auto contraction = read_contraction(paths[0], paths[1], terms.output)) {
    result = emit_product(node, std::move(*contraction));
  }
  if (!result) return false;
  // The declared type may be more precise than the one inferred from the operands.
  result->type = node.output()->type;
  replace(node, result);
  return true;
}

} // namespace

bool decompose_einsum(Graph& graph) {
  return for_each_node(graph, decompose);
}

} // namespace lanner::passes
