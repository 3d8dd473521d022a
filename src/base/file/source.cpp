#include <lanner/source.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <vector>

#include <lanner/error.h>
#include <lanner/model_folder.h>

#include "base/check.h"
#include "base/file/beneath.h"
#include "base/file/descriptor.h"
#include "base/file/file_identity.h"
#include "base/file/regular_file.h"
#include "base/huge_pages.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "base/system_error.h"
#include "base/text/foreign_format.h"
#include "base/threads/thread_settings.h"

namespace lanner {
namespace {

void require_file_size(const std::string& name, std::uint64_t size, const Limits& limits) {
  check_limit("file_bytes", size, limits.file_bytes, "{}: {} bytes", name, size);
}

/// Anonymous memory. A large block uses huge pages where the system has them: it is filled in less than half
/// the time, and read faster (base/huge_pages.h). The weights of a plan stay in it, so it comes from the
/// program's allocator where there is one.
std::shared_ptr<std::byte> own_memory(std::size_t bytes, const std::string& name) {
  Charge charge = with_context([&] { return name; }, [&] { return Charge(current_account(), bytes); });
  constexpr std::uint64_t alignment = 64;
  if (auto outside = with_context([&] { return name; },
                                  [&] {
                                    return allocated_outside({LANNER_CPU, 0, 0, 0, bytes, alignment}, charge);
                                  }))
    return std::static_pointer_cast<std::byte>(outside);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(memory != MAP_FAILED, ErrorCode::out_of_memory, "{}: no memory for its {} bytes", name, bytes);
  prefer_huge_pages(memory, bytes);
  return {static_cast<std::byte*>(memory), [bytes, account = charge.leave()](std::byte* data) noexcept {
            ::munmap(data, bytes);
            if (account) account->release(bytes);
          }};
}

/// A regular file, which is never mapped: a file that shrinks while it is read would end the process by
/// SIGBUS, one that is written to would change after it was validated. Reads come from the descriptor.
class FileSource final : public ByteSource {
public:
  FileSource(Descriptor fd, std::string name, std::uint64_t size)
      : fd_(std::move(fd)), name_(std::move(name)), size_(size) {}

  const std::string& name() const noexcept override { return name_; }
  std::int64_t size() const noexcept override { return static_cast<std::int64_t>(size_); }
  bool seekable() const noexcept override { return true; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) override {
    if (offset >= size_) return 0;
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), size_ - offset));
    constexpr std::size_t part = std::size_t{16} << 20; // between two checks of the deadline
    std::size_t done = 0;
    while (done < wanted) {
      check_deadline();
      const ssize_t count = ::pread(fd_.get(), into.data() + done, std::min(wanted - done, part),
                                    static_cast<off_t>(offset + done));
      if (count == 0) break;
      if (count < 0 && errno != EINTR) fail_system(errno, name_ + ": read");
      if (count > 0) done += static_cast<std::size_t>(count);
    }
    return done;
  }

  std::span<const std::byte> map() override { return {}; }

  /// The whole content as it is now.
  Content content() {
    if (size_ == 0) return {};
    const auto before = stamp();
    const std::shared_ptr<std::byte> memory = own_memory(static_cast<std::size_t>(size_), name_);
    const std::span<std::byte> bytes(memory.get(), static_cast<std::size_t>(size_));
    const std::size_t done = read_at(0, bytes);
    check(done == bytes.size(), ErrorCode::io, "{}: ended after {} of {} bytes; it was cut while being read",
          name_, done, bytes.size());
    check(before && before->size == size_ && stamp() == before, ErrorCode::io,
          "{}: was written to while being read; try again when it is complete", name_);
    return {bytes, memory};
  }

  std::optional<FileIdentity> stamp() const {
    struct stat status {};
    if (::fstat(fd_.get(), &status) != 0) return std::nullopt;
    constexpr std::int64_t second = 1'000'000'000;
    return FileIdentity{static_cast<std::uint64_t>(status.st_size),
                        status.st_mtim.tv_sec * second + status.st_mtim.tv_nsec};
  }

private:
  Descriptor fd_;
  std::string name_;
  std::uint64_t size_;
};

/// A source that can only be read in sequence: stores no bytes, so an offset may only go forward.
class StreamSource final : public ByteSource {
public:
  StreamSource(ReadCallback read, std::string name, std::int64_t size, std::uint64_t limit)
      : read_(std::move(read)), name_(std::move(name)), size_(size), limit_(limit) {}

