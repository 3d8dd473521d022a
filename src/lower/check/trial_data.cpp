#include "lower/check/trial_data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include <lanner/error.h>

#include "backends/group.h"
#include "base/check.h"
#include "base/limits/account.h"
#include "device/memory.h"
#include "graph/copy.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "lower/check/quick_products.h"
#include "lower/check/trial_parts.h"
#include "lower/check/trial_pictures.h"
#include "ops/interpreter/interpreter.h"
#include "ops/picture/picture.h"
#include "program/lowered/signature.h"
#include "program/lowered/work.h"
#include "program/weights/packing.h"

namespace lanner {
namespace {

/// Operations that the definition may spend on one trial: some tens of milliseconds.
constexpr double definition_work = 2e8;
constexpr double work_of_an_element = 16;
constexpr std::int64_t min_period = 3;

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Close to a normal distribution of deviation 1, within +-3.5: a sum of four uniform numbers.
  float normal() {
    const std::uint64_t bits = next();
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<float>((bits >> (16 * i)) & 0xffff);
    return (sum - 2 * 65535.0F) * (1.7320508F / 65536);
  }

private:
  std::uint64_t state_;
};

using Integers = TrialData::Integers;

/// Calls `write` for each element. Large operands take long, which the time of a check bounds.
template<typename T, typename Write>
void draw_each(Tensor& drawn, Write&& write) {
  constexpr std::size_t step = 1 << 16;
  std::size_t done = 0;
  for (T& value : drawn.as<T>()) {
    if (++done % step == 0) check_deadline();
    write(value);
  }
}

Integers integers_of(const Node& node) {
  return node.op().elementwise || is_group(node) ? Integers::counting : Integers::indexing;
}

Tensor random_integers(DType type, const Shape& shape, Integers kind, Random& random) {
  Tensor drawn = Tensor::allocate(DType::i32, shape);
  const bool bytes = type == DType::i8 || type == DType::u8;
  draw_each<std::int32_t>(drawn, [&](std::int32_t& value) {
    const auto bits = static_cast<std::uint32_t>(random.next() >> 40);
    if (type == DType::boolean)
      value = static_cast<std::int32_t>(bits % 2);
    else if (bytes)
      value = static_cast<std::int32_t>(bits % 256) - (type == DType::i8 ? 128 : 0);
    else if (kind == Integers::zero)
      value = 0;
    else
      value = static_cast<std::int32_t>(kind == Integers::counting ? 1 + bits % 9 : bits % 2);
  });
  return pack(drawn, of_type(type));
}

Tensor random_reals(DType type, const Shape& shape, bool positive, Random& random) {
  Tensor drawn = Tensor::allocate(DType::f32, shape);
  draw_each<float>(drawn, [&](float& value) {
    value = random.normal();
    if (positive) value = std::abs(value) + 0.125F;
  });
  return pack(drawn, of_type(type));
}

bool draws_integers(DType type) {
  return is_integer(type) || type == DType::boolean;
}

/// Whether so many elements are not finite that a comparison says little.
bool mostly_undefined(const std::vector<Tensor>& results) {
  for (const Tensor& result : results) {
    if (!result.defined() || !is_float(result.dtype())) continue; // unused
    const Tensor wide = pack(result, of_type(DType::f32));
    const auto values = wide.as<float>();
    const auto numbers = std::ranges::count_if(values, [](float value) { return std::isfinite(value); });
    if (!values.empty() && static_cast<std::size_t>(numbers) < values.size() / 4) return true;
  }
  return false;
}

/// The smallest type of whole bytes that holds all values of `type`.
DType whole_byte_type(DType type) {
  if (bit_width(type) % 8 == 0) return type;
  if (!is_integer(type)) return DType::f32;
  return is_signed(type) ? DType::i8 : DType::u8;
}

std::int64_t first_size(const Value* value) {
  return value && value->type.rank() > 0 ? value->type.shape()[0] : 0;
}

/// Whether each row of its result depends on one row of its first operand.
bool sums_rows(const GroupOp& op) {
  const Traits& traits = op.node->op().traits;
  return traits.pattern == Pattern::contraction && !traits.per_image && traits.summed &&
         !op.attributes().flag("transA");
}

/// Inputs of a group that have the result's batch axis; nothing where images are not treated alike, or where
/// a constant has a batch axis.
std::optional<std::set<std::size_t>> repeated_inputs(const Node& node) {
  const Group group = Group::of(node);
  if (group.empty() || node.outputs().size() != 1) return std::nullopt;
  const Type& result = node.output()->type;
  if (result.rank() == 0) return std::nullopt;
  const auto& ops = group.ops();
  std::set<std::size_t> found, whole;
  const auto add = [&](const Operand& operand) {
    if (!operand.is_input()) return;
    const bool image = operand.value->type.rank() == result.rank() &&
                       operand.shape()[0] == result.shape()[0] && result.shape()[0] > 1;
    (image ? found : whole).insert(operand.index);
  };
  const Traits& traits = ops[0].node->op().traits;
  const bool window = traits.per_image, product = sums_rows(ops[0]);
  if (!window && !product && !ops[0].node->op().elementwise) return std::nullopt;
  for (std::size_t o = 0; o < ops.size(); ++o) {
    if (o > 0 && !ops[o].node->op().elementwise) return std::nullopt;
    for (std::size_t i = 0; i < ops[o].inputs.size(); ++i) {
      const bool weights = o == 0 && i > 0 && (window || (product && i == 1 && result.rank() == 2));
      if (weights && ops[o].input(i).is_input())
        whole.insert(ops[o].input(i).index);
      else
        add(ops[o].input(i));
    }
  }
  const auto spoils = [&](std::size_t i) { return whole.contains(i) || node.input(i)->constant(); };
  if (found.empty() || std::ranges::any_of(found, spoils)) return std::nullopt;
  return found;
}

/// Non-constant reals multiplied by 0.5; operands that shapes and indices depend on are unchanged.
std::vector<Tensor> halved(const Node& node, const std::vector<Tensor>& operands) {
  std::map<const Value*, Tensor> made; // an operand that is read twice is one value
  std::vector<Tensor> result = operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].defined() || node.input(i)->constant() || !is_float(operands[i].dtype())) continue;
    Tensor& half = made[node.input(i)];
    if (!half.defined()) {
      Tensor wide = Tensor::allocate(DType::f64, operands[i].shape());
      copy_tensor(operands[i], wide);
      for (double& value : wide.as<double>()) value /= 2;
      half = pack(wide, of_type(operands[i].dtype()));
    }
    result[i] = half;
  }
  return result;
}

} // namespace

