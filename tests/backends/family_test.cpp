// Backends as tables of kernel families.

#include <set>
#include <string>

#include <gtest/gtest.h>

#include <lanner/error.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/family.h"
#include "backends/reference/reference_backend.h"
#include "expect_error.h"
#include "graph/text/text.h"
#include "lower/check/trusted_kernels.h"
#include "ops/table/table.h"

namespace lanner {
namespace {

bool holds(const KernelTrust& trust, std::string_view version, bool strided = false) {
  return trust.holds(version, strided);
}

TEST(KernelTrust, OwnKernelsAreTrustedWithAnyVersionAndOthersWithNone) {
  for (const bool strided : {false, true}) {
    EXPECT_TRUE(holds(KernelTrust::own(), "", strided));
    EXPECT_TRUE(holds(KernelTrust::own(), "cudnn 91900", strided));
    EXPECT_FALSE(holds(KernelTrust::none(), "cudnn 91900", strided));
  }
}

TEST(KernelTrust, LibrariesAreTrustedInVersionsThatWereSwept) {
  const KernelTrust swept = KernelTrust::swept({"2.6.", "3.2."});
  EXPECT_TRUE(holds(swept, "2.6.3"));
  EXPECT_TRUE(holds(swept, "3.2.0"));
  EXPECT_FALSE(holds(swept, "3.20.0"));
  EXPECT_FALSE(holds(swept, "12.6.3"));
  EXPECT_FALSE(holds(swept, "12.6.3.2.0"));
  EXPECT_FALSE(holds(swept, ""));
  EXPECT_TRUE(holds(swept, "12.6.3 2.6.3")) << "a later word";
  EXPECT_FALSE(holds(swept, "2.6.3", true)) << "values within larger ones were not swept";
  EXPECT_FALSE(holds(KernelTrust::swept({}), "2.6.3"));
}

/// Trusted kernels of the CUDA families, given library versions.
std::set<std::string> trusted(const std::string& version) {
  std::set<std::string> names;
  for (const KernelFamily& family : cuda::families())
    if (family.trust.holds(version, false)) names.emplace(family.kernel);
  return names;
}

TEST(KernelFamilies, OfCudaAreTrustedByTheVersionOfTheirLibrary) {
  const std::set<std::string> own = trusted("cudnn 1 cublaslt 1 nvrtc 13.0");
  EXPECT_TRUE(own.contains("elementwise"));
  EXPECT_FALSE(own.contains("conv"));
  EXPECT_FALSE(own.contains("matmul"));
  std::set<std::string> all = own;
  all.insert({"conv", "matmul"});
  EXPECT_EQ(trusted("cudnn 91900 cublaslt 130100 nvrtc 13.0"), all);
  all.erase("conv");
  EXPECT_EQ(trusted("cudnn 92000 cublaslt 130100 nvrtc 13.0"), all);
  EXPECT_EQ(trusted("cudnn 92000 cublaslt 140000 nvrtc 13.0"), own);
  EXPECT_EQ(all.size() + 1, cuda::families().size()) << "every family, each under a name of its own";
}

TEST(KernelFamilies, OfTheProjectAreTrustedAndUnknownKernelsAreNot) {
  EXPECT_TRUE(cpu_backend().trusts("gemm", false));
  EXPECT_TRUE(cpu_backend().trusts("gemm", true));
  EXPECT_FALSE(cpu_backend().trusts("germ", false));
  EXPECT_TRUE(reference_backend().trusts("reference", true));
  EXPECT_TRUE(is_definition(reference_backend()));
}

/// How often `around` was called, and whether family code ran inside of it.
int around_calls = 0;
bool inside = false, always_inside = true;

TacticList count_tactics(const Node&, const Group&, const Target&) {
  always_inside = always_inside && inside;
  TacticList list;
  list.tactics.emplace_back().kernel = "counted";
  return list;
}
std::unique_ptr<Kernel> count_prepare(const Preparation&) {
  always_inside = always_inside && inside;
  return nullptr;
}
void count_around(const Target&, const std::function<void()>& work) {
  ++around_calls;
  inside = true;
  work();
  inside = false;
}

TEST(FamilyBackend, CallsFamiliesWithinTheirContext) {
  const KernelFamily families[] = {{.kernel = "counted",
                                    .trust = KernelTrust::none(),
                                    .tactics = count_tactics,
                                    .prepare = count_prepare,
                                    .more = count_tactics,
                                    .named = count_tactics,
                                    .late = count_tactics}};
  const FamilyBackend backend({.name = "counting", .families = families, .around = count_around});
  const auto graph = parse_graph(
      "graph @g(%x: f32[2]) -> (%y: f32[2] as \"y\") {\n  %y: f32[2] = relu(%x)\n}\n", builtin_op_table());
  Node& node = *graph->body().nodes().front();
  const Target target;
  node.tactic.kernel = "counted";
  EXPECT_EQ(backend.tactics(node, target).tactics.size(), 1u);
  EXPECT_EQ(backend.more_tactics(node, target).tactics.size(), 1u);
  EXPECT_EQ(backend.late_tactics(node, target).tactics.size(), 1u);
  EXPECT_EQ(backend.named_tactics(node, target).tactics.size(), 1u);
  Tactic tactic;
  tactic.kernel = "counted";
  backend.prepare(node, tactic, {}, target);
  EXPECT_EQ(around_calls, 5);
  EXPECT_TRUE(always_inside);
  tactic.kernel = node.tactic.kernel = "other";
  EXPECT_TRUE(backend.named_tactics(node, target).tactics.empty());
  LANNER_EXPECT_ERROR(backend.prepare(node, tactic, {}, target), ErrorCode::unsupported,
                      "counting: there is no kernel named other");
}

TacticList refuse_tactics(const Node&, const Group&, const Target&) {
  TacticList list;
  list.reason = "supports nothing";
  return list;
}

TEST(FamilyBackend, ReasonsOfSeveralFamiliesBeginWithTheirKernels) {
  const KernelFamily families[] = {
      {.kernel = "one", .trust = KernelTrust::none(), .tactics = refuse_tactics, .prepare = count_prepare},
      {.kernel = "two", .trust = KernelTrust::none(), .tactics = refuse_tactics, .prepare = count_prepare}};
  const FamilyBackend backend({.name = "refusing", .families = families});
  const auto graph = parse_graph(
      "graph @g(%x: f32[2]) -> (%y: f32[2] as \"y\") {\n  %y: f32[2] = relu(%x)\n}\n", builtin_op_table());
  EXPECT_EQ(backend.tactics(*graph->body().nodes().front(), {}).reason,
            "one: supports nothing; two: supports nothing");
}

TEST(CpuBackend, ReasonOfARefusedNodeNamesTheKernelOnce) {
  const struct {
    const char *kernel, *node, *reason;
  } cases[] = {
      {"gemm", "%y: f64[2, 2] = matmul(%x, %x)", "a, b and the bias must be f32"},
      {"softmax", "%y: f64[2, 2] = softmax(%x)", "supports f32, f16 and bf16 of rank 1 or more"},
      {"reduce", "%y: f64[] = reduce_sum(%x) {keepdims = 0}", "supports f32 and constant axes"},
      {"elementwise", "%y: f64[2, 2] = relu(%x)", "relu of these types"},
  };
  for (const auto& one : cases) {
    const std::string type = std::string(one.node).substr(4, std::string(one.node).find(" =") - 4);
    const auto graph =
        parse_graph("graph @g(%x: f64[2, 2]) -> (%y: " + type + " as \"y\") {\n  " + one.node + "\n}\n",
                    builtin_op_table());
    const Node& node = *graph->body().nodes().front();
    const std::string wanted = std::string(one.kernel) + ": " + one.reason;
    const TacticList list = cpu_backend().tactics(node, {});
    EXPECT_TRUE(list.tactics.empty()) << one.node;
    EXPECT_EQ(list.reason, wanted);
    Tactic tactic;
    tactic.kernel = one.kernel;
    try {
      cpu_backend().prepare(node, tactic, {}, {});
      ADD_FAILURE() << "prepared " << one.node;
    } catch (const Error& error) {
      EXPECT_TRUE(error.message().starts_with("cpu: " + wanted)) << error.message();
      EXPECT_EQ(error.message().find(one.kernel), error.message().rfind(one.kernel)) << error.message();
    }
  }
}

} // namespace
} // namespace lanner
