#pragma once
// What tuning found out about tactics, kept between builds.

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace lanner {

/// Whether a tactic gave what the operator's definition gives.
struct Verdict {
  std::string wrong; ///< What differed; empty: it is right.
  bool right() const noexcept { return wrong.empty(); }
};

/// Seconds and verdicts by the content of what was tried. A file in the user's cache folder keeps them
/// between builds; lines that are damaged, and files of another version, are ignored. One user at a time.
class TimingCache {
public:
  /// `retune` leaves the file's seconds out, so that everything is timed again; verdicts stay.
  explicit TimingCache(std::filesystem::path file = {}, bool retune = false);

  std::optional<double> seconds(const std::string& key) const;
  std::optional<Verdict> verdict(const std::string& key) const;
  void set_seconds(const std::string& key, double seconds);
  void set_verdict(const std::string& key, Verdict verdict);

  /// Adds what others wrote meanwhile, under a lock between processes, and writes beside and renames. Failing
  /// to write is not an error: it costs time at the next build, no more.
  void save();

private:
  struct Entry {
    std::optional<double> seconds;
    std::optional<Verdict> verdict;
  };
  void read();
  void read_line(const std::string& line);

  std::filesystem::path file_;
  std::map<std::string, Entry> entries_;
  bool changed_ = false;
};

} // namespace lanner
