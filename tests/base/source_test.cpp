#include <lanner/source.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/file/beneath.h"
#include "expect_error.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string read_text(ByteSource& source, std::uint64_t offset, std::size_t count) {
  std::vector<std::byte> bytes(count);
  bytes.resize(source.read_at(offset, bytes));
  return text_of(bytes);
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

ReadCallback reader_of(std::string text, std::size_t most) {
  return [=](std::uint64_t offset, std::span<std::byte> into) -> std::size_t {
    if (offset >= text.size()) return 0;
    const std::size_t count = std::min({text.size() - offset, into.size(), most});
    std::memcpy(into.data(), text.data() + offset, count);
    return count;
  };
}

TEST(Source, FileIsReadInPartsAndWhole) {
  const TemporaryFolder folder;
  const SourcePtr source = open_path(folder.write("a.bin", "0123456789"));
  EXPECT_EQ(source->size(), 10);
  EXPECT_TRUE(source->seekable());
  EXPECT_EQ(read_text(*source, 8, 5), "89");
  EXPECT_EQ(read_text(*source, 2, 3), "234");
  EXPECT_EQ(read_text(*source, 1ull << 62, 3), "");
  EXPECT_EQ(text_of(read_all(source).bytes), "0123456789");
}

TEST(Source, EmptyFileIsEmpty) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_all(open_path(folder.write("empty", ""))).bytes.empty());
}

TEST(Source, FoldersDevicesAndBadPathsAreRefused) {
  const TemporaryFolder folder;
  LANNER_EXPECT_ERROR(open_path(folder / "none"), ErrorCode::not_found, "none");
  LANNER_EXPECT_ERROR(open_path(folder.path()), ErrorCode::invalid_argument, "folder");
  LANNER_EXPECT_ERROR(open_path(""), ErrorCode::not_found, "empty");
  LANNER_EXPECT_ERROR(open_path((folder / "none").string() + std::string("\0junk", 5)),
                      ErrorCode::invalid_argument, "zero byte");
  LANNER_EXPECT_ERROR(open_path("/dev/zero"), ErrorCode::invalid_argument, "neither a file nor a pipe");
  LANNER_EXPECT_ERROR(open_fd(-1), ErrorCode::io, "fd -1");
}

TEST(Source, SizeIsBounded) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.bin", "0123456789");
  Limits limits;
  limits.file_bytes = 9;
  LANNER_EXPECT_ERROR(open_path(path, limits), ErrorCode::limit_exceeded, "10 bytes");
  LANNER_EXPECT_ERROR(read_all(open_path(path), limits), ErrorCode::limit_exceeded, "10 bytes");
  const SourcePtr endless = open_callback([](auto, auto into) { return into.size(); }, -1, false);
  LANNER_EXPECT_ERROR(read_all(endless, limits), ErrorCode::limit_exceeded, "callback");
}

TEST(Source, FileThatShrinksReadsShort) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.bin", std::string(1u << 16, 'x'));
  const SourcePtr source = open_path(path);
  ASSERT_EQ(::truncate(path.c_str(), 5), 0);
  EXPECT_EQ(read_text(*source, 3, 100), "xx");
  const SourcePtr late = open_path(path);
  ASSERT_EQ(::truncate(path.c_str(), 1), 0);
  LANNER_EXPECT_ERROR(read_all(late), ErrorCode::io, "1 of 5 bytes");
}

TEST(Source, ContentDoesNotChangeWithTheFile) {
  const TemporaryFolder folder;
  const std::string before(1u << 16, 'x');
  const auto path = folder.write("a.bin", before);
  const Content content = read_all(open_path(path));
  folder.write("a.bin", std::string(before.size(), 'y'));
  EXPECT_EQ(text_of(content.bytes), before);
  ASSERT_EQ(::truncate(path.c_str(), 0), 0);
  EXPECT_EQ(text_of(content.bytes), before);
}

TEST(Source, FileThatGrewSinceItWasOpenedIsRefused) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.bin", "0123");
  const SourcePtr source = open_path(path);
  ASSERT_EQ(::truncate(path.c_str(), 100), 0);
  LANNER_EXPECT_ERROR(read_all(source), ErrorCode::io, "was written to while being read");
}

TEST(Source, PipeIsReadInOrder) {
  const TemporaryFolder folder;
  const auto path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] {
    const int fd = ::open(path.c_str(), O_WRONLY);
    for (const char* part : {"abc", "defg", "hij"}) EXPECT_GT(::write(fd, part, std::strlen(part)), 0);
    ::close(fd);
  });
  const SourcePtr source = open_path(path);
  EXPECT_EQ(source->size(), -1);
  EXPECT_FALSE(source->seekable());
  EXPECT_EQ(read_text(*source, 2, 4), "cdef");
  EXPECT_EQ(read_text(*source, 8, 10), "ij");
  LANNER_EXPECT_ERROR(read_text(*source, 0, 1), ErrorCode::io, "cannot go back");
  writer.join();
}

