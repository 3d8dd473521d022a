#pragma once
// Runs single nodes in tests of operators: inference with symbols, and the reference kernel on values.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/item.h>

#include "graph/graph.h"

namespace lanner::test {

/// An input of a node: absent, a type that inference sees, or a value.
struct Given {
  Given(std::nullopt_t) {}
  Given(std::string_view text) : type(Type::parse(text)) {}
  Given(const char* text) : Given(std::string_view(text)) {}
  Given(Type given) : type(std::move(given)) {}
  Given(Tensor given) : value(Item(std::move(given))) {}
  Given(Item given) : value(std::move(given)) {}

  std::optional<Type> type;
  std::optional<Item> value;
};

struct NodeSpec {
  std::string op;
  std::vector<Given> inputs;
  AttributeMap attributes = {};
  std::size_t outputs = 1;
};

AttributeMap attributes(std::initializer_list<std::pair<std::string, Attribute>> list);
/// The attribute value of a list of integers.
Attribute ints(std::vector<std::int64_t> values);

Tensor i64s(std::vector<std::int64_t> values); ///< One-dimensional.
Tensor i64s(std::vector<std::int64_t> values, Shape shape);
Tensor f32s(std::vector<float> values);
Tensor f32s(std::vector<float> values, Shape shape);
Tensor bools(std::vector<int> values, Shape shape);
Tensor strings(std::vector<std::string> values, Shape shape);
template<typename T>
Tensor tensor(std::vector<T> values, Shape shape) {
  return Tensor::from<T>(values, std::move(shape));
}

/// Runs the reference kernel of one node on values, with output types from inference on their concrete
/// shapes.
std::vector<Item> run_items(const NodeSpec& spec);
Tensor run(const NodeSpec& spec); ///< The first output.
std::vector<Tensor> run_all(const NodeSpec& spec);

/// Text of the inferred type of output 0 (of output `i`), `error: ...` when inference refuses.
std::string inferred(const NodeSpec& spec, std::size_t i = 0);
/// The known elements of output 0 after inference, as text; `unknown` when they are not.
std::string known(const NodeSpec& spec);

/// `f32[2](1, 2.5)`: type, shape and values, to compare in one line.
std::string show(const Tensor& tensor);
std::string show(const Item& item);

} // namespace lanner::test
