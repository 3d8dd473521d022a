#include "lower/measure/timing_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/file/cache_file.h"
#include "base/file/descriptor.h"
#include "base/file/file.h"
#include "base/limits/account.h"
#include "base/system_error.h"

namespace lanner {
namespace {

constexpr std::size_t max_entries = 1 << 20, lines_between_looks = 4096;
constexpr std::uint64_t max_bytes = 128 << 20; ///< Of the file.
constexpr std::uint64_t entry_bytes = 256;     ///< Of memory, without a verdict's text.
constexpr std::size_t key_length = 32, longest_line = 1024;
/// Superseded lines are dropped when there are this many more of them than of live ones.
constexpr std::size_t max_replaced = 4096;
constexpr const char* header = "lanner timings 4";
constexpr std::string_view unknown = "-", right = "right", wrong = "wrong ";

bool is_key(std::string_view text) {
  return text.size() == key_length &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// A verdict in one short line.
std::string line_of(const Verdict& verdict) {
  if (verdict.right()) return std::string(right);
  std::string text = std::string(wrong) + verdict.wrong.substr(0, longest_line / 2);
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

/// A key, seconds, their error and the verdict: `right`, or `wrong` and the reason; `-` where one is not
/// known.
std::string line_of(const std::string& key, const std::optional<Timing>& timing,
                    const std::optional<Verdict>& verdict) {
  return fmt::format("{} {} {}\n", key,
                     timing ? fmt::format("{} {}", timing->seconds, timing->error)
                            : fmt::format("{} {}", unknown, unknown),
                     verdict ? line_of(*verdict) : std::string(unknown));
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0) || value > 1e6)
    return std::nullopt;
  return value;
}

/// Takes the first word off a line, and the white space around it.
std::string_view next_field(std::string_view& line) {
  constexpr std::string_view space = " \t\v\f\r";
  line.remove_prefix(std::min(line.find_first_not_of(space), line.size()));
  const std::string_view field = line.substr(0, line.find_first_of(space));
  line.remove_prefix(field.size());
  line.remove_prefix(std::min(line.find_first_not_of(space), line.size()));
  return field;
}

} // namespace

TimingCache::TimingCache(std::filesystem::path file, bool retune) : file_(std::move(file)), retune_(retune) {
  refresh();
}

void TimingCache::refresh() {
  if (file_.empty()) return;
  struct stat now {};
  const bool there = ::stat(file_.c_str(), &now) == 0;
  const auto size = static_cast<std::uint64_t>(there ? now.st_size : 0);
  const bool same =
      valid_ && there && now.st_dev == read_.device && now.st_ino == read_.file && size >= read_.end;
  if (same && size == read_.end) return;
  if (!same) {
    lines_ = 0;
    valid_ = false;
    read_ = {now.st_dev, now.st_ino, 0};
  }
  const std::optional<Content> content = read_cache_file(file_, max_bytes, current_limits(), read_.end);
  if (!content) {
    valid_ = false;
    return;
  }
  try {
    read_lines({reinterpret_cast<const char*>(content->bytes.data()), content->bytes.size()}, same);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::limit_exceeded) throw;
    check_deadline(); // The call's time is over: no fault of the file.
    warn_of_cache_file(file_, error.what());
    read_.end = size;
  }
}

void TimingCache::read_lines(std::string_view text, bool same) {
  // The last line of a truncated file, or of one being written, has no newline.
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    if (read_.end == 0)
      valid_ = line == header;
    else if (line.size() <= longest_line)
      read_line(line, !retune_ || same);
    if (!valid_) return;
    if (read_.end > 0) ++lines_;
    if (lines_ % lines_between_looks == 0) check_deadline();
    read_.end += end + 1;
    text.remove_prefix(end + 1);
  }
}

