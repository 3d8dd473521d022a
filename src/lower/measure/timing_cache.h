#pragma once
// What tuning found out about tactics, kept between builds.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/limits/account.h"
#include "lower/measure/timing.h"

namespace lanner {

/// Whether a tactic gave what the operator's definition gives.
struct Verdict {
  std::string wrong; ///< What differed; empty: it is right.
  bool right() const noexcept { return wrong.empty(); }

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

/// Timings and verdicts by the content of what was tried. A file in the user's cache folder keeps them
/// between builds and tells them to builds that run at the same time; lines that are damaged, and files of
/// another version, are ignored, and a file of which more than `total_bytes` would be held is used in part.
/// One user at a time.
class TimingCache {
public:
  /// `retune` leaves the file's timings out, so that everything is timed again; verdicts stay.
  explicit TimingCache(std::filesystem::path file = {}, bool retune = false);

  /// Empty: nothing is kept.
  const std::filesystem::path& file() const noexcept { return file_; }

  std::optional<Timing> timing(const std::string& key) const;
  std::optional<Verdict> verdict(const std::string& key) const;
  void set_timing(const std::string& key, Timing timing);
  void set_verdict(const std::string& key, Verdict verdict);

  /// Reads what others added since the file was read last: next to nothing where that is nothing. What was
  /// set here stays.
  void refresh();
  /// Adds what is new here to the file, under a lock between processes, and reads what others added. Costs
  /// some system calls, so that others may be told often. Failing to write is not an error: it costs time at
  /// the next build, no more.
  void save();

private:
  struct Entry {
    std::optional<Timing> timing;
    std::optional<Verdict> verdict;
    bool own_timing = false, own_verdict = false; ///< Set here, not read.
    bool unsaved = false;
  };
  /// Which file was read, and how far: lines are only added to a file, or it is replaced.
  struct Position {
    std::uint64_t device = 0, file = 0, end = 0;
  };

  void read_lines(std::string_view text, bool same);
  void read_line(const std::string& line, bool timings);
  void append();
  void replace();

  std::filesystem::path file_;
  bool retune_;
  std::map<std::string, Entry> entries_;
  Charge held_{current_account()}; ///< What `entries_` take.
  Position read_;
  std::size_t lines_ = 0; ///< Read from the file, those included that later ones replace.
  bool valid_ = false;    ///< The file is there and of this version.
  bool changed_ = false;
};

} // namespace lanner
