#include "input/input_values.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lanner/error.h>
#include <lanner/tensor_file.h>

#include "check.h"
#include "options/limit_option.h"
#include "output/visible.h"

namespace lanner::tool {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_dims = 16;

std::string names_of(const Engine& engine) {
  std::vector<std::string> names;
  for (const Binding& input : engine.inputs()) names.push_back(input.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const Binding* input_called(const Engine& engine, std::string_view name) {
  const auto found = std::ranges::find(engine.inputs(), name, &Binding::name);
  return found == engine.inputs().end() ? nullptr : &*found;
}

/// The input whose name precedes a `=`: names may contain some themselves.
const Binding* input_of(const Engine& engine, const std::string& text) {
  const Binding* longest = nullptr;
  for (const Binding& input : engine.inputs())
    if (text.starts_with(input.name + "=") && (!longest || input.name.size() > longest->name.size()))
      longest = &input;
  return longest;
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

/// Sizes of a nested list; its numbers are appended to `numbers` row by row.
class ListReader {
public:
  explicit ListReader(const Binding& input) : input_(input) {}

  Shape read(const Json& value) {
    std::vector<std::int64_t> dims;
    for (const Json* at = &value; at->is_array(); at = &at->front()) {
      check(!at->empty() && dims.size() < most_dims, ErrorCode::invalid_argument,
            "--inputs {}: a list is empty or too deep", input_.name);
      dims.push_back(static_cast<std::int64_t>(at->size()));
    }
    take(value, dims, 0);
    return Shape(std::move(dims));
  }
  const std::vector<Json>& numbers() const { return numbers_; }

private:
  void take(const Json& value, const std::vector<std::int64_t>& dims, std::size_t depth) {
    if (depth == dims.size()) {
      check(value.is_number() || value.is_boolean(), ErrorCode::invalid_argument,
            "--inputs {}: expected numbers, got {}", input_.name, value.type_name());
      numbers_.push_back(value);
      return;
    }
    check(value.is_array() && static_cast<std::int64_t>(value.size()) == dims[depth],
          ErrorCode::invalid_argument, "--inputs {}: rows of a list have different lengths", input_.name);
    for (const Json& element : value) take(element, dims, depth + 1);
  }

  const Binding& input_;
  std::vector<Json> numbers_;
};

bool is_whole(DType type) {
  return is_integer(type) || type == DType::boolean;
}

/// Least and greatest integer of a type.
std::pair<double, double> bounds_of(DType type) {
  if (type == DType::boolean) return {0, 1};
  const int bits = static_cast<int>(bit_width(type));
  return is_signed(type) ? std::pair{-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1}
                         : std::pair{0.0, std::ldexp(1.0, bits) - 1};
}

/// Converted to a type that can hold each of them.
Tensor wide_tensor(const Binding& input, const std::vector<Json>& numbers, Shape shape) {
  const bool whole = is_whole(input.dtype);
  Tensor wide = Tensor::allocate(whole ? DType::i64 : DType::f64, std::move(shape));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double value =
        numbers[i].is_boolean() ? (numbers[i].get<bool>() ? 1 : 0) : numbers[i].get<double>();
    if (!whole) {
      wide.as<double>()[i] = value;
      continue;
    }
    const auto [least, most] = bounds_of(input.dtype);
    check(value == std::floor(value) && value >= least && value <= most, ErrorCode::invalid_argument,
          "--inputs {}: {} is not a valid {}", input.name, numbers[i].dump(), to_string(input.dtype));
    wide.as<std::int64_t>()[i] =
        numbers[i].is_number_integer() ? numbers[i].get<std::int64_t>() : static_cast<std::int64_t>(value);
  }
  return wide;
}

/// One number that fills the whole input.
Shape filled_shape(const Binding& input) {
  std::vector<std::int64_t> dims = input.dims;
  for (std::int64_t& dim : dims) dim = dim < 0 ? 1 : dim;
  return Shape(std::move(dims));
}

Tensor tensor_of(const Binding& input, const std::string& text) {
  check(input.dtype != DType::string && !is_complex(input.dtype), ErrorCode::unsupported,
        "--inputs {}: it takes {}; give a .safetensors file", input.name, to_string(input.dtype));
  const bool list = text.find(',') != std::string::npos && text.find('[') == std::string::npos;
  const Json value = Json::parse(list ? "[" + text + "]" : text, nullptr, false);
  check(!value.is_discarded() && (value.is_array() || value.is_number() || value.is_boolean()),
        ErrorCode::invalid_argument,
        "--inputs {}: expected a number, a list like [1,2] or an existing .safetensors file, got '{}'",
        input.name, one_line(text));
  ListReader reader(input);
  Shape shape = reader.read(value);
  std::vector<Json> numbers = reader.numbers();
  if (!value.is_array()) {
    shape = filled_shape(input);
    check(shape.elements() <= (1 << 28), ErrorCode::limit_exceeded,
          "--inputs {}: it has {} elements; give a file", input.name, shape.elements());
    numbers.assign(static_cast<std::size_t>(shape.elements()), numbers[0]);
  }
  const Tensor wide = wide_tensor(input, numbers, shape);
  Tensor tensor = Tensor::allocate(input.dtype, shape);
  copy_tensor(wide, tensor);
  return tensor;
}

void check_fits(const Binding& input, const Tensor& tensor) {
  bool fits = tensor.dtype() == input.dtype && !input.sequence && input.image.empty();
  if (fits && input.ranked) {
    fits = tensor.rank() == input.dims.size();
    for (std::size_t d = 0; fits && d < input.dims.size(); ++d)
      fits = input.dims[d] < 0 || input.dims[d] == tensor.shape()[d];
  }
  check(fits, ErrorCode::invalid_argument, "--inputs {}: it is {}{}, the model takes {}", input.name,
        to_string(tensor.dtype()), tensor.shape().to_string(), input.to_string());
}

/// `NAME=file.safetensors`: the tensor of that name, or the only one.
Tensor tensor_in(const Binding& input, const std::string& path) {
  auto tensors = load_tensors(path, given_limits());
  if (const auto named = tensors.find(input.name); named != tensors.end()) return named->second;
  check(tensors.size() == 1, ErrorCode::invalid_argument,
        "--inputs {}: {} has {} tensors and none of that name; expected one", input.name, one_line(path),
        tensors.size());
  return tensors.begin()->second;
}

} // namespace

void declare_input_values(const std::vector<std::string>& texts, Files& files) {
  for (const std::string& text : texts) {
    const std::size_t at = text.find('=');
    if (is_file(text))
      files.reads("--inputs", text);
    else if (at != std::string::npos && is_file(text.substr(at + 1)))
      files.reads("--inputs", text.substr(at + 1));
  }
}

std::map<std::string, Tensor> read_input_values(const std::vector<std::string>& texts, const Engine& engine) {
  std::map<std::string, Tensor> values;
  const auto take = [&](const Binding& input, Tensor tensor) {
    check_fits(input, tensor);
    check(values.emplace(input.name, std::move(tensor)).second, ErrorCode::invalid_argument,
          "--inputs {}: given twice", input.name);
  };
  for (const std::string& text : texts) {
    if (const Binding* input = input_of(engine, text)) {
      const std::string value = text.substr(input->name.size() + 1);
      take(*input, is_file(value) ? tensor_in(*input, value) : tensor_of(*input, value));
      continue;
    }
    check(is_file(text), ErrorCode::invalid_argument,
          "--inputs '{}': expected NAME=VALUE or an existing .safetensors file; the model's inputs are {}",
          one_line(text), names_of(engine));
    for (auto& [name, tensor] : load_tensors(text, given_limits())) {
      const Binding* input = input_called(engine, name);
      check(input != nullptr, ErrorCode::invalid_argument,
            "--inputs {}: the model has no input '{}'; there is {}", one_line(text), one_line(name),
            names_of(engine));
      take(*input, std::move(tensor));
    }
  }
  return values;
}

void check_all_given(const Engine& engine, const std::string& picture,
                     const std::map<std::string, Tensor>& given) {
  std::vector<std::string> missing;
  for (const Binding& input : engine.inputs())
    if (input.name != picture && !given.contains(input.name) && !input.state && !input.defaulted)
      missing.push_back(input.to_string());
  check(missing.empty(), ErrorCode::invalid_argument, "{} take{} no image; give {} by --inputs NAME=VALUE",
        fmt::join(missing, ", "), missing.size() == 1 ? "s" : "", missing.size() == 1 ? "it" : "them");
}

} // namespace lanner::tool
