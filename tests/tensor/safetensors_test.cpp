#include "tensor/safetensors.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <lanner/tensor_file.h>

#include "expect_error.h"
#include "temporary_folder.h"
#include "tensor/safetensors_types.h"

namespace lanner {
namespace {

std::string file_text(const std::string& header, const std::string& data, std::uint64_t length = 0) {
  if (length == 0) length = header.size();
  std::string text;
  for (int i = 0; i < 8; ++i) text.push_back(static_cast<char>(length >> (8 * i)));
  return text + header + data;
}

Safetensors open_text(const std::string& text, const Limits& limits = {}) {
  auto owned = std::make_shared<std::string>(text);
  return Safetensors::open(open_bytes(std::as_bytes(std::span(*owned)), owned, "hostile.safetensors"),
                           limits);
}

std::string entry(const char* name, const char* dtype, const char* shape, const char* offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape, offsets);
}

void refuse(const std::string& header, std::size_t data_bytes, ErrorCode code, const char* text) {
  LANNER_EXPECT_ERROR(open_text(file_text(header, std::string(data_bytes, '\0'))), code, text);
  LANNER_EXPECT_ERROR(open_text(file_text(header, std::string(data_bytes, '\0'))), code,
                      "hostile.safetensors: ");
}

TEST(Safetensors, RoundTrip) {
  const TemporaryFolder folder;
  Tensor weights = Tensor::allocate(DType::f32, {3, 5});
  std::iota(weights.as<float>().begin(), weights.as<float>().end(), 0.5f);
  const Tensor steps = Tensor::from<std::int64_t>(std::vector<std::int64_t>{-1, 7}, {2});
  const Tensor empty = Tensor::zeros(DType::f16, {0, 4}), one = Tensor::scalar(true);
  const SafetensorsItem items[] = {safetensors_item("conv/w", weights), safetensors_item("empty", empty),
                                   safetensors_item("steps \"x\"", steps), safetensors_item("one", one)};
  write_safetensors(folder / "w.safetensors", items, {{"format", "1"}, {"name", "größe"}});
  EXPECT_EQ(folder.entries(), 1u);

  const Safetensors file = Safetensors::open(open_path(folder / "w.safetensors"));
  EXPECT_EQ(file.metadata().at("name"), "größe");
  ASSERT_EQ(file.entries().size(), 4u);
  EXPECT_EQ(file.entries()[0].name, "conv/w");
  const Tensor back = file.tensor("conv/w");
  EXPECT_EQ(back.shape(), weights.shape());
  EXPECT_TRUE(std::equal(weights.as<float>().begin(), weights.as<float>().end(), back.as<float>().begin()));
  EXPECT_EQ(file.tensor("steps \"x\"").as<std::int64_t>()[1], 7);
  EXPECT_EQ(file.tensor("empty").elements(), 0);
  EXPECT_TRUE(file.tensor("one").as<bool>()[0]);
  for (const SafetensorsEntry& found : file.entries())
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.bytes(found).data()) % 64, 0u) << found.name;
  LANNER_EXPECT_ERROR(file.tensor("none"), ErrorCode::not_found, "\"none\"");
}

TEST(Safetensors, ViewsOutliveTheFile) {
  const TemporaryFolder folder;
  const Tensor source = Tensor::scalar(2.5f);
  const SafetensorsItem items[] = {safetensors_item("x", source)};
  write_safetensors(folder / "w.safetensors", items);
  Tensor view;
  {
    const Safetensors file = Safetensors::open(open_path(folder / "w.safetensors"));
    view = file.tensor("x");
    EXPECT_EQ(view.data(), file.bytes(file.entries()[0]).data());
  }
  EXPECT_EQ(view.as<float>()[0], 2.5f);
}

TEST(Safetensors, UnalignedTensorsAreCopied) {
  // No padding: the tensors are not aligned, so they are copied.
  const std::string header =
      "{" + entry("a", "U8", "[1]", "[0,1]") + "," + entry("b", "F32", "[]", "[1,5]") + "}";
  const float value = 1.5f;
  std::string data(5, '\x07');
  std::memcpy(data.data() + 1, &value, sizeof value);
  const Safetensors file = open_text(file_text(header, data));
  EXPECT_EQ(file.tensor("a").as<std::uint8_t>()[0], 7);
  EXPECT_EQ(file.tensor("b").as<float>()[0], 1.5f);
  EXPECT_TRUE(file.metadata().empty());
  EXPECT_TRUE(open_text(file_text("{}", "")).entries().empty());
}