  const std::string& name() const noexcept override { return name_; }
  std::int64_t size() const noexcept override { return size_; }
  bool seekable() const noexcept override { return false; }
  std::span<const std::byte> map() override { return {}; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) override {
    check(offset >= position_, ErrorCode::io,
          "{}: cannot go back from byte {} to {}; copy it to a file first", name_, position_, offset);
    std::vector<std::byte> skipped;
    while (position_ < offset) {
      skipped.resize(static_cast<std::size_t>(std::min<std::uint64_t>(offset - position_, 1u << 16)));
      if (advance(skipped) == 0) return 0;
    }
    std::size_t done = 0;
    while (done < into.size()) {
      const std::size_t count = advance(into.subspan(done));
      if (count == 0) break;
      done += count;
    }
    return done;
  }

private:
  std::size_t advance(std::span<std::byte> into) {
    const std::size_t count = read_(position_, into);
    check(count <= into.size(), ErrorCode::invalid_argument,
          "{}: its callback returned {} bytes for a buffer of {}", name_, count, into.size());
    position_ += count;
    check_limit("file_bytes", position_, limit_, "{}: {} bytes or more", name_, position_);
    return count;
  }

  ReadCallback read_;
  std::string name_;
  std::int64_t size_;
  std::uint64_t limit_;
  std::uint64_t position_ = 0;
};

class BytesSource final : public ByteSource {
public:
  BytesSource(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name)
      : bytes_(bytes), owner_(std::move(owner)), name_(std::move(name)) {}

  const std::string& name() const noexcept override { return name_; }
  std::int64_t size() const noexcept override { return static_cast<std::int64_t>(bytes_.size()); }
  bool seekable() const noexcept override { return true; }
  std::span<const std::byte> map() override { return bytes_; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) override {
    if (offset >= bytes_.size()) return 0;
    const auto rest = bytes_.subspan(static_cast<std::size_t>(offset));
    const std::size_t count = std::min(rest.size(), into.size());
    if (count > 0) std::memcpy(into.data(), rest.data(), count);
    return count;
  }

private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::string name_;
};

class CallbackSource final : public ByteSource {
public:
  CallbackSource(ReadCallback read, std::int64_t size, std::string name)
      : read_(std::move(read)), size_(size), name_(std::move(name)) {}

  const std::string& name() const noexcept override { return name_; }
  std::int64_t size() const noexcept override { return size_; }
  bool seekable() const noexcept override { return true; }
  std::span<const std::byte> map() override { return {}; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) override {
    std::size_t done = 0;
    while (done < into.size()) {
      const std::size_t count = read_(offset + done, into.subspan(done));
      check(count <= into.size() - done, ErrorCode::invalid_argument,
            "{}: it returned {} bytes for a buffer of {}", name_, count, into.size() - done);
      if (count == 0) break;
      done += count;
    }
    return done;
  }

private:
  ReadCallback read_;
  std::int64_t size_;
  std::string name_;
};

/// Waits until there are bytes or the end of the stream: the writer may be slow, or never come. A signal
/// ends the wait for the first bytes, as it would end open().
void wait_for_bytes(int fd, const std::string& name, bool first) {
  constexpr int poll_interval = 100; // ms
  pollfd waited{fd, POLLIN, 0};
  int ready = 0;
  do {
    check_deadline();
    ready = ::poll(&waited, 1, poll_interval);
    check(ready >= 0 || errno != EINTR || !first, ErrorCode::cancelled,
          "{}: interrupted before any data came", name);
  } while (ready == 0);
}

SourcePtr stream_of(Descriptor fd, std::string name, const Limits& limits) {
  auto shared = std::make_shared<Descriptor>(std::move(fd));
  auto read = [shared, name](std::uint64_t position, std::span<std::byte> into) -> std::size_t {
    for (;;) {
      wait_for_bytes(shared->get(), name, position == 0);
      const ssize_t count = ::read(shared->get(), into.data(), into.size());
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR && errno != EAGAIN) fail_system(errno, name + ": read");
    }
  };
  return std::make_shared<StreamSource>(std::move(read), std::move(name), -1, limits.file_bytes);
}

enum class Taken : std::uint8_t { files, files_and_pipes };

SourcePtr from_descriptor(Descriptor fd, std::string name, const Limits& limits,
                          Taken taken = Taken::files_and_pipes) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) fail_system(errno, name);
  if (S_ISREG(status.st_mode)) {
    const auto size = static_cast<std::uint64_t>(status.st_size);
    require_file_size(name, size, limits);
    return std::make_shared<FileSource>(std::move(fd), std::move(name), size);
  }
  if (S_ISDIR(status.st_mode)) {
    if (const std::filesystem::path model = model_path(name); model != name) return open_path(model, limits);
    if (const auto format = foreign_folder(name))
      fail(ErrorCode::unsupported, "{}: {}", name, format->text());
    fail(ErrorCode::invalid_argument, "{}: is a folder; give a file", name);
  }
  check(taken == Taken::files_and_pipes, ErrorCode::invalid_argument, "{}: is not a regular file", name);
  check(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode), ErrorCode::invalid_argument,
        "{}: is neither a file nor a pipe", name);
  return stream_of(std::move(fd), std::move(name), limits);
}

