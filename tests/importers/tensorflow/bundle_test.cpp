#include "importers/tensorflow/bundle/bundle.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "importers/tensorflow/bundle/snappy.h"
#include "importers/tensorflow/bundle_file.h"
#include "source_dir.h"
#include "temporary_folder.h"

namespace lanner::test {
namespace {

using namespace bundle_file;
using tensorflow::Bundle;

constexpr std::int64_t f32 = 1, i32 = 3, text = 7, boolean = 10;

template<typename T>
std::vector<T> values(const Tensor& tensor) {
  const auto elements = tensor.as<T>();
  return {elements.begin(), elements.end()};
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Checkpoint two_tensors() {
  Checkpoint checkpoint;
  checkpoint.add("layer/bias", f32, {2}, bytes_of<float>({1.5F, -2}));
  checkpoint.add("layer/kernel", f32, {2, 3}, bytes_of<float>({1, 2, 3, 4, 5, 6}));
  return checkpoint;
}

TEST(Bundle, TensorsAreReadWithTheirShapesAndTypes) {
  const TemporaryFolder folder;
  const Bundle bundle = Bundle::open(two_tensors().write(folder.path()), {});
  EXPECT_EQ(bundle.keys(), (std::vector<std::string>{"layer/bias", "layer/kernel"}));
  EXPECT_TRUE(bundle.contains("layer/bias"));
  EXPECT_FALSE(bundle.contains(""));
  EXPECT_EQ(bundle.dtype("layer/kernel"), DType::f32);
  EXPECT_EQ(bundle.shape("layer/kernel"), (Shape{2, 3}));
  const Tensor kernel = bundle.read("layer/kernel");
  EXPECT_EQ(kernel.shape(), (Shape{2, 3}));
  EXPECT_EQ(values<float>(kernel), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values<float>(bundle.read("layer/bias")), (std::vector<float>{1.5F, -2}));
}

TEST(Bundle, EveryElementTypeIsRead) {
  const TemporaryFolder folder;
  struct Case {
    std::int64_t number;
    DType type;
    std::size_t bytes;
  };
  const Case cases[] = {{1, DType::f32, 4},  {2, DType::f64, 8},    {3, DType::i32, 4},
                        {4, DType::u8, 1},   {5, DType::i16, 2},    {6, DType::i8, 1},
                        {8, DType::c64, 8},  {9, DType::i64, 8},    {14, DType::bf16, 2},
                        {17, DType::u16, 2}, {18, DType::c128, 16}, {19, DType::f16, 2},
                        {22, DType::u32, 4}, {23, DType::u64, 8},   {10, DType::boolean, 1}};
  Checkpoint checkpoint;
  for (const Case& one : cases)
    checkpoint.add(std::to_string(one.number), one.number, {3}, std::string(3 * one.bytes, '\1'));
  const Bundle bundle = Bundle::open(checkpoint.write(folder.path()), {});
  for (const Case& one : cases) {
    const Tensor tensor = bundle.read(std::to_string(one.number));
    EXPECT_EQ(tensor.dtype(), one.type);
    ASSERT_EQ(tensor.bytes(), 3 * one.bytes);
    EXPECT_EQ(std::string(static_cast<const char*>(tensor.data()), tensor.bytes()),
              std::string(3 * one.bytes, '\1'));
  }
}

TEST(Bundle, ManyBlocksWithAndWithoutSnappyGiveTheSameTensors) {
  Checkpoint checkpoint;
  for (int i = 0; i < 200; ++i)
    checkpoint.add("model/layer_" + std::to_string(i) + "/a/rather/long/name", i32, {},
                   bytes_of<std::int32_t>({i}));
  for (const bool snappy : {false, true})
    for (const std::size_t rows : {1, 7, 1000}) {
      SCOPED_TRACE(rows);
      const TemporaryFolder folder;
      const Bundle bundle =
          Bundle::open(checkpoint.write(folder.path(), "m", {.snappy = snappy, .block_rows = rows}), {});
      ASSERT_EQ(bundle.keys().size(), 200);
      for (int i = 0; i < 200; ++i)
        EXPECT_EQ(
            values<std::int32_t>(bundle.read("model/layer_" + std::to_string(i) + "/a/rather/long/name")),
            std::vector<std::int32_t>{i});
    }
}

TEST(Bundle, ShardsAreReadAndAnnouncedOnce) {
  const TemporaryFolder folder;
  Checkpoint checkpoint(40);
  for (std::int32_t i = 0; i < 40; ++i)
    checkpoint.add("v" + std::to_string(i), i32, {}, bytes_of<std::int32_t>({i}), i);
  std::vector<std::string> files;
  const Bundle bundle =
      Bundle::open(checkpoint.write(folder.path()), {},
                   [&](const std::filesystem::path& path) { files.push_back(path.filename().string()); });
  EXPECT_EQ(files, std::vector<std::string>{"model.index"});
  for (int round = 0; round < 2; ++round)
    for (std::int32_t i = 0; i < 40; ++i)
      EXPECT_EQ(values<std::int32_t>(bundle.read("v" + std::to_string(i))), std::vector<std::int32_t>{i});
  ASSERT_EQ(files.size(), 41);
  EXPECT_EQ(files[1], "model.data-00000-of-00040");
  EXPECT_EQ(files[40], "model.data-00039-of-00040");
}

TEST(Bundle, SlicesAreJoined) {
  const TemporaryFolder folder;
  Checkpoint checkpoint(2);
  const SliceSpec left{{0, -1}, {0, 2}}, right_top{{0, 1}, {2, 3}}, right_low{{1, 2}, {2, 3}};
  checkpoint.add_sliced("w", i32, {3, 5}, {left, right_top, right_low});
  checkpoint.add(slice_row("w", left), i32, {3, 2}, bytes_of<std::int32_t>({0, 1, 10, 11, 20, 21}));
  checkpoint.add(slice_row("w", right_top), i32, {1, 3}, bytes_of<std::int32_t>({2, 3, 4}), 1);
  checkpoint.add(slice_row("w", right_low), i32, {2, 3}, bytes_of<std::int32_t>({12, 13, 14, 22, 23, 24}), 1);
  const Bundle bundle = Bundle::open(checkpoint.write(folder.path()), {});
  EXPECT_EQ(bundle.keys(), std::vector<std::string>{"w"});
  EXPECT_EQ(values<std::int32_t>(bundle.read("w")),
            (std::vector<std::int32_t>{0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24}));
}

TEST(Bundle, LongSlicesAndBytesThatAreEscapedInNamesAreFound) {
  const TemporaryFolder folder;
  Checkpoint checkpoint;
  std::vector<std::uint8_t> first(5000), second(120);
  std::fill(first.begin(), first.end(), std::uint8_t{3});
  std::fill(second.begin(), second.end(), std::uint8_t{4});
  constexpr std::int64_t u8 = 4;
  const SliceSpec begin{{0, 5000}}, rest{{5000, 120}};
  checkpoint.add_sliced("w", u8, {5120}, {begin, rest});
  checkpoint.add(slice_row("w", begin), u8, {5000}, bytes_of(first));
  checkpoint.add(slice_row("w", rest), u8, {120}, bytes_of(second));
  const auto joined = values<std::uint8_t>(Bundle::open(checkpoint.write(folder.path()), {}).read("w"));
  first.insert(first.end(), second.begin(), second.end());
  EXPECT_EQ(joined, first);
}

TEST(Bundle, SlicesThatDoNotCoverTheTensorAreRefused) {
  const auto read = [](const std::vector<SliceSpec>& slices) {
    const TemporaryFolder folder;
    Checkpoint checkpoint;
    checkpoint.add_sliced("w", i32, {4}, slices);
    for (const SliceSpec& slice : slices)
      checkpoint.add(
          slice_row("w", slice), i32, {slice[0].second},
          std::string(static_cast<std::size_t>(std::max<std::int64_t>(slice[0].second, 0)) * 4, '\1'));
    return Bundle::open(checkpoint.write(folder.path()), {}).read("w");
  };
  LANNER_EXPECT_ERROR(read({{{0, 2}}, {{3, 1}}}), ErrorCode::bad_data, "3 of the 4 elements");
  LANNER_EXPECT_ERROR(read({{{0, 2}}, {{1, 2}}}), ErrorCode::bad_data, "overlap");
  LANNER_EXPECT_ERROR(read({{{0, 2}}, {{2, 3}}}), ErrorCode::bad_data, "a slice of 3 at 2 of dim 0");
  EXPECT_EQ(read({{{2, 2}}, {{0, 2}}}).elements(), 4);
}

TEST(Bundle, MissingSliceIsNamed) {
  const TemporaryFolder folder;
  Checkpoint checkpoint;
  checkpoint.add_sliced("w", i32, {4}, {{{0, 2}}, {{2, 2}}});
  checkpoint.add(slice_row("w", {{0, 2}}), i32, {2}, bytes_of<std::int32_t>({1, 2}));
  LANNER_EXPECT_ERROR(Bundle::open(checkpoint.write(folder.path()), {}).read("w"), ErrorCode::bad_data,
                      "tensor 'w': the checkpoint lacks its slice of [2]");
}

TEST(Bundle, StringsAreRead) {
  const TemporaryFolder folder;
  Checkpoint checkpoint;
  const std::vector<std::string> words{"", "one", std::string(300, 'x'), std::string("a\0b", 3)};
  checkpoint.add_strings("words", {2, 2}, words)
      .add_strings("_CHECKPOINTABLE_OBJECT_GRAPH", {}, {"\x0a\x01z"});
  checkpoint.add("number", f32, {}, bytes_of<float>({1}));
  const Bundle bundle = Bundle::open(checkpoint.write(folder.path()), {});
  EXPECT_EQ(values<std::string>(bundle.read("words")), words);
  EXPECT_EQ(bundle.read_string("_CHECKPOINTABLE_OBJECT_GRAPH"), "\x0a\x01z");
  LANNER_EXPECT_ERROR(bundle.read_string("words"), ErrorCode::bad_data, "expected one string");
  LANNER_EXPECT_ERROR(bundle.read_string("number"), ErrorCode::bad_data, "expected one string");
}

TEST(Bundle, UnknownNameIsAnsweredWithTheNearest) {
  const TemporaryFolder folder;
  const Bundle bundle = Bundle::open(two_tensors().write(folder.path()), {});
  LANNER_EXPECT_ERROR(bundle.read("layer/kernal"), ErrorCode::not_found,
                      "model: the checkpoint has no tensor 'layer/kernal'; did you mean layer/kernel");
}

/// Changes each byte of a file, reads all tensors, and returns how many changes gave no Error{bad_data}.
std::size_t changes_not_found(const std::filesystem::path& prefix, const std::filesystem::path& path) {
  const std::string good = content(path);
  std::size_t missed = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    std::ofstream(path, std::ios::binary) << bad;
    try {
      const Bundle bundle = Bundle::open(prefix, {});
      for (const std::string& key : bundle.keys()) bundle.read(key);
      ++missed;
    } catch (const Error& error) {
      EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::bad_data)) << error.message();
    }
  }
  std::ofstream(path, std::ios::binary) << good;
  return missed;
}