TEST(Safetensors, EveryTypeKeepsItsName) {
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto type = static_cast<DType>(i);
    if (safetensors_has(type))
      EXPECT_EQ(safetensors_type(safetensors_name(type)), type);
    else
      EXPECT_TRUE(type == DType::string || type == DType::c128 || bit_width(type) < 8 ||
                  to_string(type).ends_with("fnuz"));
  }
}

TEST(Safetensors, InvalidHeadersAreRefused) {
  for (const std::string& text : {std::string(), std::string("1234567"), file_text("", "", 0)})
    LANNER_EXPECT_ERROR(open_text(text), ErrorCode::bad_data, "hostile.safetensors");
  LANNER_EXPECT_ERROR(open_text(file_text("{}", "", 3)), ErrorCode::bad_data, "a header of 3 bytes");
  LANNER_EXPECT_ERROR(open_text(file_text("{}", "", UINT64_MAX)), ErrorCode::limit_exceeded, "header");
  LANNER_EXPECT_ERROR(open_text(file_text(" {}", "")), ErrorCode::bad_data, "byte 8");
  LANNER_EXPECT_ERROR(open_text(file_text("[]", "")), ErrorCode::bad_data, "byte 8");
  LANNER_EXPECT_ERROR(open_text(file_text("{\"a\"", "")), ErrorCode::bad_data, "json");
  LANNER_EXPECT_ERROR(open_text(file_text("{}", "x")), ErrorCode::bad_data, "1 follow the header");
}