Content read_through(ByteSource& source, const Limits& limits) {
  constexpr std::size_t first_chunk = 1u << 16;
  const std::int64_t size = source.size();
  if (size >= 0) require_file_size(source.name(), static_cast<std::uint64_t>(size), limits);
  struct Read {
    Charge charge{current_account()};
    std::vector<std::byte> bytes;
  };
  const auto read = std::make_shared<Read>();
  const std::shared_ptr<std::vector<std::byte>> bytes(read, &read->bytes);
  std::size_t done = 0;
  for (;;) {
    // A size that a callback claims is not trusted before the bytes have come.
    const std::size_t wanted = std::clamp(done, first_chunk, std::size_t{64} << 20);
    read->charge.set(done + wanted);
    bytes->resize(done + wanted);
    const std::size_t count = source.read_at(done, std::span(*bytes).subspan(done));
    done += count;
    require_file_size(source.name(), done, limits);
    if (count == 0) break; // Reads may be short; 0 bytes is the end.
  }
  check(size < 0 || done == static_cast<std::uint64_t>(size), ErrorCode::io,
        "{}: ended after {} of {} bytes; it was cut while being read", source.name(), done, size);
  bytes->resize(done);
  return {std::span<const std::byte>(*bytes), bytes};
}

} // namespace

namespace {

// A path that does not exist is often an address, or `-`, which many programs use for standard input.
[[noreturn]] void fail_open(int error, const std::string& path) {
  const std::size_t scheme = path.find("://");
  const bool letters =
      scheme != std::string::npos && scheme > 0 &&
      std::all_of(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(scheme),
                  [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.'; });
  if (error == ENOENT && path == "-")
    fail(ErrorCode::not_found, "-: there is no such file; standard input is called /dev/stdin");
  if (error == ENOENT && letters && path.starts_with("file://"))
    fail(ErrorCode::not_found, "{}: there is no such file; give the path alone: {}", path, path.substr(7));
  if (error == ENOENT && letters)
    fail(ErrorCode::not_found,
         "{}: {}:// is an address, and only files are read here; download it first, or let ffmpeg read a "
         "clip: "
         "ffmpeg -loglevel error -i ADDRESS -c copy -an -f matroska - | lanner decode -",
         path, path.substr(0, scheme));
  fail_system(error, path);
}

} // namespace

std::optional<FileIdentity> file_identity(const ByteSource& source) {
  const auto* file = dynamic_cast<const FileSource*>(&source);
  return file ? file->stamp() : std::nullopt;
}

static SourcePtr open_named(const std::filesystem::path& path, const Limits& limits, Taken taken) {
  check(!path.empty(), ErrorCode::not_found, "the path is empty");
  check(path.native().find('\0') == std::string::npos, ErrorCode::invalid_argument,
        "{}: the path contains a zero byte", path.c_str());
  // Opening a pipe would wait for its writer without a deadline; regular files ignore the flag.
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd) fail_open(errno, path.string());
  return from_descriptor(std::move(fd), path.string(), limits, taken);
}

SourcePtr open_path(const std::filesystem::path& path, const Limits& limits) {
  return open_named(path, limits, Taken::files_and_pipes);
}

SourcePtr open_regular_file(const std::filesystem::path& path, const Limits& limits) {
  return open_named(path, limits, Taken::files);
}

SourcePtr open_beneath(const std::filesystem::path& folder, const std::string& relative,
                       const Limits& limits) {
  return from_descriptor(open_file_beneath(folder, relative), (folder / relative).string(), limits);
}

SourcePtr open_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name) {
  return std::make_shared<BytesSource>(bytes, std::move(owner), std::move(name));
}

SourcePtr open_fd(int fd, const Limits& limits) {
  std::string name = fmt::format("fd {}", fd);
  Descriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) fail_system(errno, name);
  return from_descriptor(std::move(copy), std::move(name), limits);
}

SourcePtr open_callback(ReadCallback read, std::int64_t size, bool seekable, std::string name) {
  check(static_cast<bool>(read), ErrorCode::invalid_argument, "{}: no read function was given", name);
  if (seekable) return std::make_shared<CallbackSource>(std::move(read), size, std::move(name));
  return std::make_shared<StreamSource>(std::move(read), std::move(name), size, UINT64_MAX);
}

Content read_all(const SourcePtr& source, const Limits& limits) {
  if (auto* file = dynamic_cast<FileSource*>(source.get())) {
    require_file_size(file->name(), static_cast<std::uint64_t>(file->size()), limits);
    return file->content();
  }
  const std::span<const std::byte> whole = source->map();
  if (whole.empty()) return read_through(*source, limits);
  require_file_size(source->name(), whole.size(), limits);
  return {whole, source};
}

} // namespace lanner