TEST(Bundle, ChangedByteIsFoundByAChecksum) {
  const TemporaryFolder folder;
  Checkpoint checkpoint = two_tensors();
  checkpoint.add_strings("words", {2}, {"one", "two"});
  const auto prefix = checkpoint.write(folder.path());
  EXPECT_EQ(changes_not_found(prefix, folder / "model.data-00000-of-00001"), 0);
  // The table of further indexes, 9 bytes, the handle of it and the padding of the footer are not used.
  EXPECT_LE(changes_not_found(prefix, folder / "model.index"), 9 + 40 - 2);
}

TEST(Bundle, FilesCutShortAreRefused) {
  const TemporaryFolder folder;
  const auto prefix = two_tensors().write(folder.path());
  const std::string index = content(folder / "model.index"),
                    data = content(folder / "model.data-00000-of-00001");
  for (std::size_t i = 0; i < index.size(); ++i) {
    folder.write("model.index", index.substr(0, i));
    EXPECT_THROW(Bundle::open(prefix, {}), Error) << i;
  }
  folder.write("model.index", index);
  folder.write("model.data-00000-of-00001", data.substr(0, 20));
  const Bundle bundle = Bundle::open(prefix, {});
  EXPECT_EQ(bundle.read("layer/bias").elements(), 2);
  LANNER_EXPECT_ERROR(bundle.read("layer/kernel"), ErrorCode::bad_data,
                      "24 bytes expected at byte 8 of shard 0, which has 20; it is cut short");
}

