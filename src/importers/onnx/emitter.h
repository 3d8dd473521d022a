#pragma once
// Helpers for rules that express one operator by several others.

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "importers/builder.h"

namespace lanner::onnx {

/// One entry of a target shape: a number (0: the input's dim, -1: inferred) or an i64 list of one element.
using Size = std::variant<std::int64_t, Value*>;

/// Emits nodes for one source node. Axes refer to the first operand; integer operands become constants.
class Emitter {
public:
  explicit Emitter(RuleContext& context) : context_(context) {}

  Value* operator()(std::string_view op, std::vector<Value*> inputs,
                    std::initializer_list<std::pair<std::string, Attribute>> attributes = {});

  Value* add(Value* a, Value* b) { return (*this)("add", {a, b}); }
  Value* sub(Value* a, Value* b) { return (*this)("sub", {a, b}); }
  Value* mul(Value* a, Value* b) { return (*this)("mul", {a, b}); }
  Value* div(Value* a, Value* b) { return (*this)("div", {a, b}); }
  Value* matmul(Value* a, Value* b) { return (*this)("matmul", {a, b}); }
  Value* where(Value* condition, Value* a, Value* b) { return (*this)("where", {condition, a, b}); }
  Value* add_optional(Value* a, Value* b) { return b ? add(a, b) : a; }

  Value* number(const Value* like, double value) { return context_.scalar(like->type.dtype(), value); }
  Value* integer(std::int64_t value) { return context_.scalar(DType::i64, static_cast<double>(value)); }
  Value* times(Value* a, double factor) { return factor == 1 ? a : mul(a, number(a, factor)); }
  Value* plus(Value* a, double addend) { return addend == 0 ? a : add(a, number(a, addend)); }
  Value* cast(Value* x, DType type); ///< `x` itself where it has the type.

  Value* transpose(Value* x, std::vector<std::int64_t> perm);
  Value* reshape(Value* x, const std::vector<Size>& sizes);
  Value* flat(Value* x) { return reshape(x, {-1}); }
  Value* scalar_of(Value* x) { return reshape(x, {}); } ///< Of one element, whatever its rank.
  Value* unsqueeze(Value* x, std::vector<std::int64_t> axes);
  Value* squeeze(Value* x, std::vector<std::int64_t> axes);
  Value* concat(std::vector<Value*> parts, std::int64_t axis);
  Value* repeated(Value* scalar, std::int64_t count); ///< A list of `count` times the same value.
  Value* gather(Value* x, Value* places, std::int64_t axis);
  Value* slice(Value* x, std::int64_t axis, Size from, Size to);
  std::vector<Value*> split(Value* x, std::int64_t axis, std::vector<std::int64_t> sizes);
  Value* size(Value* x, std::int64_t axis); ///< As an i64 list of one element.
  Value*
  count(Value* length,
        std::int64_t from = 0); ///< The i64 list from, from + 1, ... with `length` (a list of one) elements.

  Value* softmax(Value* x, std::int64_t axis) { return (*this)("softmax", {x}, {{"axis", axis}}); }
  Value* sigmoid(Value* x) { return (*this)("sigmoid", {x}); }

private:
  RuleContext& context_;
};

/// The rank of an input; Error{unsupported} that names the input when the rank is not known.
std::size_t known_rank(const Value* value, std::string_view what);
/// A size that must be known at import; Error{unsupported} that names it when it is not.
std::int64_t known_size(const Value* value, std::size_t axis, std::string_view what);
/// The same for the last axis; Error{bad_data} when there is none.
std::int64_t last_size(const Value* value, std::string_view what);

/// The value of an activation's parameter, by its index among the activation's parameters and by its name;
/// nullopt: ONNX's default.
using ActivationParameters = std::function<std::optional<double>(std::size_t place, std::string_view name)>;

/// An activation that onnxruntime's optimiser fused into another operator, by its ONNX name; an empty name
/// gives `x`.
Value* fused_activation(RuleContext& context, Value* x, const std::string& name,
                        const ActivationParameters& parameters);

/// [n, ..., c] to [n, c, ...] and back.
Value* to_channels_first(RuleContext& context, Value* x);
Value* to_channels_last(RuleContext& context, Value* x);

} // namespace lanner::onnx
