// Quantised storage of reals: matches QuantizeLinear and DequantizeLinear where these are defined.

#include <cmath>

#include <gtest/gtest.h>

#include "graph/storage/quantization.h"
#include "graph/text/text.h"
#include "ops/definition/stored_reals.h"
#include "ops/table/table.h"
#include "program/weights/packing.h"

namespace lanner {
namespace {

Tensor reals(const std::vector<float>& numbers, Shape shape) {
  return Tensor::from<float>(numbers, std::move(shape));
}

Tensor wide(const Tensor& tensor) {
  return pack(tensor, of_type(DType::f32));
}

std::vector<float> floats(const Tensor& tensor) {
  const Tensor all = wide(tensor);
  const auto values = all.as<float>();
  return {values.begin(), values.end()};
}

/// The storage of %x in a graph of this type, after the given constants.
struct Stored {
  std::unique_ptr<Graph> graph;
  Storage storage;
};

Stored stored(std::string_view type, std::string_view storage, std::string_view constants = "") {
  Stored made;
  made.graph = parse_graph(fmt::format("graph @g(%in: {0}) -> (%x) {{\n{2}\n  %x: {0} @ {1} = relu(%in)\n}}",
                                       type, storage, constants),
                           builtin_op_table());
  made.storage = made.graph->find("x")->storage;
  return made;
}

TEST(StoredReals, RoundHalvesToEvenAndSaturate) {
  const Stored s = stored("f32[8]", "i8 row scale=0.5 zero=1");
  const Tensor x = reals({0.25F, 0.75F, -0.25F, 1.25F, 1000, -1000, NAN, 0.6F}, {8});
  const Tensor packed = pack(x, s.storage);
  ASSERT_EQ(packed.dtype(), DType::i8);
  EXPECT_EQ(floats(packed), (std::vector<float>{1, 3, 1, 3, 127, -128, -128, 2}));
  const Tensor back = ops::reals_of(packed, s.storage, DType::f32, ops::stored_constant);
  EXPECT_EQ(floats(back), (std::vector<float>{0, 1, 0, 1, 63, -64.5F, -64.5F, 0.5F}));
}

TEST(StoredReals, HaveAScaleForEachIndexOfAnAxis) {
  const Stored rows = stored("f32[2, 3]", "i8 row scale=[0.5, 2.0] zero=[0, 1] axis=0");
  const Tensor x = reals({1, 2, 3, 4, 5, 7}, {2, 3});
  EXPECT_EQ(floats(pack(x, rows.storage)), (std::vector<float>{2, 4, 6, 3, 3, 5}));
  const Stored columns = stored("f32[2, 3]", "i8 row scale=[0.5, 1.0, 2.0] axis=1");
  EXPECT_EQ(floats(pack(x, columns.storage)), (std::vector<float>{2, 2, 2, 8, 5, 4}));
}

TEST(StoredReals, AnyLayout) {
  const Stored s = stored("f32[2, 3]", "i8 ba scale=[0.5, 2.0] axis=0");
  const Tensor x = reals({1, 2, 3, 4, 6, 8}, {2, 3});
  const Tensor packed = pack(x, s.storage);
  EXPECT_EQ(packed.layout(), Layout::parse("ba"));
  EXPECT_EQ(static_cast<const std::int8_t*>(packed.data())[1], 2); // of the second row
  EXPECT_EQ(floats(ops::reals_of(packed, s.storage, DType::f32, ops::stored_constant)), floats(x));
}

TEST(StoredReals, OfFourBitsInBlocks) {
  const Stored s = stored("f32[2, 4]", "i4 row scale=%s zero=%z axis=1 block=2",
                          "%s = constant() {value = f32[2, 2](1.0, 2.0, 0.5, 4.0)}\n"
                          "%z = constant() {value = i4[2, 2](hex 100f)}");
  const Tensor x = reals({1, -8, 4, 100, 0.5F, 1, 12, -40}, {2, 4});
  const Tensor packed = pack(x, s.storage);
  EXPECT_EQ(packed.bytes(), 4U);
  EXPECT_EQ(floats(packed), (std::vector<float>{1, -8, 3, 7, 0, 1, 3, -8}));
  EXPECT_EQ(floats(ops::reals_of(packed, s.storage, DType::f32, ops::stored_constant)),
            (std::vector<float>{1, -8, 4, 12, 0.5F, 1, 12, -32}));
}

TEST(StoredReals, OfMicroscalingFormats) {
  const Stored s = stored("f32[1, 64]", "f4e2m1 row scale=%s axis=1 block=32",
                          "%s = constant() {value = f8e8m0[1, 2](hex 7f81)}");
  std::vector<float> numbers(64, 3.0F);
  for (std::size_t i = 32; i < 64; ++i) numbers[i] = 24;
  const Tensor x = reals(numbers, {1, 64});
  const Tensor packed = pack(x, s.storage);
  EXPECT_EQ(packed.bytes(), 32U);
  EXPECT_EQ(floats(ops::reals_of(packed, s.storage, DType::f32, ops::stored_constant)), numbers);
}

TEST(StoredReals, QuantisedScales) {
  const Stored s =
      stored("f32[1, 32]", "f4e2m1 row scale=%s axis=1 block=16",
             "%g = constant() {value = f32[](0.25)}\n"
             "%s: f32[1, 2] @ f8e4m3fn row scale=%g = constant() {value = f8e4m3fn[1, 2](hex 4050)}");
  std::vector<float> numbers(32, 1.5F); // 3 * 2 * 0.25
  for (std::size_t i = 16; i < 32; ++i) numbers[i] = 12;
  const Tensor x = reals(numbers, {1, 32});
  const Tensor packed = pack(x, s.storage);
  EXPECT_EQ(floats(packed), [] {
    std::vector<float> stored(32, 3);
    for (std::size_t i = 16; i < 32; ++i) stored[i] = 6;
    return stored;
  }());
  EXPECT_EQ(floats(ops::reals_of(packed, s.storage, DType::f32, ops::stored_constant)), numbers);
}

TEST(StoredReals, OfHalvesAreRoundedAsHalves) {
  for (const char* type : {"f16", "bf16"}) {
    const Stored s = stored(fmt::format("{}[4]", type), "u8 row scale=0.1 zero=128");
    const DType dtype = parse_dtype(type);
    const Tensor x = pack(reals({0.1F, -0.3F, 12, -20}, {4}), of_type(dtype));
    const Tensor packed = pack(x, s.storage);
    EXPECT_EQ(floats(packed), (std::vector<float>{129, 125, 248, 0})) << type;
    const Tensor back = ops::reals_of(packed, s.storage, dtype, ops::stored_constant);
    EXPECT_EQ(back.dtype(), dtype);
    const Tensor wanted = pack(reals({0.1F, -0.3F, 12, -12.8F}, {4}), of_type(dtype));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(floats(back)[i], floats(wanted)[i], 0.05) << type;
  }
}

} // namespace
} // namespace lanner