void expect_entry_refused(const EntrySpec& spec, ErrorCode code, std::string_view message,
                          const Limits& limits = {}) {
  const TemporaryFolder folder;
  Checkpoint checkpoint;
  checkpoint.add("first", f32, {2}, bytes_of<float>({1, 2})).set("w", entry(spec));
  const auto prefix = checkpoint.write(folder.path());
  LANNER_EXPECT_ERROR(Bundle::open(prefix, limits).read("w"), code, message);
}

TEST(Bundle, HostileEntriesAreRefused) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  using enum ErrorCode;
  expect_entry_refused({.dims = {2}, .offset = 1, .size = 8}, bad_data, "at byte 1 of shard 0, which has 8");
  expect_entry_refused({.dims = {2}, .offset = most, .size = 8}, bad_data, "which has 8");
  expect_entry_refused({.dims = {2}, .offset = -1, .size = 8}, bad_data, "8 bytes at byte -1");
  expect_entry_refused({.dims = {2}, .size = -8}, bad_data, "-8 bytes at byte 0");
  expect_entry_refused({.dims = {2}, .size = 4}, bad_data, "takes 8 bytes, the checkpoint has 4");
  expect_entry_refused({.dims = {-2}, .size = 8}, bad_data, "a size is -2");
  expect_entry_refused({.dims = {2}, .shard = 1, .size = 8}, bad_data, "in shard 1 of 1");
  expect_entry_refused({.dims = {2}, .shard = -1, .size = 8}, bad_data, "in shard -1 of 1");
  expect_entry_refused({.dims = {most, most}, .size = 8}, limit_exceeded, "tensor_bytes");
  expect_entry_refused({.dims = {1 << 30}, .size = 4ll << 30}, bad_data, "4294967296 bytes expected");
  expect_entry_refused({.dims = std::vector<std::int64_t>(100, 1), .size = 4}, limit_exceeded, "rank");
  expect_entry_refused({.type = 20, .dims = {2}, .size = 8}, unsupported, "element type 20");
  expect_entry_refused({.type = 999, .dims = {2}, .size = 8}, unsupported, "element type 999");
  expect_entry_refused({.type = boolean, .dims = {8}, .size = 8, .crc = 0}, bad_data, "checksum");
  expect_entry_refused({.type = text, .dims = {1 << 28}, .size = 8}, bad_data,
                       "268435456 strings in 8 bytes");
  Limits small;
  small.tensor_bytes = 4;
  expect_entry_refused({.dims = {2}, .size = 8}, limit_exceeded, "tensor_bytes", small);
}

