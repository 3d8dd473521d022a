#include "base/file/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include <lanner/error.h>

#include "base/check.h"
#include "base/system_error.h"

namespace lanner {
namespace {

// O_NONBLOCK so that opening a pipe does not wait for its writer; regular files ignore it.
constexpr int file_flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

[[noreturn]] void fail_leaving(const std::string& relative, std::string_view why) {
  fail(ErrorCode::bad_data, "\"{}\": {}; files named by a model must be in its own folder", relative, why);
}

std::vector<std::string> components(const std::string& relative) {
  if (relative.empty()) fail_leaving(relative, "the name is empty");
  if (relative.find('\0') != std::string::npos)
    fail_leaving(relative.c_str(), "the name contains a zero byte");
  if (relative.front() == '/') fail_leaving(relative, "the path is absolute");
  std::vector<std::string> parts;
  for (const std::filesystem::path& part : std::filesystem::path(relative)) {
    if (part == "..") fail_leaving(relative, "the path goes up");
    if (part != "." && !part.empty()) parts.push_back(part.string());
  }
  if (parts.empty()) fail_leaving(relative, "the path is a folder");
  return parts;
}

Descriptor open_folder(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder.empty() ? std::filesystem::path(".") : folder;
  Descriptor fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) fail_system(errno, path.string());
  return fd;
}

[[noreturn]] void fail_open(int error, const std::filesystem::path& folder, const std::string& relative) {
  if (error == ELOOP || error == EXDEV) fail_leaving(relative, "the path goes through a symbolic link");
  fail_system(error, (folder / relative).string());
}

Descriptor require_single_file(Descriptor fd, const std::filesystem::path& folder,
                               const std::string& relative) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) fail_open(errno, folder, relative);
  if (!S_ISREG(status.st_mode)) fail_leaving(relative, "not a regular file");
  if (status.st_nlink > 1) fail_leaving(relative, "the file has further hard links");
  return fd;
}

} // namespace

Descriptor open_file_beneath_by_component(const std::filesystem::path& folder, const std::string& relative) {
  const std::vector<std::string> parts = components(relative);
  Descriptor at = open_folder(folder);
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    Descriptor next(::openat(at.get(), parts[i].c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next) fail_open(errno, folder, relative);
    struct stat status {};
    if (::fstat(next.get(), &status) != 0) fail_open(errno, folder, relative);
    if (S_ISLNK(status.st_mode)) fail_open(ELOOP, folder, relative);
    if (!S_ISDIR(status.st_mode)) fail_open(ENOTDIR, folder, relative);
    at = std::move(next);
  }
  Descriptor file(::openat(at.get(), parts.back().c_str(), file_flags | O_NOFOLLOW));
  if (!file) fail_open(errno, folder, relative);
  return require_single_file(std::move(file), folder, relative);
}

Descriptor open_file_beneath(const std::filesystem::path& folder, const std::string& relative) {
  components(relative);
  const Descriptor at = open_folder(folder);
  struct open_how how {};
  how.flags = static_cast<std::uint64_t>(file_flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  Descriptor file(static_cast<int>(::syscall(SYS_openat2, at.get(), relative.c_str(), &how, sizeof how)));
  if (file) return require_single_file(std::move(file), folder, relative);
  // ENOSYS: an old kernel; EPERM: a container's seccomp filter that does not know the call.
  if (errno == ENOSYS || errno == EPERM) return open_file_beneath_by_component(folder, relative);
  fail_open(errno, folder, relative);
}

} // namespace lanner