bool is_batch_outermost(const Layout& layout) {
  return (layout.order.empty() || layout.order[0] == 0) &&
         std::ranges::none_of(layout.blocks, [](const Layout::Block& block) { return block.dim == 0; });
}

Tensor repeated(const Tensor& sample, const Shape& shape, const Storage& storage,
                const ops::StoredValues& values) {
  const DType type = storage.dtype.value_or(sample.dtype());
  if (sample.shape() == shape) return pack(sample, storage, values).to(storage.device);
  const bool whole_bytes = bit_width(type) % 8 == 0;
  Storage as_drawn = storage;
  as_drawn.device = {};
  if (!is_batch_outermost(storage.layout) || !whole_bytes || storage.quantization) {
    const DType drawn = whole_byte_type(sample.dtype());
    const Tensor all = repeated(pack(sample, of_type(drawn)), shape, of_type(drawn));
    return pack(all, as_drawn, values).to(storage.device);
  }
  const Tensor part = pack(sample, as_drawn).to(storage.device);
  Tensor all = Tensor::allocate(type, shape, storage.layout, storage.device);
  auto* const begin = static_cast<std::byte*>(all.data());
  const std::uint64_t bytes = all.bytes();
  copy_memory({begin, storage.device}, {const_cast<void*>(part.data()), storage.device}, part.bytes());
  // Doubling copies, each a multiple of the period.
  for (std::uint64_t done = part.bytes(); done < bytes;) {
    const std::uint64_t more = std::min(done, bytes - done);
    copy_memory({begin + done, storage.device}, {begin, storage.device}, more);
    done += more;
  }
  synchronize(storage.device);
  return all;
}

TrialData::TrialData(const Node& node, int threads, const Control& control)
    : threads_(threads), control_(control), integers_(integers_of(node)),
      repeated_(node.inputs().size(), false) {
  for (const Value* value : node.inputs()) shapes_.push_back(value ? value->type.shape() : Shape{});
  choose_period(node);
  copy_node(node);
  make_samples();
  if (integers_ == Integers::indexing && draws_indices()) settle_indices();
}

TrialData::TrialData(const Node& node, std::vector<Tensor> operands, int threads, const Control& control)
    : threads_(threads), control_(control), integers_(integers_of(node)), given_(true),
      repeated_(node.inputs().size(), false), samples_(std::move(operands)) {
  for (const Value* value : node.inputs()) shapes_.push_back(value ? value->type.shape() : Shape{});
  copy_node(node);
}

