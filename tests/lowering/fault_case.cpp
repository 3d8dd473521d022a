#include "lowering/fault_case.h"

#include <cctype>

#include <fmt/format.h>

#include "graph/op.h"
#include "lowering/tuner_bench.h"

namespace lanner::test {
namespace {

constexpr const char* convolution =
    "graph @g(%x: f32[2, 6, 5, 5]) -> (%y) {\n"
    "  %w = constant() {value = random(f32[6, 6, 3, 3], seed = 1, std = 0.2)}\n"
    "  %y = conv(%x, %w, _) {pads = [1, 1, 1, 1]}\n"
    "}\n";
constexpr const char* sum = "graph @g(%x: f32[2, 30], %z: f32[2, 30]) -> (%y) {\n"
                            "  %y = add(%x, %z)\n"
                            "}\n";

/// The table's `conv as NAME: RULE`.
std::string rule_of(const Node& node, std::string_view name, std::string_view rule) {
  return fmt::format("{} as {}: {}", node.kind(), name, rule);
}

} // namespace

void PrintTo(const FaultCase& one, std::ostream* out) {
  *out << one.fault << ", " << one.rule;
}

std::vector<FaultCase> fault_cases(Device device) {
  const std::string far = device.is_host() ? "" : " " + device.to_string();
  const std::string plain = fmt::format("row{0}, row{0} -> row{0} = 1", far);
  const std::string last = fmt::format("acdb{0}, row{0} -> acdb{0} = 1", far);
  const std::string blocks = fmt::format("aBcd4b{0}, ABcd4b4a{0} -> aBcd4b{0} = 1", far);
  const std::string halves = fmt::format("bf16 acdb{0}, bf16 row{0} -> bf16 acdb{0} = 1", far);
  std::vector<FaultCase> cases{
      {"wrong value", convolution, plain, "elements differ", device},
      {"wrong value", convolution, last, "elements differ", device},
      {"wrong value", convolution, blocks, "elements differ", device},
      {"wrong value", convolution, halves, "elements differ", device},
      {"wrong later", convolution, last, "differs from run to run", device},
      {"unstable", convolution, last, "differs from run to run", device},
      {"unwritten", convolution, last, "elements differ", device},
      {"writes behind", convolution, last, "writes outside its output", device},
      {"writes before", convolution, last, "writes outside its output", device},
      {"spoils padding", convolution, blocks, "padding", device},
      {"reads output", convolution, last, "elements differ", device},
      {"reads workspace", convolution, last, "elements differ", device},
      {"writes workspace", convolution, last, "writes outside its workspace", device},
      {"reads late", sum, plain + ", in place 1", "in its input's memory: ", device},
      {"reads late", sum, plain + ", overwrites 0", "elements differ", device},
      {"refuses", convolution, last, "it fails: this kernel refuses to be prepared", device},
      {"fails", convolution, last, "it fails: this kernel fails", device},
  };
  if (!device.is_host())
    cases.push_back({"runs unrecorded", convolution, last, "differs from run to run", device});
  return cases;
}

std::string fault_name(const testing::TestParamInfo<FaultCase>& info) {
  std::string name = fmt::format("{}_{}", info.index, info.param.fault);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

void FaultTest::expect_found() const {
  const FaultCase& given = GetParam();
  TunerBench bench(given.graph, "fast on " + given.device.to_string(), "", queue());
  bench.backend.add_rule(rule_of(bench.node(), "bad", given.rule + ", fault " + given.fault));
  bench.backend.add_rule(rule_of(bench.node(), "good", given.rule));
  bench.target.device = given.device;

  Tuner tuner(bench.target, 0, bench.cache, bench.constants, bench.control);
  const Cost bad = tuner.vet(bench.node(), bench.backend, bench.tactic("bad"));
  EXPECT_NE(bad.wrong.find(given.reason), std::string::npos) << "'" << bad.wrong << "'";
  EXPECT_EQ(bad.trust, Trust::none);
  const Cost good = tuner.vet(bench.node(), bench.backend, bench.tactic("good"));
  EXPECT_EQ(good.wrong, "");
  EXPECT_EQ(good.trust, Trust::checked);

  const int again = bench.launches([&] {
    const Cost known = bench.cost("bad", 1e6);
    EXPECT_EQ(known.wrong, bad.wrong);
    EXPECT_FALSE(known.measured);
  });
  EXPECT_EQ(again, 0) << "what is known to be wrong was tried again";
}

} // namespace lanner::test
