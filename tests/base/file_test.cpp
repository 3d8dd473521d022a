#include "base/file/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include <lanner/source.h>

#include "expect_error.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

std::string content_of(const std::filesystem::path& path) {
  const Content content = read_all(open_path(path));
  return {reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size()};
}

TEST(AtomicFile, AppearsAtCommit) {
  const TemporaryFolder folder;
  const auto path = folder / "out.bin";
  AtomicFile file(path);
  file.write("0123456789");
  file.seek(2);
  file.write("ab");
  EXPECT_EQ(file.position(), 4u);
  EXPECT_EQ(file.size(), 10u);
  std::byte back[3];
  EXPECT_EQ(file.read_at(1, back), 3u);
  EXPECT_EQ(static_cast<char>(back[1]), 'a');
  EXPECT_FALSE(std::filesystem::exists(path));
  file.commit();
  EXPECT_EQ(content_of(path), "01ab456789");
  EXPECT_EQ(folder.entries(), 1u);
  LANNER_EXPECT_ERROR(file.write("x"), ErrorCode::internal, "after commit");
  LANNER_EXPECT_ERROR(file.commit(), ErrorCode::internal, "twice");
}

TEST(AtomicFile, TemporaryFileIsRemovedWithoutCommit) {
  const TemporaryFolder folder;
  const auto path = folder.write("out.bin", "old");
  {
    AtomicFile file(path);
    file.write("new");
    AtomicFile moved(std::move(file));
    moved.write("er");
    EXPECT_EQ(folder.entries(), 2u);
  }
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_EQ(content_of(path), "old");
}

TEST(AtomicFile, ReplacesAndKeepsMode) {
  const TemporaryFolder folder;
  const auto path = folder.write("out.bin", "old content");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  std::filesystem::create_symlink("out.bin", folder / "link");
  write_file(folder / "link", std::as_bytes(std::span(std::string_view("new"))));
  EXPECT_EQ(content_of(path), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST(AtomicFile, LongNamesFit) {
  const TemporaryFolder folder;
  write_file(folder / std::string(255, 'n'), {});
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(AtomicFile, UnusablePathsAreRefused) {
  const TemporaryFolder folder;
  LANNER_EXPECT_ERROR(AtomicFile(folder / "none/out.bin"), ErrorCode::not_found, "folder does not exist");
  LANNER_EXPECT_ERROR(AtomicFile(folder.path()), ErrorCode::invalid_argument, "is a folder");
  LANNER_EXPECT_ERROR(AtomicFile("/dev/null"), ErrorCode::invalid_argument, "not a regular file");
  LANNER_EXPECT_ERROR(AtomicFile(folder / ""), ErrorCode::invalid_argument, "not a file name");
  LANNER_EXPECT_ERROR(AtomicFile("/proc/out.bin"), ErrorCode::not_found, "/proc/out.bin");
  EXPECT_EQ(folder.entries(), 0u);
}

/// A process that writes to `path` and is killed, or keeps running until then.
class Writer {
public:
  explicit Writer(const std::filesystem::path& path) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    child_ = ::fork();
    if (child_ == 0) {
      AtomicFile file(path);
      file.write("half of it");
      static_cast<void>(!::write(ends[1], "w", 1));
      for (;;) ::pause();
    }
    char written = 0;
    static_cast<void>(!::read(ends[0], &written, 1));
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Writer() { kill(); }
  Writer(const Writer&) = delete;
  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }

private:
  pid_t child_ = 0;
};

TEST(AtomicFile, FileOfAKilledWriterIsRemoved) {
  const TemporaryFolder folder;
  Writer(folder / "video.mp4").kill();
  ASSERT_EQ(folder.entries(), 1u);
  write_file(folder / "other.json", {});
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_TRUE(std::filesystem::exists(folder / "other.json"));
}

TEST(AtomicFile, FileOfALivingWriterStays) {
  const TemporaryFolder folder;
  const Writer other(folder / "video.mp4");
  write_file(folder / "other.json", {});
  EXPECT_EQ(folder.entries(), 2u);
}

TEST(AtomicFile, OtherFilesAreNotRemoved) {
  const TemporaryFolder folder;
  folder.write(".video.mp4.part", "");
  folder.write(".video.mp4.0123456789abcdef.part", "");
  folder.write("video.mp4.01234567-89abcdef.part", "");
  // From another machine that shares the folder: its locks may not be visible here.
  folder.write(".video.mp4.01234567-89abcdef.part", "");
  std::filesystem::create_symlink("away", folder / ".link.01234567-89abcdef.part");
  write_file(folder / "other.json", {});
  EXPECT_EQ(folder.entries(), 6u);
}

TEST(AtomicFile, FileOfAnotherMachineIsRemovedAfterAWeek) {
  const TemporaryFolder folder;
  const auto old = folder.write(".video.mp4.01234567-89abcdef.part", "");
  std::filesystem::last_write_time(old,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(200));
  write_file(folder / "other.json", {});
  EXPECT_EQ(folder.entries(), 1u);
}

constexpr std::chrono::milliseconds no_wait(0);

TEST(FileLock, ExcludesOthers) {
  const TemporaryFolder folder;
  const auto path = folder / "cache.lock";
  {
    const auto lock = FileLock::acquire_within(path, no_wait);
    EXPECT_TRUE(lock.has_value());
    EXPECT_FALSE(FileLock::try_acquire(path).has_value());
    EXPECT_FALSE(FileLock::acquire_within(path, no_wait).has_value());
    const CancelToken cancel = CancelToken::create();
    cancel.cancel();
    LANNER_EXPECT_ERROR(FileLock::acquire_within(path, std::chrono::hours(1), cancel), ErrorCode::cancelled,
                        "cancelled");
  }
  EXPECT_TRUE(FileLock::try_acquire(path).has_value());
  LANNER_EXPECT_ERROR(FileLock::acquire_within(folder / "none/cache.lock", no_wait), ErrorCode::not_found,
                      "cache.lock");
}

TEST(FileLock, ForkedChildDoesNotHoldIt) {
  const TemporaryFolder folder;
  const auto path = folder / "cache.lock";
  std::optional<FileLock> lock = FileLock::try_acquire(path);
  ASSERT_TRUE(lock.has_value());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char end = 0;
    ::close(ends[1]);
    static_cast<void>(::read(ends[0], &end, 1)); // until the parent closes its end
    ::_exit(0);
  }
  ::close(ends[0]);
  lock.reset();
  EXPECT_TRUE(FileLock::try_acquire(path).has_value());
  ::close(ends[1]);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

} // namespace
} // namespace lanner
