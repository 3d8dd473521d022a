#pragma once
// Words to the user: data on stdout, everything else on stderr.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/error.h>

#include "output/visible.h"

namespace lanner::tool {

/// Writes bytes to stdout; Error{io} when nobody takes them. A progress bar on the same terminal is wiped
/// first.
void print_out(std::string_view bytes);
/// The same for people's eyes: control characters, which may come from a file's names, are escaped.
void print_text(std::string_view text);
/// The same for JSON, which stays the same JSON.
void print_json_text(std::string_view json);
/// What people at a terminal see beside the data: on stderr where that is a terminal, else nowhere.
void tell_terminal(std::string_view text);
/// Flushes stdout; Error{io} when that fails.
void flush_out();
/// A line on stderr that is no error, `lanner: ` in front.
void print_note(std::string_view text);
/// Error{io} for an output whose reader has gone; reader_gone() is true from then on.
[[noreturn]] void fail_reader_gone(std::string_view output);
bool reader_gone();

std::string bytes_text(std::uint64_t bytes); ///< `3.2 MiB`.
std::string seconds_text(double seconds);    ///< `412 us`, `3.21 ms`, `1.50 s`.
std::string clock_text(double seconds);      ///< `1:02:03`, `2:03`.

/// Calls `body`; errors begin with what was done to which file: `decode clip.mp4: `. Many name it already.
template<typename Body>
decltype(auto) about(std::string_view verb, const std::string& path, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (!error.message().starts_with(path + ": ")) throw error.within(fmt::format("{} {}", verb, path));
    throw Error(error.code(), fmt::format("{} {}", verb, error.message()));
  }
}

/// Columns of text under headings; numbers are set right.
class Table {
public:
  explicit Table(std::vector<std::string> headings) : rows_{std::move(headings)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

private:
  std::vector<std::vector<std::string>> rows_;
};

/// A bar on stderr with rate and time left, when stderr is a terminal; else nothing. Wiped when it dies.
class ProgressBar {
public:
  explicit ProgressBar(std::string label) : label_(std::move(label)) {}
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Shows `done` of `total` (0: not known) in `unit`s; redraws a few times a second.
  void update(double done, double total, std::string_view unit);
  /// For a library's long call.
  ProgressCallback callback();

private:
  void draw(double now, double done, double total, std::string_view unit);

  std::string label_;
  double start_ = -1, drawn_ = -1;
  std::string stage_;
};

} // namespace lanner::tool
