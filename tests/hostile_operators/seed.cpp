#include "hostile_operators/seed.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lanner::hostile {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \n");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

/// The position after the bracket that closes the one at `begin`.
std::size_t behind_bracket(std::string_view text, std::size_t begin) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    quoted = c == '"';
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) return i + 1;
  }
  throw std::runtime_error("unclosed bracket");
}

Operand parse_type(std::string_view text) {
  Operand operand;
  operand.kind = Operand::Kind::input;
  for (const std::string_view wrapper : {"seq", "opt"})
    if (text.starts_with(std::string(wrapper) + "(")) {
      operand = parse_type(text.substr(4, text.size() - 5));
      operand.wrapper = wrapper;
      return operand;
    }
  const auto bracket = text.find('[');
  if (bracket == text.npos) throw std::runtime_error(fmt::format("'{}' is not a type", text));
  operand.dtype = text.substr(0, bracket);
  const std::string_view dims = text.substr(bracket + 1, text.size() - bracket - 2);
  operand.ranked = dims != "*";
  if (operand.ranked) operand.dims = split(dims);
  return operand;
}

Operand parse_operand(std::string_view text) {
  if (text == "_") return {};
  if (text.starts_with("random(")) {
    Operand operand = parse_type(text.substr(7, text.size() - 8));
    operand.kind = Operand::Kind::constant;
    operand.values = "random";
    return operand;
  }
  const auto bracket = text.find('[');
  const std::size_t end = bracket == text.npos ? text.size() : behind_bracket(text, bracket);
  if (end == text.size() || text.starts_with("seq(") || text.starts_with("opt(")) return parse_type(text);
  Operand operand = parse_type(text.substr(0, end));
  operand.kind = Operand::Kind::constant;
  operand.values = text.substr(end);
  return operand;
}

void parse_operands(Seed& seed, std::string_view text) {
  const std::vector<std::string> parts = split(text, ';');
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (const std::string& one : split(parts[p])) {
      seed.operands.push_back(parse_operand(one));
      seed.captures += p > 0;
    }
}

void parse_attributes(Seed& seed, std::string_view text) {
  for (const std::string& one : split(text)) {
    const auto equals = one.find(" = ");
    if (equals == one.npos) throw std::runtime_error(fmt::format("'{}' is not an attribute", one));
    seed.attributes.emplace_back(one.substr(0, equals), one.substr(equals + 3));
  }
}

/// Names of open sizes, each declared once.
std::string symbols_text(const Seed& seed) {
  std::set<std::string> names;
  for (const Operand& operand : seed.operands)
    for (const std::string& dim : operand.dims)
      if (!dim.empty() && dim[0] >= 'A' && dim[0] <= 'Z') names.insert(dim);
  std::string text;
  for (const std::string& name : names) text += fmt::format("  symbol {} in [0, *]\n", name);
  return text;
}

std::string constant_text(std::size_t number, const Operand& operand) {
  const std::string value = operand.values == "random"
                                ? fmt::format("random({}, seed = {}, std = 0.5)", operand.type(), number + 1)
                                : operand.type() + operand.values;
  return fmt::format("  %x{} = constant() {{value = {}}}\n", number, value);
}

} // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      part += c;
      if (c == '\\' && i + 1 < text.size()) part += text[++i];
      if (c == '"') quoted = false;
      continue;
    }
    quoted = c == '"';
    depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    if (c == separator && depth == 0) {
      parts.emplace_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!parts.empty() || !trimmed(part).empty()) parts.emplace_back(trimmed(part));
  return parts;
}

std::string Operand::type() const {
  const std::string tensor =
      fmt::format("{}[{}]", dtype, ranked ? fmt::format("{}", fmt::join(dims, ", ")) : "*");
  return wrapper.empty() ? tensor : fmt::format("{}({})", wrapper, tensor);
}

