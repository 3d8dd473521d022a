// The reproducer that Engine::verify writes for a node that differs.

#include <gtest/gtest.h>

#include "engine/lowered_engine.h"
#include "temporary_folder.h"
#include "tensor/safetensors.h"

namespace lanner {
namespace {

using test::lowered_engine;
using test::TableBackend;

constexpr const char* residual =
    "graph @g(%x: f32[1, 2, 3, 3], %r: f32[1, 2, 3, 3]) -> (%y: f32[1, 2, 3, 3] as \"y\") {\n"
    "  %w: f32[2, 2, 1, 1] = constant() {value = f32[2, 2, 1, 1](1.0, 2.0, -3.0, 0.5)}\n"
    "  %a: f32[1, 2, 3, 3] = exp(%x) tactic(\"fast\", \"good\", _, 0.0)\n"
    "  %y: f32[1, 2, 3, 3] = fused(%a, %w, %r) {kind = \"conv+add+relu\"} "
    "((%p: f32[1, 2, 3, 3], %q: f32[2, 2, 1, 1], %s: f32[1, 2, 3, 3]) -> (%v) {\n"
    "    %t: f32[1, 2, 3, 3] = conv(%p, %q, _)\n"
    "    %u: f32[1, 2, 3, 3] = add(%t, %s)\n"
    "    %v: f32[1, 2, 3, 3] = relu(%u)\n"
    "  }) source(\"block\") tactic(\"fast\", \"bad\", _, 0.0)\n"
    "}\n";

class Reproducer : public testing::Test {
protected:
  Verification verified(const char* lowered) const {
    static const TableBackend backend("fast",
                                      "// exp as good: row -> row = 1\n"
                                      "// conv+add+relu as bad: row, row, row -> row = 1, fault wrong value\n"
                                      "// reorder as bad: row -> row = 1, fault wrong value\n");
    VerifyOptions options;
    options.runs = 1;
    options.reproducer = path();
    return lowered_engine(lowered, backend).verify(options);
  }
  std::filesystem::path path() const { return folder / "node.onnx"; }
  TemporaryFolder folder;
};

TEST_F(Reproducer, ContainsTheChainOfNodesWithConstants) {
  const Verification found = verified(residual);
  ASSERT_EQ(found.differences.size(), 1u);
  EXPECT_EQ(found.reproducer, path());
  BuildOptions options;
  options.stop_after = "import";
  const Engine model = Engine::build(path(), options);
  const std::string ir = model.ir();
  EXPECT_NE(ir.find("conv("), std::string::npos) << ir;
  EXPECT_NE(ir.find("add("), std::string::npos) << ir;
  EXPECT_NE(ir.find("relu("), std::string::npos) << ir;
  EXPECT_NE(ir.find("-3.0"), std::string::npos) << ir;
  ASSERT_EQ(model.inputs().size(), 2u);
  EXPECT_EQ(model.inputs()[0].to_string(), "a: f32[1, 2, 3, 3]");
  EXPECT_EQ(model.inputs()[1].to_string(), "r: f32[1, 2, 3, 3]");
}

TEST_F(Reproducer, StoresTheNodesOperands) {
  ASSERT_EQ(verified(residual).reproducer, path());
  const Safetensors operands = Safetensors::open(open_path(folder / "node.inputs.safetensors"));
  ASSERT_EQ(operands.entries().size(), 2u);
  for (const float value : operands.tensor("a").as<float>()) EXPECT_GT(value, 0); // an exponential
  VerifyOptions given;
  for (const char* name : {"a", "r"}) given.inputs[name] = Item(operands.tensor(name));
  BuildOptions options;
  options.deterministic = true;
  EXPECT_TRUE(Engine::build(path(), options).verify(given).right());
}

TEST_F(Reproducer, IsNotWrittenForNodesThatOnnxLacks) {
  const Verification found = verified("graph @g(%x: f32[2, 3]) -> (%y: f32[2, 3] as \"y\") {\n"
                                      "  %y: f32[2, 3] = reorder(%x) tactic(\"fast\", \"bad\", _, 0.0)\n"
                                      "}\n");
  ASSERT_EQ(found.differences.size(), 1u);
  EXPECT_EQ(found.reproducer, "");
  EXPECT_NE(found.differences[0].reason.find("no model of it alone: ONNX has no form for"), std::string::npos)
      << found.differences[0].reason;
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(Reproducer, IsWrittenOnlyWhereANodeDiffers) {
  const Verification found = verified("graph @g(%x: f32[2, 3]) -> (%y: f32[2, 3] as \"y\") {\n"
                                      "  %y: f32[2, 3] = exp(%x) tactic(\"fast\", \"good\", _, 0.0)\n"
                                      "}\n");
  EXPECT_TRUE(found.right());
  EXPECT_EQ(found.reproducer, "");
  EXPECT_FALSE(std::filesystem::exists(path()));
}

} // namespace
} // namespace lanner
