// Generated sources of movement chains, run on the host and compared with the operators' definitions.

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "backends/cuda_sources.h"
#include "backends/movement/movement_chain.h"
#include "backends/movement_chain_cases.h"
#include "backends/tactic_check.h"
#include "graph/parsed.h"

namespace lanner {
namespace {

using test::fused;
using test::integers;
using test::roll;
using test::windows;

class CudaMovementChain : public cuda::CudaSources {
protected:
  void add_case(const std::string& ir, std::int64_t pack) {
    auto node_case = std::make_shared<NodeCase>(make_case(ir));
    const auto chain = cuda::movement_chain_of(Group::of(*node_case->node));
    ASSERT_TRUE(chain) << ir;
    EXPECT_EQ(chain->pack(), pack) << ir;
    add(cuda::movement_chain_source(*chain), "movement_chain",
        [this, node_case, chain = *chain](std::size_t kernel) { check(kernel, *node_case, chain); });
  }

private:
  void check(std::size_t kernel, const NodeCase& node_case, const cuda::MovementChain& chain) {
    const Tensor& want = node_case.results.at(0);
    Tensor got = Tensor::zeros(want.dtype(), want.shape());
    std::vector<void*> pointers;
    for (const auto& source : chain.sources)
      pointers.push_back(const_cast<void*>(node_case.inputs.at(source.input).data()));
    pointers.push_back(got.data());
    std::vector<void*> arguments;
    for (void*& pointer : pointers) arguments.push_back(&pointer);
    const std::int64_t threads = want.elements() / chain.pack();
    ASSERT_TRUE(kernels.run(kernel, (threads + cuda::movement_chain_block - 1) / cuda::movement_chain_block,
                            cuda::movement_chain_block, arguments));
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << chain.result().to_string();
  }
};

TEST_F(CudaMovementChain, agrees_with_the_single_operators) {
  add_case(fused("f32", "[1, 8, 12, 16]", "[1]", roll() + windows()), 4);
  add_case(fused("f16", "[1, 8, 12, 16]", "[1]", roll() + windows()), 8);
  add_case(fused("u8", "[1, 8, 12, 3]", "[1]", roll() + "%r = transpose(%q) {perm = [0, 1, 2, 3]}\n"), 1);
  // Channels first: no elements stay contiguous.
  add_case(fused("f32", "[1, 8, 12, 4]", "[1]", roll() + "%r = transpose(%q) {perm = [0, 3, 1, 2]}\n"), 1);
  // Every second pixel along both axes, in the order of a patch merging.
  const std::string halves =
      integers("zero", "0", 1) + integers("one", "1", 1) + integers("two", "2", 1) +
      integers("end", "100", 1) +
      "%e = slice(%a, %zero, %end, %one, %two)\n%o = slice(%a, %one, %end, %one, %two)\n"
      "%ee = slice(%e, %zero, %end, %two, %two)\n%eo = slice(%e, %one, %end, %two, %two)\n"
      "%oe = slice(%o, %zero, %end, %two, %two)\n%oo = slice(%o, %one, %end, %two, %two)\n";
  add_case(fused("f32", "[2, 6, 8, 12]", "[1]", halves + "%r = concat(%ee, %oe, %eo, %oo) {axis = 3}\n"), 4);
  // From two values, reversed, and with slices along the last axis.
  add_case(fused("i64", "[5, 6]", "[3, 6]",
                 integers("last", "-1", 1) + integers("before", "-100", 1) + integers("zero", "0", 1) +
                     integers("one", "1", 1) + integers("minus", "-2", 1) +
                     "%s = slice(%a, %last, %before, %zero, %minus)\n%c = concat(%s, %b, %s) {axis = 0}\n"
                     "%d = slice(%c, %one, %last, %one)\n%r = concat(%d, %d) {axis = 1}\n"),
           1);
  add_case(fused("f16", "[4, 24]", "[4, 8]",
                 integers("eight", "8", 1) + integers("end", "24", 1) + integers("one", "1", 1) +
                     "%s = slice(%a, %eight, %end, %one)\n%r = concat(%b, %s, %b) {axis = 1}\n"),
           8);
  run_all();
}

TEST(MovementChain, FewerThanTwoMovementsAreNoChain) {
  for (const char* ops :
       {"%r = transpose(%a) {perm = [1, 0]}\n", "%r = concat(%a, %b) {axis = 1}\n",
        "%s = concat(%a, %b) {axis = 1}\n%t = relu(%s)\n%r = concat(%t, %t) {axis = 0}\n"}) {
    const NodeCase node_case = make_case(fused("f32", "[4, 6]", "[4, 2]", ops));
    EXPECT_FALSE(cuda::movement_chain_of(Group::of(*node_case.node))) << ops;
  }
}

/// Its elements have offsets of more than 32 bits, though the result is small.
TEST(MovementChain, LargeResultsInBetweenAreNoChain) {
  const auto chain_of = [](const std::string& size, const std::string& sum) {
    const std::string text = "graph @g(%x: u8[" + size +
                             "]) -> (%y: u8[1] as \"y\") {\n%y: u8[1] = fused(%x) {kind = \"t\"} ((%a: u8[" +
                             size + "]) -> (%r) {\n" + test::integers("zero", "0", 1) +
                             test::integers("one", "1", 1) + "%c: u8[" + sum +
                             "] = concat(%a, %a, %a) {axis = 0}\n%r: u8[1] = slice(%c, %zero, %one)\n})\n}";
    const auto graph = test::parsed(text);
    return cuda::movement_chain_of(Group::of(*graph->body().nodes().back()));
  };
  EXPECT_TRUE(chain_of("2000", "6000"));
  EXPECT_FALSE(chain_of("2000000000", "6000000000"));
}

} // namespace
} // namespace lanner
