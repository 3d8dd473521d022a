// Runs the cases of tests/passes/*.ir. A file is named after the pass it tests; each case is
//
//   // case TITLE
//   // before
//   graph ...
//   // after
//   graph ...
//
// and holds when the pass, followed by drop_dead_nodes, gives exactly the text after, and both graphs compute
// the same.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "graph/infer.h"
#include "graph/text.h"
#include "graph/verifier.h"
#include "ops/interpreter.h"
#include "ops/table.h"
#include "passes/pipeline.h"
#include "source_dir.h"

namespace lanner {

namespace {

struct Case {
  std::string pass, title, before, after;
};

std::vector<Case> read_cases(const std::filesystem::path& path) {
  std::vector<Case> cases;
  std::string* into = nullptr;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("// case ")) {
      cases.push_back({path.stem(), line.substr(8), {}, {}});
      into = nullptr;
    } else if (line == "// before") {
      into = &cases.at(cases.size() - 1).before;
    } else if (line == "// after") {
      into = &cases.at(cases.size() - 1).after;
    } else if (into) {
      *into += line + "\n";
    }
  }
  for (Case& each : cases) {
    while (each.after.ends_with("\n\n")) each.after.pop_back();
  }
  return cases;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() / "tests/passes")) {
    if (entry.path().extension() != ".ir") continue;
    for (Case& each : read_cases(entry.path())) cases.push_back(std::move(each));
  }
  std::ranges::sort(cases, {}, [](const Case& each) { return each.pass + "/" + each.title; });
  return cases;
}

const Pass& find_pass(std::string_view name) {
  for (const Pass& pass : canonical_passes()) {
    if (pass.name == name) return pass;
  }
  throw Error(ErrorCode::not_found, fmt::format("there is no pass {}", name));
}

Item random_input(const Value& value, const Graph& graph, std::mt19937& random) {
  Shape shape;
  for (const Dim& dim : value.type.dims()) {
    const SymbolInfo range = dim.bounds(graph.symbols);
    shape.push_back(range.typical >= 0 ? range.typical : std::max<std::int64_t>(range.min, 2));
  }
  Tensor numbers = Tensor::allocate(DType::f32, shape);
  for (float& number : numbers.as<float>()) number = static_cast<float>(random() % 4001) / 1000 - 2;
  Tensor tensor = Tensor::allocate(value.type.dtype(), shape);
  copy(numbers, tensor);
  return tensor;
}

void expect_equal(const Item& a, const Item& b, double tolerance) {
  ASSERT_EQ(a.tensor.shape(), b.tensor.shape());
  ASSERT_EQ(a.tensor.dtype(), b.tensor.dtype());
  Tensor left = Tensor::allocate(DType::f64, a.tensor.shape()),
         right = Tensor::allocate(DType::f64, a.tensor.shape());
  copy(a.tensor, left);
  copy(b.tensor, right);
  for (std::int64_t i = 0; i < a.tensor.elements(); ++i) {
    const double x = left.as<double>()[static_cast<std::size_t>(i)],
                 y = right.as<double>()[static_cast<std::size_t>(i)];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    ASSERT_NEAR(x, y, tolerance * (1 + std::abs(x))) << "element " << i;
  }
}

class PassCase : public testing::TestWithParam<Case> {};

TEST_P(PassCase, GivesTheTextAfterAndTheSameNumbers) {
  const Case& given = GetParam();
  const auto before = parse_graph(given.before, builtin_op_table());
  infer_types(*before);
  const auto after = before->clone();
  find_pass(given.pass).run(*after);
  find_pass("drop_dead_nodes").run(*after);
  verify(*after);
  EXPECT_EQ(print(*after), given.after);
  const std::string typed = print(*after);
  infer_types(*after);
  EXPECT_EQ(print(*after), typed) << "the pass left types that inference makes others";
  std::mt19937 random(1);
  std::vector<Item> inputs;
  for (const auto& parameter : before->body().parameters())
    inputs.push_back(random_input(*parameter, *before, random));
  const auto expected = run_reference(*before, inputs), found = run_reference(*after, inputs);
  ASSERT_EQ(expected.size(), found.size());
  const bool halves = given.before.find("f16[") != std::string::npos;
  for (std::size_t i = 0; i < expected.size(); ++i) expect_equal(expected[i], found[i], halves ? 4e-3 : 2e-5);
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.pass + "_" + info.param.title;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Passes, PassCase, testing::ValuesIn(all_cases()), case_name);

TEST(Passes, EachHasCases) {
  std::set<std::string> tested;
  for (const Case& each : all_cases()) tested.insert(each.pass);
  for (const Pass& pass : canonical_passes())
    EXPECT_TRUE(tested.contains(std::string(pass.name))) << pass.name;
}

} // namespace

} // namespace lanner
