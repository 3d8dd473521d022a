// Choice of resident weights, and placement of streamed ones in the ring.

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "program/weights/weight_choice.h"
#include "program/weights/weight_ring.h"

namespace lanner::test {
namespace {

constexpr Device gpu{DeviceKind::cuda, 0};
constexpr std::uint64_t unit = 64 << 10; ///< The least that is streamed.

/// A program whose step i reads `units[i]` units of weights of its own.
class Weights {
public:
  explicit Weights(const std::vector<std::int64_t>& units) {
    needs_.device = gpu;
    for (const std::int64_t count : units) add(Tensor::allocate(DType::u8, {count * std::int64_t{unit}}));
  }
  Weights& add(const Tensor& form, bool recorded = true) {
    const auto number = static_cast<std::uint32_t>(needs_.forms.size());
    needs_.forms.push_back(form);
    needs_.devices.push_back(gpu);
    needs_.recorded.push_back(recorded);
    if (recorded) needs_.readers.push_back({0, number, {number}});
    return *this;
  }
  const WeightNeeds& needs() const { return needs_; }
  WeightChoice choose(std::optional<std::uint64_t> units) const {
    const WeightNeeds* const list[] = {&needs_};
    return choose_weights(list, units ? std::optional(*units * unit) : std::nullopt);
  }
  /// Indices of the streamed ones.
  std::vector<std::size_t> streamed(std::uint64_t units) const {
    const WeightChoice choice = choose(units);
    std::vector<std::size_t> numbers;
    for (std::size_t c = 0; c < needs_.forms.size(); ++c)
      if (choice.streamed.contains(form_of(needs_.forms[c], gpu))) numbers.push_back(c);
    return numbers;
  }

private:
  WeightNeeds needs_;
};

using Numbers = std::vector<std::size_t>;

TEST(WeightChoice, AllAreResidentWithoutABudgetOrWithEnough) {
  const Weights weights({3, 1, 2});
  for (const std::optional<std::uint64_t> budget :
       {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(6)}) {
    const WeightChoice choice = weights.choose(budget);
    EXPECT_TRUE(choice.streamed.empty());
    EXPECT_EQ(choice.bytes, (WeightBytes{6 * unit, 6 * unit, 3 * unit, 6 * unit, 0}));
  }
}

TEST(WeightChoice, TheLargestAreResident) {
  const Weights weights({1, 9, 1, 1, 5, 1});
  EXPECT_EQ(weights.streamed(17), (Numbers{2, 3, 5}));
  EXPECT_EQ(weights.streamed(16), (Numbers{0, 2, 3, 5}));
  EXPECT_EQ(weights.choose(16).bytes.resident, 14 * unit);
  EXPECT_EQ(weights.choose(16).bytes.ring, 2 * unit); // of consecutive ones
  EXPECT_EQ(weights.streamed(15), (Numbers{0, 2, 3, 4, 5}));
}

TEST(WeightChoice, LeastBudgetHoldsTheLargestStep) {
  const Weights weights({1, 9, 1, 1, 5, 1});
  EXPECT_EQ(weights.streamed(9), (Numbers{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(weights.choose(9).bytes.ring, 9 * unit);
  LANNER_EXPECT_ERROR(
      weights.choose(8), ErrorCode::invalid_argument,
      "weight budget: 524288 bytes are too few for weights of 1179648 bytes: the network runs "
      "with 589824 at least");
}

TEST(WeightChoice, SmallAndUnrecordedWeightsAreResident) {
  Weights weights({2, 2, 2});
  weights.add(Tensor::allocate(DType::u8, {std::int64_t{unit} - 256}));
  weights.add(Tensor::allocate(DType::u8, {4 * std::int64_t{unit}}), false);
  const WeightChoice choice = weights.choose(9);
  EXPECT_EQ(choice.streamed.size(), 3u);
  EXPECT_EQ(choice.bytes.streamable, 6 * unit);
  EXPECT_EQ(choice.bytes.least, 7 * unit - 256);
  EXPECT_EQ(choice.bytes.resident, 5 * unit - 256);
}

TEST(WeightChoice, StreamedOfEqualWeightsAreSpreadOverTheRun) {
  const Weights weights({1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_EQ(weights.streamed(6), (Numbers{1, 3, 5, 7}));
  EXPECT_EQ(weights.streamed(7), (Numbers{3, 5, 7}));
}

TEST(WeightChoice, IsSharedByAllPrograms) {
  const Weights first({4, 2, 2});
  Weights second({1});
  for (const Tensor& form : first.needs().forms) second.add(form);
  const WeightNeeds* const list[] = {&first.needs(), &second.needs()};
  const WeightChoice choice = choose_weights(list, 8 * unit);
  EXPECT_EQ(choice.bytes.all, 9 * unit);
  EXPECT_FALSE(choice.streamed.contains(form_of(first.needs().forms[0], gpu)));
  EXPECT_EQ(choice.bytes.resident + choice.bytes.ring, 8 * unit);
}

/// A copy, or one before it, waits for the last reader of the bytes that it overwrites.
TEST(WeightRing, NoBlockIsOverwrittenBeforeItIsRead) {
  std::mt19937 random(3);
  int waits = 0, ahead = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<WeightBlock> blocks(1 + random() % 12);
    std::uint64_t largest = 0, all = 0;
    std::size_t step = 0;
    for (WeightBlock& block : blocks) {
      block.step = step += 1 + random() % 3;
      block.bytes = 256 * (1 + random() % 9);
      largest = std::max(largest, block.bytes), all += block.bytes;
    }
    const std::uint64_t capacity = largest + 256 * (random() % 12);
    const std::uint64_t used = place_in_ring(blocks, capacity);
    EXPECT_LE(used, capacity);
    EXPECT_LE(used, all);
    std::size_t ended = 0; // steps before this one, by what copies so far waited for
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const WeightBlock& block = blocks[b];
      ASSERT_LE(block.offset + block.bytes, used);
      if (block.behind != WeightBlock::nothing) {
        ASSERT_LT(block.behind, block.step);
        ended = std::max(ended, block.behind + 1);
        ++waits;
        ahead += b > 0 && block.behind < blocks[b - 1].step;
      }
      for (std::size_t a = 0; a < b; ++a)
        ASSERT_TRUE(blocks[a].step < ended || blocks[a].offset >= block.offset + block.bytes ||
                    block.offset >= blocks[a].offset + blocks[a].bytes);
    }
  }
  EXPECT_GT(waits, 1000);
  EXPECT_GT(ahead, 500);
}

} // namespace
} // namespace lanner::test