TrialData::TrialData(const Node& node, const TrialData& other)
    : threads_(other.threads_), control_(other.control_), integers_(other.integers_),
      positive_(other.positive_), given_(other.given_), seed_(other.seed_ + 1), period_(other.period_),
      repeated_(other.repeated_), shapes_(other.shapes_) {
  if (given_) samples_ = halved(node, other.samples_);
  copy_node(node);
  if (!given_) make_samples();
}

bool TrialData::draws_indices() const {
  return std::ranges::any_of(node_->inputs(), [](const Value* value) {
    return value && !value->constant() && is_integer(value->type.dtype()) &&
           bit_width(value->type.dtype()) > 8;
  });
}

/// Where 0 and 1 are not both valid indices, all indices are 0.
void TrialData::settle_indices() {
  try {
    static_cast<void>(compute(samples_));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    integers_ = Integers::zero;
    make_samples();
  }
}

TrialData::~TrialData() = default;

void TrialData::choose_period(const Node& node) {
  const std::int64_t images = node.outputs().empty() ? 0 : first_size(node.output());
  if (images <= min_period) return;
  double work = static_cast<double>(flops_of(node));
  for (const auto& output : node.outputs())
    work += work_of_an_element * static_cast<double>(output->type.shape().elements());
  if (work <= definition_work) return;
  const auto inputs = repeated_inputs(node);
  if (!inputs) return;
  const auto fitting = static_cast<std::int64_t>(definition_work / (work / static_cast<double>(images)));
  // Odd, so that it divides no tile.
  const std::int64_t period = std::max(fitting - (fitting % 2 == 0 ? 1 : 0), min_period);
  if (period >= images) return;
  period_ = period;
  for (std::size_t i : *inputs) repeated_[i] = true;
}

/// Copies the node, which may be destroyed before this data.
void TrialData::copy_node(const Node& node) {
  graph_ = std::make_unique<Graph>(node.region()->graph().ops(), "trial");
  NodeCopier copier(graph_->body());
  std::set<const Value*> mapped;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* value = node.inputs()[i];
    if (!value || !mapped.insert(value).second) continue;
    copier.map(value, value->constant() ? graph_->constant(constant(node, i))
                                        : graph_->add_input("", Type(value->type.dtype(), sample_shape(i))));
  }
  Node* copy = copier.copy(node);
  node_ = copy;
  for (std::size_t o = 0; o < copy->outputs().size(); ++o) {
    Value* output = copy->output(o);
    output->storage = {};
    if (period_ > 0) output->type = Type{};
    if (!node.output(o)->unused()) graph_->add_output(fmt::format("{}", o), output);
  }
  if (period_ > 0) infer_types(*graph_);
}

/// A lowered node's constants are packed for its kernel; operands passed for them are not.
const Tensor& TrialData::constant(const Node& node, std::size_t i) const {
  return given_ ? samples_.at(i) : *node.input(i)->constant();
}

Shape TrialData::sample_shape(std::size_t i) const {
  if (!repeated_[i]) return shapes_[i];
  std::vector<std::int64_t> sizes = shapes_[i].dims();
  sizes[0] = period_;
  return Shape(std::move(sizes));
}

/// Throws before drawing any operand where the node's values exceed the memory limit.
void TrialData::check_room() const {
  double bytes = 0;
  const auto add = [&](const Type& type) {
    if (!type.is_static()) return;
    double elements = 1;
    for (const Dim& dim : type.dims()) elements *= static_cast<double>(dim.value());
    bytes += elements * static_cast<double>(bit_width(type.dtype())) / 8;
  };
  const auto& parameters = graph_->body().parameters();
  for (const auto& parameter : parameters) add(parameter->type);
  for (const auto& output : node_->outputs())
    if (!output->unused()) add(output->type);
  constexpr double most = 9e18;
  const Charge room(current_account(), static_cast<std::uint64_t>(std::min(bytes, most)));
}

void TrialData::make_samples() {
  samples_.clear();
  check_room();
  std::map<const Value*, Tensor> drawn; // an operand that is read twice is one value
  for (std::size_t i = 0; i < node_->inputs().size(); ++i) {
    const Value* value = node_->inputs()[i];
    if (!value || value->constant()) {
      samples_.push_back(value ? *value->constant() : Tensor{});
      continue;
    }
    Tensor& sample = drawn[value];
    if (!sample.defined()) {
      Random random(seed_ * node_->inputs().size() + i + 1);
      const DType type = value->type.dtype();
      if (node_->kind() == ops::picture_kind)
        sample = drawn_pictures(*node_, sample_shape(i)[0], seed_, {});
      else
        sample = draws_integers(type) ? random_integers(type, sample_shape(i), integers_, random)
                                      : random_reals(type, sample_shape(i), positive_, random);
    }
    samples_.push_back(sample);
  }
  stored_.clear();
  stored_bytes_ = 0;
  expected_.clear();
}

