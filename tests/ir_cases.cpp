#include "ir_cases.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "source_dir.h"

namespace lanner::test {
namespace {

constexpr std::string_view case_head = "// case ";

/// The section that `line` opens, or null.
std::optional<IrSection> section_of(const std::string& line, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const std::string head = fmt::format("// {}", name);
    if (line == head) return IrSection{std::string(name), {}, {}};
    if (line.starts_with(head + " ")) return IrSection{std::string(name), line.substr(head.size() + 1), {}};
  }
  return std::nullopt;
}

std::vector<IrCase> read_cases(const std::filesystem::path& path, std::span<const std::string_view> names) {
  std::vector<IrCase> cases;
  std::ifstream file(path);
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with(case_head)) {
      cases.push_back({path.stem(), line.substr(case_head.size()), {}});
    } else if (auto section = section_of(line, names); section && !cases.empty()) {
      cases.back().sections.push_back(std::move(*section));
    } else if (!cases.empty() && !cases.back().sections.empty()) {
      cases.back().sections.back().text += line + "\n";
    } else {
      check(line.empty(), ErrorCode::bad_data, "{}:{}: expected a case with a section, got '{}'",
            path.string(), number, line);
    }
  }
  for (IrCase& one : cases)
    for (IrSection& section : one.sections)
      while (section.text.ends_with("\n\n")) section.text.pop_back();
  return cases;
}

Item random_input(const Value& value, const Graph& graph, std::mt19937& random) {
  Shape shape;
  for (const Dim& dim : value.type.dims()) {
    const SymbolInfo range = dim.bounds(graph.symbols);
    shape.push_back(range.opt >= 0 ? range.opt : std::max<std::int64_t>(range.min, 2));
  }
  Tensor numbers = Tensor::allocate(DType::f32, shape);
  for (float& number : numbers.as<float>()) number = static_cast<float>(random() % 4001) / 1000 - 2;
  Tensor tensor = Tensor::allocate(value.type.dtype(), shape);
  copy_tensor(numbers, tensor);
  return tensor;
}

Tensor as_f64(const Tensor& tensor) {
  Tensor wide = Tensor::allocate(DType::f64, tensor.shape());
  copy_tensor(tensor, wide);
  return wide;
}

} // namespace

const IrSection* IrCase::find(std::string_view name) const {
  const auto found = std::ranges::find(sections, name, &IrSection::name);
  return found == sections.end() ? nullptr : &*found;
}

const std::string& IrCase::text(std::string_view name) const {
  const IrSection* section = find(name);
  check(section != nullptr, ErrorCode::bad_data, "{}.ir, case {}: there is no section {}", file, title, name);
  return section->text;
}

std::vector<const IrSection*> IrCase::all(std::string_view name) const {
  std::vector<const IrSection*> found;
  for (const IrSection& section : sections)
    if (section.name == name) found.push_back(&section);
  return found;
}

std::vector<IrCase> ir_cases(const std::filesystem::path& folder,
                             std::span<const std::string_view> sections) {
  std::vector<IrCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / folder)) {
    if (entry.path().extension() != ".ir") continue;
    for (IrCase& one : read_cases(entry.path(), sections)) cases.push_back(std::move(one));
  }
  std::ranges::stable_sort(cases, {}, &IrCase::file);
  return cases;
}

std::string ir_case_name(const testing::TestParamInfo<IrCase>& info) {
  std::string name = info.param.file + "_" + info.param.title;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

std::vector<Item> random_inputs(const Graph& graph, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Item> inputs;
  for (const auto& parameter : graph.body().parameters())
    inputs.push_back(random_input(*parameter, graph, random));
  return inputs;
}

void expect_equal(const Item& a, const Item& b, double tolerance) {
  ASSERT_EQ(a.tensor.shape(), b.tensor.shape());
  ASSERT_EQ(a.tensor.dtype(), b.tensor.dtype());
  if (a.tensor.dtype() == DType::string) {
    EXPECT_TRUE(std::ranges::equal(a.tensor.as<std::string>(), b.tensor.as<std::string>()));
    return;
  }
  const Tensor left = as_f64(a.tensor), right = as_f64(b.tensor);
  for (std::int64_t i = 0; i < a.tensor.elements(); ++i) {
    const double x = left.as<double>()[static_cast<std::size_t>(i)],
                 y = right.as<double>()[static_cast<std::size_t>(i)];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    ASSERT_NEAR(x, y, tolerance * (1 + std::abs(x))) << "element " << i;
  }
}

void PrintTo(const IrCase& one, std::ostream* out) {
  *out << one.file << ".ir: " << one.title;
}

} // namespace lanner::test
