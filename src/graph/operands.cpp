#include "graph/operands.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/check.h"
#include "graph/op.h"

namespace lanner {

std::string DTypeSet::to_string() const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto type = static_cast<DType>(i);
    if (!has(type)) continue;
    std::size_t last = i;
    while (last + 1 < dtype_count && has(static_cast<DType>(last + 1))) ++last;
    parts.emplace_back(lanner::to_string(type));
    if (last > i + 1) parts.back() += fmt::format(" to {}", lanner::to_string(static_cast<DType>(last)));
    if (last > i + 1) i = last;
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 < parts.size() ? ", " : " or ") + parts[i];
  return text;
}

ShapePattern::ShapePattern(const char* text) : kind_(Kind::axes) {
  const std::string_view all = text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == ' ') continue;
    const bool dots = all.substr(i, 3) == "...";
    const bool axis = std::isalnum(static_cast<unsigned char>(all[i])) || all[i] == '_';
    check((dots && !open_) || axis, ErrorCode::internal, "operators: invalid shape pattern \"{}\"", all);
    if (dots) {
      open_ = true;
      split_ = axes_.size();
      i += 2;
    } else {
      axes_ += all[i];
    }
  }
  if (!open_) split_ = axes_.size();
}

ShapePattern ShapePattern::one() {
  ShapePattern pattern;
  pattern.kind_ = Kind::one;
  return pattern;
}

std::string ShapePattern::to_string() const {
  if (kind_ == Kind::any) return "any shape";
  if (kind_ == Kind::one) return "one element";
  std::string text;
  const auto add = [&](std::string_view part) { (text += text.empty() ? "" : ", ") += part; };
  for (const char axis : before()) add({&axis, 1});
  if (open_) add("...");
  for (const char axis : after()) add({&axis, 1});
  return fmt::format("[{}]", text);
}

AttributeRule AttributeRule::counted(std::size_t min, std::size_t max) const {
  AttributeRule rule = *this;
  rule.min_count = min;
  rule.max_count = max;
  return rule;
}

namespace {

/// `1 to 8`, `at least 1`, `at most 8`.
template<typename T>
std::string range_text(T least, T most, T lowest, T highest) {
  if (most >= highest) return fmt::format("at least {}", least);
  if (least <= lowest) return fmt::format("at most {}", most);
  return fmt::format("{} to {}", least, most);
}

void check_integer(std::string_view name, const AttributeRule& rule, std::int64_t value) {
  if (value >= rule.least && value <= rule.most) return;
  using Limits = std::numeric_limits<std::int64_t>;
  fail(ErrorCode::invalid_argument, "attribute {} holds {}, expected {}", name, value,
       range_text(rule.least, rule.most, Limits::min(), Limits::max()));
}

void check_real(std::string_view name, const AttributeRule& rule, double value) {
  if (value >= rule.least_real && value <= rule.most_real) return; // false for NaN
  using Limits = std::numeric_limits<double>;
  const bool unbounded = rule.least_real <= Limits::lowest() && rule.most_real >= Limits::max();
  const bool infinite = rule.most_real > Limits::max();
  fail(ErrorCode::invalid_argument, "attribute {} holds {}, expected {}", name, value,
       unbounded ? (infinite ? "a number" : "a finite number")
                 : range_text(rule.least_real, rule.most_real, Limits::lowest(), Limits::max()));
}

void check_text(std::string_view name, const AttributeRule& rule, const std::string& value) {
  if (rule.choices.empty() || std::ranges::find(rule.choices, value) != rule.choices.end()) return;
  fail(ErrorCode::invalid_argument, "attribute {} holds \"{}\", expected {}", name, value,
       fmt::join(rule.choices, ", "));
}

void check_type(std::string_view name, const AttributeRule& rule, DType type) {
  check(rule.types.has(type), ErrorCode::invalid_argument, "attribute {} is {}, expected {}", name,
        to_string(type), rule.types.to_string());
}

template<typename T, typename Check>
void check_list(std::string_view name, const AttributeRule& rule, const std::vector<T>& values,
                const Check& check_one) {
  using Limits = std::numeric_limits<std::size_t>;
  check(values.size() >= rule.min_count && values.size() <= rule.max_count, ErrorCode::invalid_argument,
        "attribute {} has {} entries, expected {}", name, values.size(),
        range_text(rule.min_count, rule.max_count, Limits::min(), Limits::max()));
  for (const T& value : values) check_one(name, rule, value);
}

void check_attribute(const AttributeSpec& spec, const Attribute& value) {
  const AttributeRule& rule = spec.rule;
  check(kind_of(value) == spec.kind, ErrorCode::invalid_argument, "attribute {}: expected {}, got {}",
        spec.name, to_string(spec.kind), to_string(kind_of(value)));
  switch (spec.kind) {
  case AttributeKind::integer:
    return check_integer(spec.name, rule, std::get<std::int64_t>(value));
  case AttributeKind::real:
    return check_real(spec.name, rule, std::get<double>(value));
  case AttributeKind::string:
    return check_text(spec.name, rule, std::get<std::string>(value));
  case AttributeKind::integers:
    return check_list(spec.name, rule, std::get<std::vector<std::int64_t>>(value), check_integer);
  case AttributeKind::reals:
    return check_list(spec.name, rule, std::get<std::vector<double>>(value), check_real);
  case AttributeKind::strings:
    return check_list(spec.name, rule, std::get<std::vector<std::string>>(value), check_text);
  case AttributeKind::dtype:
    return check_type(spec.name, rule, std::get<DType>(value));
  case AttributeKind::tensor:
    return check_type(spec.name, rule, std::get<Tensor>(value).dtype());
  case AttributeKind::type:
    return;
  }
}

void check_attributes(const Node& node) {
  for (const AttributeSpec& spec : node.op().attributes) {
    const Attribute* value = node.attributes.find(spec.name);
    check(value || !spec.required, ErrorCode::invalid_argument, "attribute {} is missing", spec.name);
    if (value && spec.rule.stated) check_attribute(spec, *value);
  }
}

std::string_view to_string(OperandForm form) {
  switch (form) {
  case OperandForm::sequence:
    return "a sequence";
  case OperandForm::optional:
    return "an optional";
  default:
    return "a tensor";
  }
}

/// Facts collected from the operands of one node: sizes by letter, element types by group, and their source.
class Operands {
public:
  explicit Operands(const InferContext& context) : context_(context) {}

