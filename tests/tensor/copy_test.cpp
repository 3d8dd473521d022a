#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "expect_error.h"
#include "tensor/cast.h"
#include "tensor/layout_offsets.h"

namespace lanner {
namespace {

Tensor counted(Shape shape) {
  Tensor tensor = Tensor::allocate(DType::f32, std::move(shape));
  std::iota(tensor.as<float>().begin(), tensor.as<float>().end(), 1.0f);
  return tensor;
}

template<typename To, typename From>
std::vector<To> cast(const std::vector<From>& values, DType from_type, DType to_type, CastRules rules = {}) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  const Tensor source = Tensor::from<From>(values, shape);
  Tensor middle = Tensor::allocate(from_type, shape), low = Tensor::allocate(to_type, shape);
  Tensor result = Tensor::allocate(dtype_of<To>(), shape);
  copy_tensor(source, middle);
  copy_tensor(middle, low, rules);
  copy_tensor(low, result);
  return {result.as<To>().begin(), result.as<To>().end()};
}

std::vector<int> codes(const std::vector<float>& values, DType type, CastRules rules = {}) {
  const Tensor source = Tensor::from<float>(values, {static_cast<std::int64_t>(values.size())});
  Tensor low = Tensor::zeros(type, source.shape());
  copy_tensor(source, low, rules);
  const auto* bytes = static_cast<const std::uint8_t*>(low.data());
  return {bytes, bytes + low.bytes()};
}

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan_value = std::numeric_limits<float>::quiet_NaN();

TEST(Copy, EveryLayoutHoldsTheElements) {
  const Tensor row = counted({2, 19, 5, 7});
  for (const char* text : {"acdb", "dcba", "aBcd8b", "aBcd16b", "ABcd16b16a", "ABcd4b16a4b", "cBda4b"}) {
    const Layout layout = Layout::parse(text);
    Tensor stored = Tensor::allocate(DType::f32, row.shape(), layout);
    std::fill(stored.as<float>().begin(), stored.as<float>().end(), -1.0f);
    copy_tensor(row, stored);
    const LayoutOffsets offsets(layout, row.shape());
    const std::int64_t last =
        offsets.offset(0, 1) + offsets.offset(1, 18) + offsets.offset(2, 4) + offsets.offset(3, 6);
    EXPECT_EQ(stored.as<float>()[static_cast<std::size_t>(last)], row.as<float>().back()) << text;
    float sum = 0;
    for (float value : stored.as<float>()) sum += value;
    EXPECT_EQ(sum, 1330.0f * 1331.0f / 2) << text << ": padding is not zero";
    const Tensor back = stored.clone();
    EXPECT_TRUE(std::equal(row.as<float>().begin(), row.as<float>().end(), back.as<float>().begin())) << text;
  }
}

TEST(Copy, BlockedToBlocked) {
  const Tensor row = counted({3, 20, 70});
  Tensor a = Tensor::allocate(DType::f32, row.shape(), Layout::parse("aBc8b"));
  Tensor b = Tensor::allocate(DType::f16, row.shape(), Layout::parse("acB16b"));
  copy_tensor(row, a);
  copy_tensor(a, b);
  const Tensor back = b.clone();
  for (std::size_t i = 0; i < 4200; ++i)
    ASSERT_EQ(static_cast<float>(back.as<Half>()[i]), static_cast<float>(Half(row.as<float>()[i])));
}

TEST(Copy, RefusesOtherShapes) {
  const Tensor from = counted({2, 3});
  Tensor to = Tensor::allocate(DType::f32, {3, 2});
  LANNER_EXPECT_ERROR(copy_tensor(from, to), ErrorCode::invalid_argument, "[3, 2]");
}

TEST(Copy, PackedTypesInAnyLayout) {
  const std::vector<std::int32_t> values{-8, 7, 3, -1, 0, 5, 2, -3, 1};
  const Tensor source = Tensor::from<std::int32_t>(values, {3, 3});
  Tensor packed = Tensor::allocate(DType::i4, {3, 3}),
         turned = Tensor::allocate(DType::i4, {3, 3}, Layout::parse("ba"));
  copy_tensor(source, packed);
  EXPECT_EQ(static_cast<const std::uint8_t*>(packed.data())[0], 0x78); // Lowest bits first.
  EXPECT_EQ(static_cast<const std::uint8_t*>(packed.data())[4], 0x01); // Zeros after the last element.
  copy_tensor(packed, turned);
  Tensor back = Tensor::allocate(DType::i32, {3, 3});
  copy_tensor(turned, back);
  EXPECT_TRUE(std::equal(values.begin(), values.end(), back.as<std::int32_t>().begin()));
}

TEST(Cast, IntegersKeepLowBits) {
  EXPECT_EQ((cast<std::int8_t>(std::vector<std::int16_t>{200, -129, 5}, DType::i16, DType::i8)),
            (std::vector<std::int8_t>{-56, 127, 5}));
  EXPECT_EQ((cast<std::uint64_t>(std::vector<std::uint64_t>{UINT64_MAX}, DType::u64, DType::u64))[0],
            UINT64_MAX);
  EXPECT_EQ((cast<std::int32_t>(std::vector<std::int32_t>{9, -9, 3}, DType::i32, DType::i4)),
            (std::vector<std::int32_t>{-7, 7, 3}));
  EXPECT_EQ((cast<std::int32_t>(std::vector<std::int32_t>{5, 2, -1}, DType::i32, DType::u2)),
            (std::vector<std::int32_t>{1, 2, 3}));
}

TEST(Cast, FloatsTruncate) {
  EXPECT_EQ(
      (cast<std::int32_t>(std::vector<float>{1.9f, -1.9f, 3e9f, -3e9f, nan_value}, DType::f32, DType::i32)),
      (std::vector<std::int32_t>{1, -1, INT32_MAX, INT32_MIN, 0}));
  EXPECT_EQ((cast<std::int64_t>(std::vector<float>{inf, -inf}, DType::f32, DType::i64)),
            (std::vector<std::int64_t>{INT64_MAX, INT64_MIN}));
  EXPECT_EQ((cast<std::uint8_t>(std::vector<float>{300.0f, 255.9f}, DType::f32, DType::u8)),
            (std::vector<std::uint8_t>{44, 255}));
  EXPECT_EQ((cast<bool>(std::vector<float>{0.0f, -0.0f, 0.3f, nan_value}, DType::f32, DType::boolean)),
            (std::vector<bool>{false, false, true, true}));
}

TEST(Cast, WideIntegersRoundOnce) {
  // 2^24 + 1 + 2^-30 relative: above the tie between two floats, but lost once rounded to double.
  const std::int64_t above_tie = (1ll << 62) + (1ll << 38) + 1;
  EXPECT_EQ((cast<float>(std::vector<std::int64_t>{above_tie}, DType::i64, DType::f32))[0],
            static_cast<float>(above_tie));
  const double half_tie = 1.0 + 0x1p-11 + 0x1p-40; // Just above the tie between 1 and 1 + 2^-10.
  EXPECT_EQ((cast<float>(std::vector<double>{half_tie}, DType::f64, DType::f16))[0], 1.0f + 0x1p-10f);
  EXPECT_EQ((cast<float>(std::vector<double>{-half_tie}, DType::f64, DType::f16))[0], -1.0f - 0x1p-10f);
}

// Clang has the type on x86 from version 15 on.
#if !defined(__clang__) || __clang_major__ >= 15
TEST(Cast, HalfMatchesTheCompiler) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits));
    Half mine;
    mine.bits = static_cast<std::uint16_t>(bits);
    const float expected = static_cast<float>(half), value = static_cast<float>(mine);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value));
      continue;
    }
    ASSERT_EQ(value, expected);
    for (float probe :
         {expected, std::nextafter(expected, inf), expected * 1.00048828125f, expected * 1.0003f})
      ASSERT_EQ(Half(probe).bits, std::bit_cast<std::uint16_t>(static_cast<_Float16>(probe))) << probe;
  }
  EXPECT_EQ(Half(65519.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(nan_value).bits & 0x7e00, 0x7e00);
}
#endif

