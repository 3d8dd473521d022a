#include "base/file/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include <lanner/error.h>

#include "base/check.h"
#include "base/file/unfinished_file.h"
#include "base/system_error.h"

namespace lanner {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) {
  const fs::path folder = path.parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

/// What `path` resolves to: renaming over a symbolic link would replace the link, and over a device node the
/// device.
fs::path target_of(const fs::path& path) {
  check(path.has_filename(), ErrorCode::invalid_argument, "{}: is not a file name", path.string());
  std::error_code error;
  const fs::path target = fs::is_symlink(path, error) ? fs::weakly_canonical(path, error) : path;
  if (error && error.value() != ENOENT && error.value() != ENOTDIR) fail_system(error.value(), path.string());
  const fs::file_status status = fs::status(target, error);
  check(!fs::is_directory(status), ErrorCode::invalid_argument, "{}: is a folder; give a file name",
        path.string());
  check(!fs::exists(status) || fs::is_regular_file(status), ErrorCode::invalid_argument,
        "{}: is not a regular file, so it cannot be replaced; choose another name", path.string());
  return target;
}

void sync_folder(const fs::path& path) {
  const Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems refuse to sync a folder; the file is complete all the same.
  if (folder) (void)::fsync(folder.get());
}

} // namespace

AtomicFile::AtomicFile(const fs::path& path) : path_(target_of(path)) {
  remove_unfinished_files(path_.parent_path());
  UnfinishedFile file = create_unfinished_file(path_);
  temporary_ = std::move(file.path);
  fd_ = std::move(file.fd);
  if (!fd_) {
    const int error = errno;
    if (error == ENOENT)
      fail(ErrorCode::not_found, "{}: its folder does not exist; create it first", path_.string());
    fail_system(error, path_.string());
  }
  struct stat existing {};
  if (::stat(path_.c_str(), &existing) == 0) (void)::fchmod(fd_.get(), existing.st_mode & 07777);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})),
      fd_(std::move(other.fd_)), position_(other.position_), size_(other.size_) {}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() noexcept {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
  fd_.close();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  write_at(position_, bytes);
  position_ += bytes.size();
}

void AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  check(static_cast<bool>(fd_), ErrorCode::internal, "{}: written to after commit", path_.string());
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        ::pwrite(fd_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno != EINTR) fail_system(errno, path_.string() + ": write");
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  size_ = std::max(size_, offset + bytes.size());
}

std::size_t AtomicFile::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  for (;;) {
    const ssize_t count = ::pread(fd_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) fail_system(errno, path_.string() + ": read");
  }
}

void AtomicFile::commit(bool to_disk) {
  check(static_cast<bool>(fd_), ErrorCode::internal, "{}: committed twice", path_.string());
  if (to_disk && ::fsync(fd_.get()) != 0 && errno != EINVAL) fail_system(errno, path_.string() + ": write");
  // The lock is held until the rename: a clean-up would take an unlocked file for an abandoned one.
  const Descriptor lock(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!fd_.close()) fail_system(errno, path_.string() + ": write");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_system(errno, path_.string());
  temporary_.clear();
  if (to_disk) sync_folder(path_);
}

void write_file(const fs::path& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

FileLock::~FileLock() {
  // Closing alone would leave the lock with children that were forked meanwhile.
  if (fd_) (void)::flock(fd_.get(), LOCK_UN);
}

std::optional<FileLock> FileLock::try_acquire(const fs::path& path) {
  Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!fd) fail_system(errno, path.string());
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::nullopt;
    if (errno != EINTR) fail_system(errno, path.string() + ": lock");
  }
  return FileLock(std::move(fd));
}

std::optional<FileLock> FileLock::acquire_within(const fs::path& path, std::chrono::milliseconds timeout,
                                                 const CancelToken& cancel) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + timeout;
  // Polled, because a blocking flock() could not be cancelled.
  for (auto pause = std::chrono::milliseconds(1);;
       pause = std::min(pause * 2, std::chrono::milliseconds(50))) {
    if (auto lock = try_acquire(path)) return lock;
    cancel.check();
    if (Clock::now() >= end) return std::nullopt;
    std::this_thread::sleep_for(pause);
  }
}

} // namespace lanner
