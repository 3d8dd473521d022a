#pragma once
// Persistent cache of tactics' timings and verdicts.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/limits/account.h"
#include "lower/measure/timing.h"

namespace lanner {

/// Whether a tactic's results agree with the operator's definition.
struct Verdict {
  std::string wrong; ///< What differed; empty: it is right.
  bool right() const noexcept { return wrong.empty(); }

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

/// Timings and verdicts by the content of what was measured. A file in the user's cache folder keeps them
/// between builds and shares them with concurrent ones; damaged lines and files of another version are
/// ignored, and of a file that needs more than `total_bytes` of memory only a part is used. One user at a
/// time.
class TimingCache {
public:
  /// `retune` ignores the file's timings, so that everything is timed again; verdicts are used.
  explicit TimingCache(std::filesystem::path file = {}, bool retune = false);

  /// Empty: nothing is saved.
  const std::filesystem::path& file() const noexcept { return file_; }

  std::optional<Timing> timing(const std::string& key) const;
  std::optional<Verdict> verdict(const std::string& key) const;
  void set_timing(const std::string& key, Timing timing);
  void set_verdict(const std::string& key, Verdict verdict);

  /// Reads what other builds added since the last read; cheap where nothing was. Values set here stay.
  void refresh();
  /// Appends new entries to the file, under a lock between processes, and reads what others added. Costs a
  /// few system calls, so it may be called often. Failing to write is not an error: the next build measures
  /// again.
  void save();

private:
  struct Entry {
    std::optional<Timing> timing;
    std::optional<Verdict> verdict;
    bool own_timing = false, own_verdict = false; ///< Set here, not read.
    bool unsaved = false;
  };
  /// So that a part of a line is looked up without a copy of it.
  struct KeyHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  /// Which file was read up to where: a file is only appended to or replaced.
  struct Position {
    std::uint64_t device = 0, file = 0, end = 0;
  };

  void read_lines(std::string_view text, bool same);
  void read_line(std::string_view line, bool timings);
  void append();
  void replace();

  std::filesystem::path file_;
  bool retune_;
  std::unordered_map<std::string, Entry, KeyHash, std::equal_to<>> entries_;
  Charge held_{current_account()}; ///< Memory of `entries_`.
  Position read_;
  std::size_t lines_ = 0; ///< Read from the file, superseded ones included.
  bool valid_ = false;    ///< The file is there and of this version.
  bool changed_ = false;
};

} // namespace lanner