TEST(Cast, BFloat16RoundsToEven) {
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(1.00390625f).bits, 0x3f80); // Tie to even.
  EXPECT_EQ(BFloat16(1.01171875f).bits, 0x3f82);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(nan_value))));
}

// The codes in the tables of ONNX's Cast operator and its reference.
TEST(Cast, Float8Tables) {
  const std::vector<float> values{0.0f, -0.0f, nan_value, inf, -inf, 5.5f, -100.0f, 0.25f, 1e6f, -1e6f};
  const CastRules loose{.saturate = false};
  EXPECT_EQ(codes(values, DType::f8e4m3fn), (std::vector{0, 128, 127, 126, 254, 75, 236, 40, 126, 254}));
  EXPECT_EQ(codes(values, DType::f8e4m3fn, loose),
            (std::vector{0, 128, 127, 127, 255, 75, 236, 40, 127, 255}));
  EXPECT_EQ(codes(values, DType::f8e4m3fnuz), (std::vector{0, 0, 128, 127, 255, 83, 244, 48, 127, 255}));
  EXPECT_EQ(codes(values, DType::f8e4m3fnuz, loose),
            (std::vector{0, 0, 128, 128, 128, 83, 244, 48, 128, 128}));
  EXPECT_EQ(codes(values, DType::f8e5m2), (std::vector{0, 128, 126, 123, 251, 70, 214, 52, 123, 251}));
  EXPECT_EQ(codes(values, DType::f8e5m2, loose), (std::vector{0, 128, 126, 124, 252, 70, 214, 52, 124, 252}));
  EXPECT_EQ(codes(values, DType::f8e5m2fnuz), (std::vector{0, 0, 128, 127, 255, 74, 218, 56, 127, 255}));
}

