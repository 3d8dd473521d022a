#include <gtest/gtest.h>

#include <lanner/tf_records.h>

#include "base/crc32c.h"
#include "base/limits/account.h"
#include "expect_error.h"
#include "temporary_folder.h"
#include "tf/write/record_frame.h"

namespace lanner::test {
namespace {

using tf::RecordReader;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

/// Written by TensorFlow 2.21: an Example, an empty record, and `abc`.
std::string file_of_tensorflow() {
  return from_hex(
      "5800000000000000a28b2f8c0a560a190a0d696d6167652f656e636f64656412080a060a0489504e470a180a056c61"
      "62656c120f1a0d0a0b03ffffffffffffffffff010a080a046e6f6e6512000a150a0573636f7265120c120a0a080000"
      "003f0000004052763ed7000000000000000029039807d8ea82a20300000000000000b099490e6162636e57f121");
}

std::string framed(std::string_view record) {
  return tf::record_header(record.size()) + std::string(record) + tf::record_footer(bytes_of(record));
}

std::vector<std::string> records_of(const std::string& file, const Limits& limits = {}) {
  RecordReader reader(open_bytes(bytes_of(file), nullptr, "data.tfrecord"), limits);
  std::vector<std::string> records;
  while (const auto record = reader.next())
    records.emplace_back(reinterpret_cast<const char*>(record->data()), record->size());
  EXPECT_EQ(reader.count(), records.size());
  EXPECT_FALSE(reader.next());
  return records;
}

TEST(Crc32c, HasTheValuesOfRfc3720) {
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\xff'))), 0x62a8ab43u);
  EXPECT_EQ(crc32c(bytes_of("6789"), crc32c(bytes_of("12345"))), crc32c(bytes_of("123456789")));
}

TEST(RecordReader, ReadsAFileOfTensorFlow) {
  const auto records = records_of(file_of_tensorflow());
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[1], "");
  EXPECT_EQ(records[2], "abc");
  const auto example = tf::read_example(bytes_of(records[0]));
  ASSERT_EQ(example.size(), 4u);
  EXPECT_EQ(std::get<std::vector<std::string>>(example.at("image/encoded")),
            std::vector<std::string>{"\x89PNG"});
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(example.at("label")), (std::vector<std::int64_t>{3, -1}));
  EXPECT_EQ(std::get<std::vector<float>>(example.at("score")), (std::vector<float>{0.5f, 2.0f}));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(example.at("none")));
}

TEST(RecordReader, ReadsWhatTheFrameWriterWrites) {
  const std::string large(3000000, 'x');
  EXPECT_EQ(records_of(framed("one") + framed(large) + framed("")),
            (std::vector<std::string>{"one", large, ""}));
  EXPECT_TRUE(records_of("").empty());
}

TEST(RecordReader, ReadsPipes) {
  const std::string file = framed("one") + framed("two");
  std::uint64_t at = 0;
  const auto source = open_callback(
      [&](std::uint64_t offset, std::span<std::byte> into) {
        EXPECT_EQ(offset, at);
        const std::size_t count = std::min<std::size_t>({into.size(), file.size() - offset, 5});
        std::copy_n(bytes_of(file).begin() + static_cast<std::ptrdiff_t>(offset), count, into.begin());
        at += count;
        return count;
      },
      -1, false);
  RecordReader reader(source);
  EXPECT_TRUE(reader.next());
  EXPECT_TRUE(reader.next());
  EXPECT_FALSE(reader.next());
}

TEST(RecordReader, EveryFlippedBitIsNoticed) {
  const std::string file = framed("first") + framed("second");
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    LANNER_EXPECT_ERROR(records_of(damaged), ErrorCode::bad_data, "data.tfrecord: record ");
  }
}

TEST(RecordReader, ACutFileIsAnErrorExceptBetweenRecords) {
  const std::string file = framed("first") + framed("second");
  for (std::size_t size = 0; size < file.size(); ++size) {
    if (size == 0 || size == framed("first").size()) {
      EXPECT_EQ(records_of(file.substr(0, size)).size(), size == 0 ? 0u : 1u);
      continue;
    }
    LANNER_EXPECT_ERROR(records_of(file.substr(0, size)), ErrorCode::bad_data, "the file ends after");
  }
}

TEST(RecordReader, NothingIsGivenAfterAnError) {
  const std::string file = framed("first").substr(0, 17) + framed("second");
  RecordReader reader(open_bytes(bytes_of(file)));
  EXPECT_THROW(reader.next(), Error);
  EXPECT_FALSE(reader.next());
}

TEST(RecordReader, AWrongLengthTakesNoMemory) {
  Limits limits;
  limits.total_bytes = 4 << 20;
  const auto account = std::make_shared<Account>(limits);
  const AccountScope scope(account);
  LANNER_EXPECT_ERROR(records_of(tf::record_header(200 << 20) + "short"), ErrorCode::bad_data,
                      "the file ends after 5 bytes of a record of 209715200");
  LANNER_EXPECT_ERROR(records_of(tf::record_header(1ull << 60) + "short"), ErrorCode::limit_exceeded,
                      "packet_bytes");
  LANNER_EXPECT_ERROR(records_of(tf::record_header(~0ull) + "short"), ErrorCode::limit_exceeded,
                      "packet_bytes");
  EXPECT_EQ(account->held(), 0u);
}

TEST(RecordReader, ACompressedFileIsNamed) {
  LANNER_EXPECT_ERROR(records_of(from_hex("1f8b0808000000000003") + std::string(20, 'a')),
                      ErrorCode::unsupported, "decompress it first");
  LANNER_EXPECT_ERROR(records_of(from_hex("789c") + std::string(20, 'a')), ErrorCode::unsupported,
                      "decompress it first");
}

TEST(Example, DamagedMessagesAreErrors) {
  const std::string record = records_of(file_of_tensorflow())[0];
  for (std::size_t size = 1; size < record.size(); ++size)
    EXPECT_THROW(tf::read_example(bytes_of(record.substr(0, size))), Error) << size;
  EXPECT_TRUE(tf::read_example({}).empty());
  // Not packed, as old writers have it.
  const auto example = tf::read_example(bytes_of(from_hex("0a0f0a0d0a0178"
                                                          "12081a0608050806"
                                                          "0807")));
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(example.at("x")), (std::vector<std::int64_t>{5, 6, 7}));
  // A list of another kind than its values.
  LANNER_EXPECT_ERROR(tf::read_example(bytes_of(from_hex("0a0b0a090a017812041202080"
                                                         "5"))),
                      ErrorCode::bad_data, "value");
}

TEST(Example, ItsMemoryIsLimited) {
  std::string numbers(200000, '\x05');
  const auto field = [](int number, const std::string& content) {
    std::string bytes(1, static_cast<char>(number << 3 | 2));
    for (std::size_t size = content.size();; size >>= 7) {
      bytes += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
      if (size <= 0x7f) return bytes + content;
    }
  };
  const std::string record = field(1, field(1, field(1, "x") + field(2, field(3, field(1, numbers)))));
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(tf::read_example(bytes_of(record)).at("x")).size(), 200000u);
  Limits limits;
  limits.total_bytes = 1 << 20;
  LANNER_EXPECT_ERROR(tf::read_example(bytes_of(record), limits), ErrorCode::limit_exceeded, "total_bytes");
}

} // namespace
} // namespace lanner::test