  void check_one(const OperandSpec& spec, std::size_t i) {
    const Type& type = context_.input(i);
    check_form(spec, i, type);
    const Type& held = type.is_tensor() || spec.form == OperandForm::item ? type : innermost(type);
    if (!held.is_tensor()) return;
    check_dtype(spec, i, held.dtype());
    if (type.is_tensor() && type.ranked() && !spec.shape.any()) check_shape(spec, i, type);
  }

private:
  struct Size {
    std::int64_t value = -1;
    std::size_t input = 0, axis = 0;
  };

  static const Type& innermost(const Type& type) {
    return type.is_tensor() ? type : innermost(type.element());
  }
  std::string who(std::size_t i) const { return fmt::format("input {} ({})", i, name_of(i)); }
  const std::string& name_of(std::size_t i) const {
    const std::vector<OperandSpec>& specs = context_.node().op().operands;
    return specs[std::min(i, specs.size() - 1)].name;
  }

  void check_form(const OperandSpec& spec, std::size_t i, const Type& type) const {
    const OperandForm form = type.is_tensor()                      ? OperandForm::tensor
                             : type.kind() == Type::Kind::sequence ? OperandForm::sequence
                                                                   : OperandForm::optional;
    check(form == spec.form || spec.form == OperandForm::item, ErrorCode::invalid_argument,
          "{} is {}, expected {}", who(i), type.to_string(), to_string(spec.form));
  }

  void check_dtype(const OperandSpec& spec, std::size_t i, DType type) {
    check(spec.types.has(type), ErrorCode::invalid_argument, "{} is {}, expected {}", who(i),
          lanner::to_string(type), spec.types.to_string());
    if (spec.group == 0) return;
    std::int8_t& first = groups_[static_cast<std::size_t>(spec.group) % groups_.size()];
    if (first < 0) first = static_cast<std::int8_t>(std::min<std::size_t>(i, INT8_MAX));
    const auto other = static_cast<std::size_t>(first);
    if (other == i) return;
    const DType expected = innermost(context_.input(other)).dtype();
    check(type == expected, ErrorCode::invalid_argument, "{} is {}, expected {} as {} is; cast one of them",
          who(i), lanner::to_string(type), lanner::to_string(expected), who(other));
  }

  void check_shape(const OperandSpec& spec, std::size_t i, const Type& type) {
    const ShapePattern& pattern = spec.shape;
    if (pattern.is_one()) return check_one_element(i, type);
    const std::size_t named = pattern.before().size() + pattern.after().size(), rank = type.rank();
    check(rank == named || (pattern.open() && rank > named), ErrorCode::invalid_argument,
          "{} is {}, expected rank {}{} as of {}", who(i), type.to_string(), named,
          pattern.open() ? " or more" : "", pattern.to_string());
    for (std::size_t d = 0; d < pattern.before().size(); ++d)
      check_size(pattern.before()[d], i, d, type.dims()[d]);
    for (std::size_t d = 0; d < pattern.after().size(); ++d) {
      const std::size_t axis = rank - pattern.after().size() + d;
      check_size(pattern.after()[d], i, axis, type.dims()[axis]);
    }
  }

  void check_one_element(std::size_t i, const Type& type) const {
    for (const Dim& dim : type.dims())
      check(!dim.is_constant() || dim.value() == 1, ErrorCode::invalid_argument,
            "{} is {}, expected one element", who(i), type.to_string());
  }

  void check_size(char axis, std::size_t i, std::size_t d, const Dim& dim) {
    if (axis == '_' || !dim.is_constant()) return;
    const std::int64_t value = dim.value();
    if (axis >= '0' && axis <= '9')
      return check(value == axis - '0', ErrorCode::invalid_argument, "{} has {} in axis {}, expected {}",
                   who(i), value, d, axis);
    Size& size = sizes_[static_cast<std::size_t>(axis) % sizes_.size()];
    if (size.value < 0) size = {value, i, d};
    check(size.value == value, ErrorCode::invalid_argument,
          "{} has {} in axis {}, expected {} as axis {} of {}", who(i), value, d, size.value, size.axis,
          who(size.input));
  }

  const InferContext& context_;
  std::array<Size, 128> sizes_{};
  std::array<std::int8_t, 128> groups_ = [] {
    std::array<std::int8_t, 128> none{};
    none.fill(-1);
    return none;
  }();
};

} // namespace

void check_operands(const InferContext& context) {
  const OpDef& op = context.node().op();
  check_attributes(context.node());
  if (op.operands.empty()) return;
  Operands operands(context);
  for (std::size_t i = 0; i < context.inputs(); ++i)
    if (context.has(i)) operands.check_one(op.operands[std::min(i, op.operands.size() - 1)], i);
}

} // namespace lanner