TEST(Cast, MinifloatsRoundTrip) {
  for (DType type : {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f8e8m0}) {
    for (int code = 0; code < 256; ++code) {
      const float value = decode_minifloat(type, static_cast<std::uint8_t>(code));
      if (std::isnan(value)) continue;
      EXPECT_EQ(encode_minifloat(type, value, {.saturate = false}), code) << to_string(type);
    }
  }
  EXPECT_EQ(decode_minifloat(DType::f8e4m3fn, 0x7e), 448.0f);
  EXPECT_EQ(decode_minifloat(DType::f8e5m2, 0x7b), 57344.0f);
  EXPECT_EQ(decode_minifloat(DType::f8e5m2fnuz, 0x01), 0x1p-17f);
}

TEST(Cast, Float4AlwaysSaturates) {
  const std::vector<float> values{0, -0.0f, nan_value, inf, -inf, 7, 5, 5.5f, -100, 0.25f, 0.75f, 1.25f};
  EXPECT_EQ(codes(values, DType::f4e2m1), (std::vector{0x80, 0x78, 0x7f, 0x76, 0x0f, 0x22}));
}

TEST(Cast, PowersOfTwo) {
  const std::vector<float> values{0.25f, 1.1f, 1.5f, 1.49f, inf, nan_value, 0.0f};
  EXPECT_EQ(codes(values, DType::f8e8m0), (std::vector{125, 128, 128, 128, 254, 255, 0}));
  EXPECT_EQ(codes(values, DType::f8e8m0, {.power_rounding = PowerRounding::down}),
            (std::vector{125, 127, 127, 127, 254, 255, 0}));
  EXPECT_EQ(codes(values, DType::f8e8m0, {.saturate = false, .power_rounding = PowerRounding::nearest}),
            (std::vector{125, 127, 128, 127, 255, 255, 255}));
}

TEST(Cast, Strings) {
  const std::vector<std::string> texts{"3.14", "+INF", "-inf", "NaN", " 1e-5 ", "1000", "1e400"};
  const Tensor source = Tensor::from<std::string>(texts, {7});
  Tensor numbers = Tensor::allocate(DType::f32, {7}), back = Tensor::allocate(DType::string, {7});
  copy_tensor(source, numbers);
  copy_tensor(numbers, back);
  const std::vector<std::string> expected{"3.14", "inf", "-inf", "nan", "1e-05", "1000.0", "inf"};
  EXPECT_EQ(std::vector<std::string>(back.as<std::string>().begin(), back.as<std::string>().end()), expected);
  Tensor whole = Tensor::allocate(DType::i64, {});
  copy_tensor(Tensor::scalar<std::string>("-9007199254740993"), whole);
  EXPECT_EQ(whole.as<std::int64_t>()[0], -9007199254740993);
  for (const char* bad : {"Hello", "", "1.5x", "+-1"})
    LANNER_EXPECT_ERROR(copy_tensor(Tensor::scalar<std::string>(bad), whole), ErrorCode::bad_data,
                        "is not a number");
}

TEST(Cast, ComplexStaysComplex) {
  Tensor single = Tensor::zeros(DType::c64, {2}), wide = Tensor::zeros(DType::c128, {2});
  static_cast<float*>(single.data())[3] = 1.5f;
  copy_tensor(single, wide);
  EXPECT_EQ(static_cast<double*>(wide.data())[3], 1.5);
  Tensor real = Tensor::zeros(DType::f32, {2});
  LANNER_EXPECT_ERROR(copy_tensor(single, real), ErrorCode::unsupported, "c64 to f32");
}

TEST(Tensor, ViewsShareMemory) {
  Tensor tensor = counted({2, 6});
  const Tensor view = tensor.reshaped({3, 4});
  tensor.as<float>()[0] = 42;
  EXPECT_EQ(view.as<float>()[0], 42);
  EXPECT_EQ(tensor.clone().as<float>()[0], 42);
  EXPECT_NE(tensor.clone().data(), tensor.data());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0u);
  LANNER_EXPECT_ERROR(tensor.reshaped({5}), ErrorCode::invalid_argument, "[5]");
  LANNER_EXPECT_ERROR(tensor.as<double>(), ErrorCode::internal, "f64");
}

TEST(Tensor, LimitsAreCheckedBeforeAllocation) {
  Limits limits;
  limits.tensor_bytes = 15;
  LANNER_EXPECT_ERROR(Tensor::allocate(DType::f32, {4}, {}, {}, limits), ErrorCode::limit_exceeded,
                      "16 bytes");
  LANNER_EXPECT_ERROR(Tensor::allocate(DType::f32, {1ll << 40, 1ll << 40}), ErrorCode::limit_exceeded, "");
  LANNER_EXPECT_ERROR(Tensor::allocate(DType::f32, {-1}), ErrorCode::invalid_argument, "negative");
  EXPECT_TRUE(Tensor::allocate(DType::f32, {0}).defined());
  EXPECT_EQ(Tensor::allocate(DType::string, {3}).as<std::string>()[2], "");
}

} // namespace
} // namespace lanner
