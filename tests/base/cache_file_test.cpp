#include "base/file/cache_file.h"

#include <sys/stat.h>

#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/error.h>
#include <lanner/log.h>

#include "base/file/regular_file.h"
#include "base/limits/account.h"
#include "expect_error.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

/// Collects log messages while it lives.
class Warnings {
public:
  Warnings() {
    set_log_callback([this](LogLevel level, std::string_view message) {
      const std::lock_guard lock(mutex_);
      if (level == LogLevel::warning) lines.emplace_back(message);
    });
  }
  ~Warnings() { set_log_callback(nullptr); }

  std::vector<std::string> lines;

private:
  std::mutex mutex_;
};

std::optional<std::string> stored(const std::filesystem::path& file, std::uint64_t from = 0) {
  const auto content = read_cache_file(file, 100, {}, from);
  if (!content) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(content->bytes.data()), content->bytes.size());
}

TEST(CacheFile, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  const Warnings warnings;
  EXPECT_FALSE(stored(folder / "a/b").has_value());
  EXPECT_TRUE(write_cache_file(folder / "a/b", "first"));
  EXPECT_EQ(stored(folder / "a/b"), "first");
  EXPECT_EQ(stored(folder / "a/b", 2), "rst");
  EXPECT_EQ(stored(folder / "a/b", 9), "");
  EXPECT_TRUE(warnings.lines.empty());
}

/// Things other than a cache file that may exist under its name.
class NotACacheFile : public testing::TestWithParam<const char*> {
protected:
  std::filesystem::path make() const {
    const std::filesystem::path file = folder_ / "file";
    const std::string kind = GetParam();
    if (kind == "pipe") EXPECT_EQ(::mkfifo(file.c_str(), 0600), 0);
    if (kind == "device") std::filesystem::create_symlink("/dev/zero", file);
    if (kind == "loop") std::filesystem::create_symlink("file", file);
    if (kind == "nowhere") std::filesystem::create_symlink("none/none", file);
    if (kind == "large") folder_.write("file", std::string(101, 'x'));
    return file;
  }
  TemporaryFolder folder_;
};

TEST_P(NotACacheFile, IsWarnedOfOnceAndReplaced) {
  const std::filesystem::path file = make();
  const Warnings warnings;
  EXPECT_FALSE(stored(file).has_value());
  EXPECT_FALSE(stored(file).has_value());
  EXPECT_LE(warnings.lines.size(), 1u);
  EXPECT_EQ(warnings.lines.empty(), std::string(GetParam()) == "nowhere");
  EXPECT_TRUE(write_cache_file(file, "new"));
  EXPECT_EQ(stored(file), "new");
}

INSTANTIATE_TEST_SUITE_P(Kinds, NotACacheFile, testing::Values("pipe", "device", "loop", "nowhere", "large"),
                         [](const auto& info) { return std::string(info.param); });

TEST(CacheFile, FolderOfTheSameNameIsNotReplaced) {
  const TemporaryFolder folder;
  const Warnings warnings;
  std::filesystem::create_directory(folder / "file");
  EXPECT_FALSE(stored(folder / "file").has_value());
  EXPECT_FALSE(write_cache_file(folder / "file", "new"));
  EXPECT_TRUE(std::filesystem::is_directory(folder / "file"));
  EXPECT_EQ(warnings.lines.size(), 1u);
}

TEST(CacheFile, UnusableCacheFolderStoresNothing) {
  const TemporaryFolder folder;
  folder.write("cache", "");
  EXPECT_FALSE(stored(folder / "cache/file").has_value());
  EXPECT_FALSE(write_cache_file(folder / "cache/file", "new"));
}

TEST(RegularFile, PipesDevicesAndFoldersAreRefused) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  LANNER_EXPECT_ERROR(open_regular_file(folder / "pipe"), ErrorCode::invalid_argument, "not a regular file");
  LANNER_EXPECT_ERROR(open_regular_file("/dev/zero"), ErrorCode::invalid_argument, "not a regular file");
  LANNER_EXPECT_ERROR(open_regular_file(folder.path()), ErrorCode::invalid_argument, "is a folder");
}

TEST(Pipe, ReadWithoutAWriterEndsAtTheDeadline) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  Limits limits;
  limits.seconds = 0.05;
  const DeadlineScope deadline(limits);
  LANNER_EXPECT_ERROR(read_all(open_path(folder / "pipe")), ErrorCode::limit_exceeded, "seconds");
}

} // namespace
} // namespace lanner