TEST(Safetensors, InvalidEntriesAreRefused) {
  const auto one = [](const char* dtype, const char* shape, const char* offsets) {
    return "{" + entry("w", dtype, shape, offsets) + "}";
  };
  refuse(one("F32", "[2]", "[0,7]"), 8, ErrorCode::bad_data, "8 bytes of f32 [2]");
  refuse(one("F32", "[2]", "[8,0]"), 8, ErrorCode::bad_data, "[8, 0]");
  refuse(one("F32", "[2]", "[0,8]"), 7, ErrorCode::bad_data, "7 follow");
  refuse(one("F32", "[2]", "[4,12]"), 12, ErrorCode::bad_data, "starts at data byte 4");
  refuse(one("F32", "[-2]", "[0,8]"), 8, ErrorCode::bad_data, "whole number");
  refuse(one("F32", "[2.0]", "[0,8]"), 8, ErrorCode::bad_data, "whole number");
  refuse(one("F32", "[18446744073709551615]", "[0,8]"), 8, ErrorCode::bad_data, "whole number");
  refuse(one("F32", "[4611686018427387904,4]", "[0,0]"), 0, ErrorCode::limit_exceeded, "shape");
  refuse(one("F32", "2", "[0,8]"), 8, ErrorCode::bad_data, "not an array");
  refuse(one("F32", "[2]", "[0]"), 8, ErrorCode::bad_data, "two numbers");
  refuse(one("F99", "[2]", "[0,8]"), 8, ErrorCode::unsupported, "\"F99\"");
  refuse(R"({"w":7})", 0, ErrorCode::bad_data, "there is no \"dtype\"");
  refuse(R"({"w":{"dtype":3,"shape":[],"data_offsets":[0,0]}})", 0, ErrorCode::bad_data, "not a string");
  refuse(R"({"__metadata__":{"a":1}})", 0, ErrorCode::bad_data, "__metadata__");
  refuse(R"({"__metadata__":[]})", 0, ErrorCode::bad_data, "__metadata__");
  refuse("{\"a\":" + std::string(100'000, '['), 0, ErrorCode::limit_exceeded, "nested deeper");
}

TEST(Safetensors, RefusesOverlapAndDuplicates) {
  const std::string a = entry("a", "F32", "[2]", "[0,8]");
  refuse("{" + a + "," + entry("b", "F32", "[2]", "[4,12]") + "}", 12, ErrorCode::bad_data, "overlap");
  refuse("{" + a + "," + entry("b", "F32", "[2]", "[0,8]") + "}", 8, ErrorCode::bad_data, "overlap");
  refuse("{" + a + "," + entry("b", "F32", "[2]", "[12,20]") + "}", 20, ErrorCode::bad_data, "gap");
  refuse("{" + a + "," + a + "}", 8, ErrorCode::bad_data, "\"a\" appears twice");
}

TEST(Safetensors, BoundsRankAndSize) {
  Limits limits;
  limits.rank = 1;
  limits.tensor_bytes = 4;
  const std::string deep = "{" + entry("w", "U8", "[1,1]", "[0,1]") + "}";
  LANNER_EXPECT_ERROR(open_text(file_text(deep, "x"), limits), ErrorCode::limit_exceeded, "rank 2");
  const std::string large = "{" + entry("w", "U8", "[5]", "[0,5]") + "}";
  LANNER_EXPECT_ERROR(open_text(file_text(large, "xxxxx"), limits), ErrorCode::limit_exceeded, "5 bytes");
}

TEST(Safetensors, RefusesBadBools) {
  const Safetensors file = open_text(file_text("{" + entry("w", "BOOL", "[2]", "[0,2]") + "}", "\x01\x02"));
  LANNER_EXPECT_ERROR(file.tensor("w"), ErrorCode::bad_data, "neither 0 nor 1");
}

TEST(Safetensors, WriterRefusesInvalidItems) {
  const TemporaryFolder folder;
  const auto refuse_item = [&](SafetensorsItem item, ErrorCode code, const char* text) {
    const SafetensorsItem items[] = {std::move(item)};
    LANNER_EXPECT_ERROR(write_safetensors(folder / "w.safetensors", items), code, text);
  };
  const std::byte data[4]{};
  refuse_item({"w", DType::i4, {2}, std::span(data).first(1)}, ErrorCode::unsupported, "i4");
  refuse_item({"w", DType::f32, {2}, data}, ErrorCode::invalid_argument, "takes 8");
  refuse_item({"__pad_3", DType::u8, {4}, data}, ErrorCode::invalid_argument, "reserved");
  refuse_item({"__metadata__", DType::u8, {4}, data}, ErrorCode::invalid_argument, "reserved");
  refuse_item({"\xff", DType::u8, {4}, data}, ErrorCode::invalid_argument, "UTF-8");
  const SafetensorsItem twice[] = {{"w", DType::u8, {4}, data}, {"w", DType::u8, {4}, data}};
  LANNER_EXPECT_ERROR(write_safetensors(folder / "w.safetensors", twice), ErrorCode::invalid_argument,
                      "twice");
  EXPECT_EQ(folder.entries(), 0u);
  LANNER_EXPECT_ERROR(safetensors_item("w", Tensor::zeros(DType::f32, {1, 8, 2, 2}, Layout::parse("aBcd8b"))),
                      ErrorCode::invalid_argument, "row-major");
}

TEST(LoadTensors, GivesCopiesByName) {
  const TemporaryFolder folder;
  const Tensor steps = Tensor::from<std::int64_t>(std::vector<std::int64_t>{-1, 7}, {2}),
               one = Tensor::scalar(true);
  const SafetensorsItem items[] = {safetensors_item("steps", steps), safetensors_item("one", one)};
  write_safetensors(folder / "w.safetensors", items);
  std::map<std::string, Tensor> tensors = load_tensors(folder / "w.safetensors");
  ASSERT_EQ(tensors.size(), 2u); // padding tensors are left out
  EXPECT_TRUE(tensors.at("one").as<bool>()[0]);
  tensors.at("steps").as<std::int64_t>()[0] = 3; // no longer the file's
  EXPECT_EQ(load_tensors(folder / "w.safetensors").at("steps").as<std::int64_t>()[0], -1);
  LANNER_EXPECT_ERROR(load_tensors(folder / "absent"), ErrorCode::not_found, "absent");
  folder.write("bad", file_text("{", ""));
  LANNER_EXPECT_ERROR(load_tensors(folder / "bad"), ErrorCode::bad_data, "bad");
}

} // namespace
} // namespace lanner
