#include "base/file/unfinished_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/system_error.h"

namespace lanner {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view suffix = ".part";
constexpr std::size_t digits = 8;
constexpr std::time_t week = 7 * 24 * 3600;
constexpr std::size_t most_folders = 4096; // remembered by a process

/// The same in all processes and containers that share the kernel, and so its file locks.
const std::string& boot() {
  static const auto* const text = [] {
    std::string id(64, '\0');
    const Descriptor fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    const ssize_t count = fd ? ::read(fd.get(), id.data(), id.size()) : 0;
    if (count > 0)
      id.resize(static_cast<std::size_t>(count));
    else
      static_cast<void>(::gethostname(id.data(), id.size()));
    return new std::string(hash_hex(std::as_bytes(std::span(id))).substr(0, digits));
  }();
  return *text;
}

std::string random_digits() {
  std::uint32_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) fail_system(errno, "random numbers");
  return fmt::format("{:08x}", random);
}

bool are_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// The boot in an unfinished file's name; empty for every other name.
std::string boot_of(std::string_view name) {
  constexpr std::size_t tail = 1 + digits + 1 + digits; // `.BOOT-RANDOM`
  if (!name.starts_with('.') || !name.ends_with(suffix)) return {};
  name.remove_suffix(suffix.size());
  if (name.size() <= tail) return {};
  const std::string_view end = name.substr(name.size() - tail);
  const std::string_view first = end.substr(1, digits), last = end.substr(digits + 2);
  const bool fits = end[0] == '.' && end[digits + 1] == '-' && are_digits(first) && are_digits(last);
  return fits ? std::string(first) : std::string();
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

void remove_if_left(const fs::path& path, bool of_this_boot) {
  const Descriptor fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat opened {
  }, named{};
  if (!fd || ::fstat(fd.get(), &opened) != 0 || !S_ISREG(opened.st_mode) || opened.st_uid != ::geteuid())
    return;
  if (!of_this_boot && std::time(nullptr) - opened.st_mtime < week) return;
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return; // its writer lives, or there are no locks here
  if (::lstat(path.c_str(), &named) == 0 && same_file(opened, named)) ::unlink(path.c_str());
}

bool first_look(const fs::path& folder) {
  struct Seen {
    std::mutex mutex;
    std::set<fs::path> folders;
  };
  static auto* seen = new Seen; // threads may still write while static objects are destroyed
  const std::lock_guard lock(seen->mutex);
  return seen->folders.size() < most_folders && seen->folders.insert(fs::absolute(folder)).second;
}

} // namespace

UnfinishedFile create_unfinished_file(const fs::path& path) {
  constexpr std::size_t longest_stem = 200; // A name may have 255 bytes.
  const std::string stem = path.filename().string().substr(0, longest_stem);
  for (;;) {
    UnfinishedFile file;
    file.path = path.parent_path() / fmt::format(".{}.{}-{}{}", stem, boot(), random_digits(), suffix);
    file.fd = Descriptor(::open(file.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!file.fd && errno == EEXIST) continue;
    if (!file.fd) return {};
    // A clean-up may have come before the lock: then it holds the lock, or the file is gone.
    const bool taken = ::flock(file.fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    struct stat status {};
    if (!taken && (::fstat(file.fd.get(), &status) != 0 || status.st_nlink > 0)) return file;
  }
}

void remove_unfinished_files(const fs::path& given) noexcept {
  try {
    const fs::path folder = given.empty() ? "." : given;
    if (!first_look(folder)) return;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
      if (const std::string of = boot_of(entry->path().filename().native()); !of.empty())
        remove_if_left(entry->path(), of == boot());
  } catch (const std::exception&) {
    // What cannot be cleaned up now is left for the next process.
  }
}

} // namespace lanner
