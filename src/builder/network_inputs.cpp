#include "builder/network_inputs.h"

#include <algorithm>
#include <limits>
#include <random>

#include <lanner/error.h>

#include "base/check.h"
#include "engine/state.h"
#include "graph/op.h"
#include "lower/check/trial_pictures.h"
#include "ops/picture/picture.h"
#include "ops/table/named.h"
#include "program/weights/packing.h"

namespace lanner {
namespace {

using Generator = std::mt19937_64;

constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();

/// Length of the axis of input 0 that input 1 of a node indexes.
std::int64_t indexed_size(const Node& node) {
  const Type& data = node.input(0)->type;
  if (!data.is_static() || data.rank() == 0) return unbounded;
  const auto rank = static_cast<std::int64_t>(data.rank());
  std::int64_t axis = node.attributes.integer("axis", 0);
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? data.shape()[static_cast<std::size_t>(axis)] : unbounded;
}

/// The smallest such length among nodes that read `value` as indices, directly or through reshapes and casts.
std::int64_t index_bound(const Value& value, int depth = 0) {
  constexpr int deepest = 16;
  std::int64_t found = unbounded;
  if (depth == deepest) return found;
  for (const Use& use : value.uses()) {
    if (!use.node) continue;
    const Node& node = *use.node;
    const int index_input = node.op().traits.index_input;
    if (index_input > 0 && use.index == static_cast<std::size_t>(index_input))
      found = std::min(found, indexed_size(node));
    if (only_moves(node) && (use.index == 0 || ops::is_concat(node)))
      for (const auto& output : node.outputs()) found = std::min(found, index_bound(*output, depth + 1));
  }
  return found;
}

Tensor drawn_reals(DType type, const Shape& shape, Generator& generator) {
  Tensor wide = Tensor::allocate(DType::f64, shape);
  for (double& value : wide.as<double>()) {
    double sum = 0; // of four uniform numbers: never far out
    for (int i = 0; i < 4; ++i) sum += static_cast<double>(generator() >> 11) * 0x1p-53;
    value = (sum - 2) * 1.7320508075688772;
  }
  return pack(wide, of_type(type));
}

Tensor drawn_integers(DType type, const Shape& shape, std::int64_t least, std::int64_t count,
                      Generator& generator) {
  Tensor wide = Tensor::allocate(DType::i64, shape);
  for (std::int64_t& value : wide.as<std::int64_t>())
    value = least + static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(count));
  return pack(wide, of_type(type));
}

Tensor drawn_words(const Shape& shape, Generator& generator) {
  static constexpr const char* words[] = {"", "a", "Lanner", "12", "two words"};
  Tensor tensor = Tensor::allocate(DType::string, shape);
  for (std::string& word : tensor.as<std::string>()) word = words[generator() % std::size(words)];
  return tensor;
}

bool is_place(DType type) {
  return is_integer(type) && bit_width(type) > 8;
}

Tensor drawn(const Value& input, const InputDraw& draw, Generator& generator) {
  const DType type = input.type.dtype();
  const Shape shape = input.type.shape();
  if (type == DType::string) return drawn_words(shape, generator);
  if (type == DType::boolean) return drawn_integers(type, shape, 0, 2, generator);
  if (!is_integer(type)) return drawn_reals(type, shape, generator);
  if (!is_place(type)) {
    const std::int64_t count = std::int64_t{1} << bit_width(type);
    return drawn_integers(type, shape, is_signed(type) ? -count / 2 : 0, count, generator);
  }
  const std::int64_t known = index_bound(input);
  std::int64_t count = known == unbounded ? 2 : std::max<std::int64_t>(known, 1);
  if (bit_width(type) == 16) count = std::min<std::int64_t>(count, 1 << 15);
  if (draw.integers == DrawnIntegers::zero) count = 1;
  return drawn_integers(type, shape, 0, count, generator);
}

/// Checks the value given for an input; on the host.
Item fitting(const Value& input, const Item& item) {
  if (!input.type.is_tensor()) return item;
  check(item.tensor.defined(), ErrorCode::invalid_argument, "input {}: expected a tensor {}, got none",
        input.name(), input.type.to_string());
  const DType held = input.storage.dtype.value_or(input.type.dtype());
  if (item.tensor.dtype() == held && held != input.type.dtype())
    return fitting(input, Item(pack(item.tensor.to(Device{}), of_type(input.type.dtype()))));
  const Type got(item.tensor.dtype(), item.tensor.shape());
  check(got == input.type, ErrorCode::invalid_argument, "input {}: expected {}, got {}", input.name(),
        input.type.to_string(), got.to_string());
  const Tensor near = item.tensor.to(Device{});
  return Item(near.layout().row_major() ? near : near.clone());
}

} // namespace

bool draws_index_inputs(const Graph& graph, const std::map<std::string, Item>& given) {
  return std::ranges::any_of(graph.body().parameters(), [&](const auto& input) {
    return input->type.is_tensor() && is_place(input->type.dtype()) && !given.contains(input->name());
  });
}

Item in_binding(const Engine& engine, std::size_t i, Item item) {
  const Binding& input = engine.inputs()[i];
  if (input.sequence || item.tensor.dtype() == DType::string) return item;
  if (input.state || input.overwritten) item.tensor = item.tensor.clone();
  Storage storage;
  storage.dtype = input.dtype;
  storage.layout = state_of(engine).callers.input(i).layout;
  item.tensor = pack(item.tensor, storage);
  return item;
}

std::vector<Item> network_inputs(const Graph& graph, const std::map<std::string, Item>& given,
                                 const InputDraw& draw) {
  std::vector<Item> items;
  Generator generator(draw.seed);
  for (const auto& input : graph.body().parameters()) {
    if (const auto found = given.find(input->name()); found != given.end()) {
      check(!ops::picture_reader(*input), ErrorCode::unsupported,
            "input {}: it takes pictures, which are drawn; give no value", input->name());
      items.push_back(fitting(*input, found->second));
      continue;
    }
    check(input->type.is_tensor(), ErrorCode::invalid_argument,
          "input {}: it is not a tensor and cannot be drawn at random; give it a value", input->name());
    if (const Node* picture = ops::picture_reader(*input))
      items.emplace_back(drawn_pictures(*picture, input->type.shape()[0], generator(), draw.device));
    else
      items.emplace_back(drawn(*input, draw, generator));
  }
  return items;
}

} // namespace lanner