ops::StoredValues TrialData::values(const Node& node) const {
  return [this, &node](const Value& value) {
    if (value.constant()) return ops::stored_constant(value);
    const auto found = std::ranges::find(node.inputs(), &value);
    check(found != node.inputs().end(), ErrorCode::internal,
          "tactic of {}: storage names %{}, which is not an input of the node", node.label(), value.name());
    return samples_.at(static_cast<std::size_t>(found - node.inputs().begin()));
  };
}

Tensor TrialData::input(std::size_t i, const Storage& storage, const Node& node) {
  // Each form of a large operand is one more activation. A GPU has room, and copies to it take time.
  const std::uint64_t most_kept = storage.device.is_host() ? 64 << 20 : std::uint64_t{1} << 30;
  const std::string key = fmt::format("{} {}", i, storage_key(storage, node));
  if (const auto known = stored_.find(key); known != stored_.end()) return known->second;
  if (stored_bytes_ > most_kept) {
    stored_.clear();
    stored_bytes_ = 0;
  }
  const Tensor made = made_input(i, storage, node);
  if (made.data() != samples_.at(i).data()) stored_bytes_ += made.bytes();
  return stored_[key] = made;
}

Tensor TrialData::made_input(std::size_t i, const Storage& storage, const Node& node) {
  // Pictures on a GPU: records on the host point to them.
  if (node_->kind() == ops::picture_kind && !given_ && !storage.device.is_host()) {
    far_pictures_ = drawn_pictures(*node_, shapes_.at(i)[0], seed_, storage.device);
    return far_pictures_.to(storage.device);
  }
  if (storage.within) {
    // The gaps between its slices are filled with NaN.
    const DType type = storage.dtype.value_or(samples_.at(i).dtype());
    return spread_part(repeated(samples_.at(i), shapes_.at(i), of_type(type)), storage, 0xFF);
  }
  return repeated(samples_.at(i), shapes_.at(i), storage, values(node));
}

Tensor TrialData::rounded(std::size_t i, const Storage& storage, const Node& node) const {
  const Tensor& sample = samples_[i];
  if (storage.quantization) {
    Storage plain = storage;
    plain.layout = {};
    return ops::reals_of(pack(sample, plain, values(node)), plain, sample.dtype(), values(node));
  }
  if (!storage.dtype || *storage.dtype == sample.dtype()) return sample;
  return pack(pack(sample, of_type(*storage.dtype)), of_type(sample.dtype()));
}

std::vector<Tensor> TrialData::compute(const std::vector<Tensor>& operands) const {
  std::vector<Item> held(operands.size());
  std::vector<const Item*> arguments(operands.size(), nullptr);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].defined()) continue;
    held[i].tensor = operands[i];
    arguments[i] = &held[i];
  }
  NodeRunOptions options{.threads = threads_, .control = &control_};
  // With operands from the caller the definition itself is the reference.
  if (!given_)
    options.instead = [&](const Node& node, std::span<const Item* const> inputs) {
      return quick_product(node, inputs, threads_);
    };
  std::vector<Tensor> results;
  for (Item& item : run_node(*node_, arguments, options)) results.push_back(std::move(item.tensor));
  return results;
}

const std::vector<Tensor>& TrialData::expected(const Tactic& tactic, const Node& node) {
  std::string key;
  for (const Storage& storage : tactic.inputs)
    key += storage.quantization ? storage_key(storage, node) + " "
                                : fmt::format("{} ", storage.dtype ? to_string(*storage.dtype) : "");
  const auto known = expected_.find(key);
  if (known != expected_.end()) return known->second;
  const auto results = [&] {
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < samples_.size(); ++i)
      operands.push_back(samples_[i].defined() ? rounded(i, tactic.inputs.at(i), node) : Tensor{});
    return compute(operands);
  };
  std::vector<Tensor> made = results();
  if (!given_ && !positive_ && mostly_undefined(made)) {
    positive_ = true;
    make_samples();
    made = results();
  }
  return expected_[key] = std::move(made);
}

} // namespace lanner