Seed parse_seed(std::string_view line) {
  Seed seed;
  const auto bracket = line.find('(');
  if (bracket == line.npos) throw std::runtime_error("no operands");
  seed.op = line.substr(0, bracket);
  const std::size_t end = behind_bracket(line, bracket);
  parse_operands(seed, line.substr(bracket + 1, end - bracket - 2));
  std::string_view rest = trimmed(line.substr(end));
  if (rest.starts_with("{")) {
    const std::size_t brace = behind_bracket(rest, 0);
    parse_attributes(seed, rest.substr(1, brace - 2));
    rest = trimmed(rest.substr(brace));
  }
  if (rest.starts_with("(")) {
    const std::size_t brace = behind_bracket(rest, 0);
    seed.regions = rest.substr(0, brace);
    rest = trimmed(rest.substr(brace));
  }
  if (rest.starts_with("->")) {
    seed.outputs = std::stoul(std::string(rest.substr(2)));
    rest = {};
  }
  if (!rest.empty()) throw std::runtime_error(fmt::format("'{}' is left over", rest));
  return seed;
}

/// A shape that matches an operand's pattern: equal sizes for equal letters, different ones for different
/// letters.
static std::vector<std::string> sizes_of(const ShapePattern& pattern) {
  if (pattern.is_one()) return {"1"};
  if (pattern.any()) return {"2", "3"};
  std::vector<std::string> dims;
  for (const char axis : std::string(pattern.before()) + std::string(pattern.after()))
    dims.push_back(axis == '_'                  ? "4"
                   : axis >= '0' && axis <= '9' ? std::string(1, axis)
                                                : std::to_string(2 + axis % 5));
  return dims;
}

Seed seed_of(const OpDef& op) {
  Seed seed;
  seed.op = op.name;
  seed.outputs = op.min_outputs;
  for (std::size_t i = 0; i < static_cast<std::size_t>(op.min_inputs); ++i) {
    const OperandSpec& spec = op.operands.at(std::min(i, op.operands.size() - 1));
    Operand operand;
    operand.kind = Operand::Kind::input;
    for (std::size_t t = 0; t < dtype_count && operand.dtype.empty(); ++t)
      if (spec.types.has(static_cast<DType>(t))) operand.dtype = to_string(static_cast<DType>(t));
    operand.dims = sizes_of(spec.shape);
    seed.operands.push_back(std::move(operand));
  }
  return seed;
}

std::vector<Seed> read_seeds(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  std::vector<Seed> seeds;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    try {
      seeds.push_back(parse_seed(line));
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("{}:{}: {}", file.string(), number, error.what()));
    }
  }
  return seeds;
}

std::string graph_text(const Seed& seed) {
  std::vector<std::string> inputs, own, captures, outputs;
  std::string constants;
  for (std::size_t i = 0; i < seed.operands.size(); ++i) {
    const Operand& operand = seed.operands[i];
    std::string name = operand.kind == Operand::Kind::absent ? "_" : fmt::format("%x{}", i);
    if (operand.kind == Operand::Kind::input) inputs.push_back(fmt::format("%x{}: {}", i, operand.type()));
    if (operand.kind == Operand::Kind::constant) constants += constant_text(i, operand);
    for (const auto& [first, second] : seed.shared)
      if (second == i) name = fmt::format("%x{}", first);
    (i + seed.captures < seed.operands.size() ? own : captures).push_back(std::move(name));
  }
  for (std::size_t o = 0; o < seed.outputs; ++o) outputs.push_back(fmt::format("%y{}", o));
  std::string attributes;
  for (const auto& [name, value] : seed.attributes)
    attributes += fmt::format("{}{} = {}", attributes.empty() ? "" : ", ", name, value);
  std::string text =
      fmt::format("graph @hostile({}) -> ({}{}) {{\n{}{}", fmt::join(inputs, ", "), fmt::join(outputs, ", "),
                  seed.behind.empty() ? "" : ", %z", symbols_text(seed), constants);
  text += fmt::format("  {}{}{}({}{}{})", fmt::join(outputs, ", "), outputs.empty() ? "" : " = ", seed.op,
                      fmt::join(own, ", "), captures.empty() ? "" : "; ", fmt::join(captures, ", "));
  if (!attributes.empty()) text += fmt::format(" {{{}}}", attributes);
  if (!seed.regions.empty()) text += " " + seed.regions;
  text += "\n";
  if (!seed.behind.empty()) text += fmt::format("  %z = {}(%y0)\n", seed.behind);
  return text + "}\n";
}

} // namespace lanner::hostile
