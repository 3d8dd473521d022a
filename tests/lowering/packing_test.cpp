#include "program/weights/packing.h"
#include "program/weights/weights.h"

#include <cstring>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

namespace lanner {
namespace {

Tensor counted(const Shape& shape) {
  Tensor tensor = Tensor::allocate(DType::f32, shape);
  std::iota(tensor.as<float>().begin(), tensor.as<float>().end(), 1.0F);
  return tensor;
}

Storage storage_of(std::string_view layout, std::optional<DType> dtype = {}) {
  Storage storage;
  storage.layout = Layout::parse(layout);
  storage.dtype = dtype;
  return storage;
}

TEST(Packing, GivesTheTensorItselfWhereNothingChanges) {
  const Tensor tensor = counted({2, 3});
  for (const Storage& storage :
       {Storage{}, storage_of("row", DType::f32), storage_of("ab"), storage_of("ab", DType::f32)})
    EXPECT_EQ(pack(tensor, storage).data(), tensor.data()) << storage.layout.to_string();
}

TEST(Packing, OrdersBlocksAndConverts) {
  const Tensor tensor = counted({2, 3});
  const auto turned = pack(tensor, storage_of("ba"));
  EXPECT_EQ(turned.layout(), Layout::parse("ba"));
  EXPECT_TRUE(std::ranges::equal(turned.as<float>(), std::vector<float>{1, 4, 2, 5, 3, 6}));
  const auto blocked = pack(tensor, storage_of("aB2b"));
  EXPECT_TRUE(std::ranges::equal(blocked.as<float>(), std::vector<float>{1, 2, 3, 0, 4, 5, 6, 0}));
  const auto whole = pack(tensor, storage_of("ba", DType::i32));
  EXPECT_TRUE(std::ranges::equal(whole.as<std::int32_t>(), std::vector<std::int32_t>{1, 4, 2, 5, 3, 6}));
}

TEST(Packing, UnpacksWhatWasPacked) {
  const Tensor tensor = counted({2, 3});
  const Tensor back = pack(pack(tensor, storage_of("aB2b")), Storage{});
  EXPECT_TRUE(std::ranges::equal(back.as<float>(), tensor.as<float>()));
}

TEST(WeightStore, MakesEachFormOnce) {
  WeightStore constants;
  const Tensor tensor = counted({2, 3});
  const Tensor first = constants.get(tensor, storage_of("ba"));
  EXPECT_EQ(constants.get(tensor, storage_of("ba")).data(), first.data());
  EXPECT_EQ(constants.get(tensor, storage_of("ba", DType::f32)).data(), first.data());
  EXPECT_NE(constants.get(tensor, storage_of("aB2b")).data(), first.data());
  EXPECT_NE(constants.get(tensor, storage_of("ba", DType::bf16)).data(), first.data());
  EXPECT_EQ(constants.get(tensor, Storage{}).data(), tensor.data());
}

// Both begin at the same address.
TEST(WeightStore, DistinguishesViewsOfOneMemory) {
  WeightStore constants;
  const Tensor wide = counted({2, 6}), tall = wide.reshaped({6, 2});
  ASSERT_EQ(wide.data(), tall.data());
  EXPECT_EQ(constants.get(wide, storage_of("ba")).as<float>()[1], 7);
  EXPECT_EQ(constants.get(tall, storage_of("ba")).as<float>()[1], 3);
}

TEST(WeightStore, KeepsTheMemoryThatIdentifiesATensor) {
  WeightStore constants;
  const void* packed = nullptr;
  {
    const Tensor tensor = counted({64, 64});
    packed = constants.get(tensor, storage_of("ba")).data();
  }
  for (int round = 0; round < 20; ++round) {
    const Tensor other = counted({64, 64});
    EXPECT_NE(constants.get(other, storage_of("ba")).data(), packed) << "round " << round;
  }
}

TEST(WeightStore, FindsTheConstantOfAForm) {
  WeightStore constants;
  const Tensor tensor = constants.add({"w", {}}, counted({2, 3}));
  const Tensor turned = constants.get(tensor, storage_of("ba")),
               half = constants.get(tensor, storage_of("ba", DType::bf16));
  for (const Tensor& form : {tensor, turned, half}) {
    ASSERT_TRUE(constants.find(form));
    EXPECT_EQ(constants.find(form)->recipe.weight, "w");
  }
  EXPECT_FALSE(constants.find(counted({2, 3})));
  EXPECT_FALSE(constants.find(tensor.reshaped({3, 2})));
  EXPECT_EQ(constants.get(Recipe{"w", {}}, storage_of("ba")).data(), turned.data());
}

TEST(WeightStore, DistinguishesWeightsThatShareMemory) {
  WeightStore constants;
  const Tensor tensor = counted({2, 3});
  const Tensor a = constants.add({"a", {}}, tensor), b = constants.add({"b", {}}, tensor);
  EXPECT_NE(a.data(), b.data());
  EXPECT_EQ(constants.find(a)->recipe.weight, "a");
  EXPECT_EQ(constants.find(b)->recipe.weight, "b");
}

TEST(WeightStore, CopySharesUnchangedConstants) {
  WeightStore constants;
  const Tensor a = constants.add({"a", {}}, counted({2, 3})), b = constants.add({"b", {}}, counted({2, 3}));
  const Tensor turned = constants.get(a, storage_of("ba"));
  const auto other =
      constants.without([](const StoredConstant& constant) { return constant.recipe.weight == "b"; });
  EXPECT_EQ(other->get(a, storage_of("ba")).data(), turned.data());
  EXPECT_FALSE(other->find(b));
  EXPECT_TRUE(constants.find(b));
}

TEST(WeightStore, ReturnsTheSameFormToAllThreads) {
  WeightStore constants;
  const Tensor tensor = counted({32, 32});
  std::vector<const void*> found(8, nullptr);
  std::vector<std::thread> threads;
  for (const void*& place : found)
    threads.emplace_back([&] { place = constants.get(tensor, storage_of("ba")).data(); });
  for (std::thread& thread : threads) thread.join();
  for (const void* place : found) EXPECT_EQ(place, found.front());
}

} // namespace
} // namespace lanner