TEST(Bundle, BooleanOfAnotherValueIsRefused) {
  const TemporaryFolder folder;
  Checkpoint checkpoint;
  checkpoint.add("b", boolean, {2}, "\1\2");
  LANNER_EXPECT_ERROR(Bundle::open(checkpoint.write(folder.path()), {}).read("b"), ErrorCode::bad_data,
                      "neither 0 nor 1");
}

TEST(Bundle, HeadersThatCannotBeReadAreNamed) {
  const auto open = [](const HeaderSpec& spec) {
    const TemporaryFolder folder;
    return Bundle::open(two_tensors().set("", header(spec)).write(folder.path()), {});
  };
  LANNER_EXPECT_ERROR(open({.endianness = 1}), ErrorCode::unsupported, "big-endian");
  LANNER_EXPECT_ERROR(open({.min_consumer = 7}), ErrorCode::unsupported, "readers of version 7");
  LANNER_EXPECT_ERROR(open({.shards = 0}), ErrorCode::bad_data, "0 shards");
  LANNER_EXPECT_ERROR(open({.shards = -1}), ErrorCode::bad_data, "-1 shards");
}

TEST(Bundle, MissingFilesAreNamed) {
  const TemporaryFolder folder;
  const auto prefix = two_tensors().write(folder.path());
  LANNER_EXPECT_ERROR(Bundle::open(folder / "other", {}), ErrorCode::not_found, "other.index");
  LANNER_EXPECT_ERROR(Bundle::open(folder / "model.index", {}), ErrorCode::not_found, "without \".index\"");
  LANNER_EXPECT_ERROR(Bundle::open("", {}), ErrorCode::not_found, "names no checkpoint");
  std::filesystem::remove(folder / "model.data-00000-of-00001");
  const Bundle bundle = Bundle::open(prefix, {});
  LANNER_EXPECT_ERROR(bundle.read("layer/bias"), ErrorCode::not_found, "model.data-00000-of-00001");
}

TEST(Bundle, LinksPipesAndFoldersInTheFilesPlaceAreRefused) {
  const TemporaryFolder folder;
  const auto prefix = two_tensors().write(folder.path());
  const auto data = folder / "model.data-00000-of-00001";
  std::filesystem::rename(data, folder / "elsewhere");
  std::filesystem::create_symlink(folder / "elsewhere", data);
  LANNER_EXPECT_ERROR(Bundle::open(prefix, {}).read("layer/bias"), ErrorCode::bad_data, "symbolic link");
  std::filesystem::remove(data);
  ASSERT_EQ(::mkfifo(data.c_str(), 0600), 0);
  LANNER_EXPECT_ERROR(Bundle::open(prefix, {}).read("layer/bias"), ErrorCode::bad_data, "not a regular file");
  std::filesystem::remove(data);
  std::filesystem::create_directory(data);
  LANNER_EXPECT_ERROR(Bundle::open(prefix, {}).read("layer/bias"), ErrorCode::bad_data, "not a regular file");
  std::filesystem::remove(folder / "model.index");
  ASSERT_EQ(::mkfifo((folder / "model.index").c_str(), 0600), 0);
  LANNER_EXPECT_ERROR(Bundle::open(prefix, {}), ErrorCode::bad_data, "not a regular file");
}

