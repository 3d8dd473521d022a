#include "lower/timing_cache.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "base/file.h"

namespace lanner {
namespace {

constexpr std::size_t most_entries = 1 << 20;
constexpr std::size_t key_length = 32, longest_line = 1024;
constexpr const char* header = "lanner timings 3";
constexpr std::string_view unknown = "-", right = "right", wrong = "wrong ";

bool is_key(const std::string& text) {
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

} // namespace

// A line holds a key, the seconds and the verdict: `right`, or `wrong` and the reason; `-` where one is not
// known.
TimingCache::TimingCache(std::filesystem::path file, bool retune) : file_(std::move(file)) {
  if (file_.empty()) return;
  read();
  if (retune)
    for (auto& [key, entry] : entries_) entry.seconds.reset();
}

void TimingCache::read() {
  std::ifstream in(file_);
  std::string line;
  if (!std::getline(in, line) || line != header) return;
  // The last line of a file that was cut off has no end.
  while (std::getline(in, line) && !in.eof() && entries_.size() < most_entries) read_line(line);
}

void TimingCache::read_line(const std::string& line) {
  if (line.size() > longest_line) return;
  std::istringstream fields(line);
  std::string key, seconds, verdict;
  if (!(fields >> key >> seconds) || !is_key(key)) return;
  std::getline(fields >> std::ws, verdict);
  Entry entry;
  if (seconds != unknown) {
    double value = 0;
    const char* const last = seconds.data() + seconds.size();
    const auto [end, error] = std::from_chars(seconds.data(), last, value);
    if (error != std::errc() || end != last || !(value > 0) || value > 1e6) return;
    entry.seconds = value;
  }
  if (verdict == right)
    entry.verdict = Verdict{};
  else if (verdict.starts_with(wrong) && verdict.size() > wrong.size())
    entry.verdict = Verdict{verdict.substr(wrong.size())};
  else if (verdict != unknown)
    return;
  // What this build found out itself is newer.
  Entry& known = entries_[key];
  if (!known.seconds) known.seconds = entry.seconds;
  if (!known.verdict) known.verdict = std::move(entry.verdict);
}

std::optional<double> TimingCache::seconds(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : found->second.seconds;
}

std::optional<Verdict> TimingCache::verdict(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : found->second.verdict;
}

void TimingCache::set_seconds(const std::string& key, double seconds) {
  entries_[key].seconds = seconds;
  changed_ = true;
}

void TimingCache::set_verdict(const std::string& key, Verdict verdict) {
  entries_[key].verdict = std::move(verdict);
  changed_ = true;
}

void TimingCache::save() {
  if (!changed_ || file_.empty()) return;
  try {
    std::filesystem::create_directories(file_.parent_path());
    std::filesystem::path lock = file_;
    lock += ".lock";
    const FileLock held = FileLock::acquire(lock);
    read();
    std::string text = fmt::format("{}\n", header);
    for (const auto& [key, entry] : entries_)
      text += fmt::format("{} {} {}\n", key,
                          entry.seconds ? fmt::format("{:.9g}", *entry.seconds) : std::string(unknown),
                          entry.verdict ? line_of(*entry.verdict) : std::string(unknown));
    write_file(file_, std::as_bytes(std::span(text)));
    changed_ = false;
  } catch (const std::exception&) {
    // See the header: a cache that cannot be kept is no error.
  }
}

} // namespace lanner