TEST(Source, CallersDescriptorStaysOpen) {
  const TemporaryFolder folder;
  const int fd = ::open(folder.write("a.bin", "0123").c_str(), O_RDONLY);
  EXPECT_EQ(text_of(read_all(open_fd(fd)).bytes), "0123");
  char c = 0;
  EXPECT_EQ(::read(fd, &c, 1), 1);
  ::close(fd);
}

TEST(Source, BytesAreNotCopied) {
  const std::string text = "hello";
  const SourcePtr source = open_bytes(bytes_of(text), nullptr, "greeting");
  EXPECT_EQ(source->name(), "greeting");
  EXPECT_EQ(static_cast<const void*>(read_all(source).bytes.data()), text.data());
  EXPECT_EQ(read_text(*source, 3, 9), "lo");
}

TEST(Source, CallbackMayReturnShortReads) {
  EXPECT_EQ(text_of(read_all(open_callback(reader_of("0123456789", 3), 10, true)).bytes), "0123456789");
  EXPECT_EQ(text_of(read_all(open_callback(reader_of("0123456789", 3), -1, false)).bytes), "0123456789");
  LANNER_EXPECT_ERROR(read_all(open_callback(reader_of("0123", 3), 10, true)), ErrorCode::io, "4 of 10");
  const ReadCallback liar = [](auto, auto into) { return into.size() + 1; };
  LANNER_EXPECT_ERROR(read_all(open_callback(liar, -1, true)), ErrorCode::invalid_argument, "callback");
  LANNER_EXPECT_ERROR(read_all(open_callback(liar, -1, false)), ErrorCode::invalid_argument, "callback");
  LANNER_EXPECT_ERROR(open_callback(nullptr, -1, false), ErrorCode::invalid_argument, "callback");
}

/// Both implementations of opening beneath a folder.
class Beneath : public testing::TestWithParam<bool> {
protected:
  std::string read(const std::string& relative) const {
    const Descriptor fd = GetParam() ? open_file_beneath(folder_ / "model", relative)
                                     : open_file_beneath_by_component(folder_ / "model", relative);
    return text_of(read_all(open_fd(fd.get())).bytes);
  }
  void SetUp() override {
    folder_.write("secret", "secret");
    folder_.write("model/data/w.bin", "weights");
  }
  TemporaryFolder folder_;
};

TEST_P(Beneath, OpensFilesInTheFolder) {
  EXPECT_EQ(read("data/w.bin"), "weights");
  EXPECT_EQ(read("./data//w.bin"), "weights");
  LANNER_EXPECT_ERROR(read("data/none"), ErrorCode::not_found, "none");
  LANNER_EXPECT_ERROR(read("data/w.bin/x"), ErrorCode::not_found, "w.bin");
}

TEST_P(Beneath, RefusesToLeave) {
  const std::string absolute = (folder_ / "secret").string();
  for (const std::string& bad :
       {std::string("../secret"), std::string("data/../../secret"), std::string("data/../data/w.bin"),
        absolute, std::string(), std::string("."), std::string("data"), std::string("data/w.bin\0x", 12)})
    LANNER_EXPECT_ERROR(read(bad), ErrorCode::bad_data, "must be in its own folder");
}

TEST_P(Beneath, RefusesLinksAndPipes) {
  const auto inside = [&](const char* name) { return folder_ / "model" / name; };
  std::filesystem::create_symlink("data/w.bin", inside("link"));
  std::filesystem::create_symlink("data", inside("folder"));
  std::filesystem::create_symlink("..", inside("up"));
  std::filesystem::create_hard_link(folder_ / "secret", inside("hard"));
  ASSERT_EQ(::mkfifo(inside("pipe").c_str(), 0600), 0);
  for (const char* bad : {"link", "folder/w.bin", "up/secret", "hard", "pipe"})
    LANNER_EXPECT_ERROR(read(bad), ErrorCode::bad_data, "must be in its own folder");
}

INSTANTIATE_TEST_SUITE_P(Ways, Beneath, testing::Bool(),
                         [](const auto& way) { return way.param ? "openat2" : "by_component"; });

TEST(Source, BeneathNamesTheWholePath) {
  const TemporaryFolder folder;
  folder.write("w.bin", "abc");
  EXPECT_EQ(open_beneath(folder.path(), "w.bin")->name(), (folder / "w.bin").string());
}

} // namespace
} // namespace lanner