TEST(Bundle, Version1IsNamedWithTheWayToConvertIt) {
  const TemporaryFolder folder;
  folder.write("old.ckpt", table({{"", "\x0a\x02"}, {"\1w", "values"}}));
  folder.write("shards.ckpt-00000-of-00002", table({{"", "\x0a\x02"}}));
  for (const char* name : {"old.ckpt", "shards.ckpt"})
    LANNER_EXPECT_ERROR(Bundle::open(folder / name, {}), ErrorCode::unsupported,
                        "in format V1; expected V2: in TensorFlow");
}

TEST(Bundle, OneRowManyTimesCannotTakeMoreThanTheLimit) {
  const TemporaryFolder folder;
  Checkpoint checkpoint;
  checkpoint.add("w0", f32, {1000}, std::string(4000, '\0'));
  const Bundle bundle = Bundle::open(checkpoint.write(folder.path()), {.total_bytes = 20'000});
  const auto read_often = [&] {
    for (int i = 0; i < 6; ++i) bundle.read("w0");
  };
  LANNER_EXPECT_ERROR(read_often(), ErrorCode::limit_exceeded, "total_bytes");
}

TEST(Bundle, KeysThatShareALongBeginningCannotTakeMoreThanTheLimit) {
  const TemporaryFolder folder;
  Checkpoint checkpoint;
  for (int i = 0; i < 300; ++i)
    checkpoint.add(std::string(1000, 'k') + std::to_string(1000 + i), f32, {}, std::string(4, '\0'));
  const auto prefix = checkpoint.write(folder.path(), "m", {.block_rows = 1000, .restart_rows = 1000});
  ASSERT_LT(content(folder / "m.index").size(), 20'000);
  LANNER_EXPECT_ERROR(Bundle::open(prefix, {.total_bytes = 100'000}), ErrorCode::limit_exceeded,
                      "total_bytes");
}

TEST(Snappy, DamagedBlocksAreRefused) {
  const std::string text = "abcdabcdabcdabcdabcdabcd, and again abcdabcdabcdabcdabcdabcd";
  ASSERT_LT(snappy(text).size(), text.size());
  EXPECT_EQ(tensorflow::read_snappy(snappy(text), {}), text);
  EXPECT_EQ(tensorflow::read_snappy(snappy(""), {}), "");
  const std::string good = snappy(text);
  for (std::size_t i = 0; i < good.size(); ++i)
    EXPECT_THROW(tensorflow::read_snappy(good.substr(0, i), {}), Error) << i;
  const auto read = [](std::string block) { return tensorflow::read_snappy(block, {}); };
  LANNER_EXPECT_ERROR(read({'\4', '\1', '\1'}), ErrorCode::bad_data, "a copy from 1 bytes before byte 0");
  LANNER_EXPECT_ERROR(read({'\4', '\0', 'a', '\x0d', '\0'}), ErrorCode::bad_data, "a copy from 0 bytes");
  LANNER_EXPECT_ERROR(read({'\2', '\0', 'a', '\1', '\1'}), ErrorCode::bad_data, "more than the 2 bytes");
  LANNER_EXPECT_ERROR(read({'\xff', '\xff', '\xff', '\xff', '\x0f', '\0', 'a'}), ErrorCode::bad_data,
                      "cannot unpack to 4294967295");
}

class RealBundle : public testing::TestWithParam<const char*> {};

TEST_P(RealBundle, EveryTensorIsRead) {
  const std::filesystem::path prefix = shared_data_dir() / "models" / GetParam();
  if (!std::filesystem::exists(prefix.string() + ".index")) GTEST_SKIP() << prefix << ".index is not there";
  const Bundle bundle = Bundle::open(prefix, {});
  ASSERT_FALSE(bundle.keys().empty());
  for (const std::string& key : bundle.keys()) {
    const Tensor tensor = bundle.read(key);
    EXPECT_EQ(tensor.shape(), bundle.shape(key));
    if (tensor.dtype() == DType::string && tensor.rank() == 0) {
      EXPECT_GT(bundle.read_string(key).size(), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shared, RealBundle,
                         testing::Values("basic_pitch/saved_model/variables/variables",
                                         "tf/regression/saved_model/variables/variables",
                                         "tf/regression/checkpoint/model"));

} // namespace
} // namespace lanner::test