void TimingCache::read_line(std::string_view line, bool timings) {
  const std::string_view key = next_field(line), seconds = next_field(line), error = next_field(line);
  const std::string_view verdict = line;
  if (error.empty() || !is_key(key)) return;
  Entry entry;
  if (seconds != unknown || error != unknown) {
    const auto value = number_of(seconds), width = number_of(error);
    if (!value || *value == 0 || !width) return;
    if (timings) entry.timing = {*value, *width};
  }
  if (verdict == right)
    entry.verdict = Verdict{};
  else if (verdict.starts_with(wrong) && verdict.size() > wrong.size())
    entry.verdict = Verdict{std::string(verdict.substr(wrong.size()))};
  else if (verdict != unknown)
    return;
  auto place = entries_.find(key);
  if (place == entries_.end()) {
    if (entries_.size() >= max_entries) return;
    held_.add(entry_bytes + verdict.size());
    place = entries_.emplace(std::string(key), Entry{}).first;
  }
  // This build's own results are newer.
  Entry& known = place->second;
  if (!known.own_timing && entry.timing) known.timing = entry.timing;
  if (!known.own_verdict && entry.verdict) known.verdict = entry.verdict;
  if (entry.timing == known.timing && entry.verdict == known.verdict) known.unsaved = false;
}

std::optional<Timing> TimingCache::timing(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : found->second.timing;
}

std::optional<Verdict> TimingCache::verdict(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : found->second.verdict;
}

void TimingCache::set_timing(const std::string& key, Timing timing) {
  Entry& entry = entries_[key];
  entry.timing = timing;
  entry.own_timing = entry.unsaved = changed_ = true;
}

void TimingCache::set_verdict(const std::string& key, Verdict verdict) {
  Entry& entry = entries_[key];
  entry.verdict = std::move(verdict);
  entry.own_verdict = entry.unsaved = changed_ = true;
}

void TimingCache::save() {
  if (!changed_ || file_.empty()) return;
  constexpr std::chrono::seconds timeout(2);
  try {
    std::filesystem::create_directories(file_.parent_path());
    std::filesystem::path lock = file_;
    lock += ".lock";
    const auto held = FileLock::acquire_within(lock, timeout);
    if (!held) return;
    refresh();
    if (valid_ && lines_ <= 2 * entries_.size() + max_replaced)
      append();
    else
      replace();
    for (auto& [key, entry] : entries_) entry.unsaved = false;
    changed_ = false;
  } catch (const std::exception&) {
    // See the header: a cache that cannot be saved is no error.
  }
}

/// Appends after what refresh() has read; the lock is held.
void TimingCache::append() {
  const Descriptor fd(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK));
  if (!fd) fail_system(errno, file_.string());
  struct stat now {};
  if (::fstat(fd.get(), &now) != 0) fail_system(errno, file_.string());
  // Ends a line that a writer left incomplete.
  std::string text = static_cast<std::uint64_t>(now.st_size) == read_.end ? "" : "\n";
  for (const auto& [key, entry] : entries_) {
    if (!entry.unsaved) continue;
    text += line_of(key, entry.timing, entry.verdict);
    ++lines_;
  }
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    fail_system(errno, file_.string() + ": write");
  read_.end = static_cast<std::uint64_t>(now.st_size) + text.size();
}

/// Writes a temporary file and renames it: for a file of another version, or one with many superseded lines.
void TimingCache::replace() {
  TimingCache whole;
  if (valid_) whole = TimingCache(file_); // timings that this build must not use stay for others
  for (const auto& [key, entry] : entries_) {
    Entry& kept = whole.entries_[key];
    if (entry.own_timing || !kept.timing) kept.timing = entry.timing;
    if (entry.own_verdict || !kept.verdict) kept.verdict = entry.verdict;
  }
  std::string text = fmt::format("{}\n", header);
  for (const auto& [key, entry] : whole.entries_) text += line_of(key, entry.timing, entry.verdict);
  if (!write_cache_file(file_, text)) return;
  struct stat now {};
  if (::stat(file_.c_str(), &now) == 0) read_ = {now.st_dev, now.st_ino, text.size()};
  lines_ = whole.entries_.size();
  valid_ = true;
}

} // namespace lanner
