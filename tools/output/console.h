#pragma once
// Output to the user: data on stdout, everything else on stderr.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/error.h>

#include "output/visible.h"

namespace lanner::tool {

/// Writes bytes to stdout; Error{io} when that fails. Clears a progress bar of the same terminal
/// first.
void print_out(std::string_view bytes);
/// The same for text that people read: control characters, which may come from names in a file, are escaped.
void print_text(std::string_view text);
/// The same for JSON, escaped so that the JSON means the same.
void print_json_text(std::string_view json);
/// Notes for people at a terminal: on stderr where that is a terminal, else nowhere.
void tell_terminal(std::string_view text);
/// Flushes stdout; Error{io} when that fails.
void flush_out();
/// A line on stderr that is not an error, prefixed by `lanner: `.
void print_note(std::string_view text);
/// Error{io} for an output whose reader has closed it; reader_gone() is true from then on.
[[noreturn]] void fail_reader_gone(std::string_view output);
bool reader_gone();

std::string bytes_text(std::uint64_t bytes); ///< `3.2 MiB`.
std::string seconds_text(double seconds);    ///< `412 us`, `3.21 ms`, `1.50 s`.
std::string clock_text(double seconds);      ///< `1:02:03`, `2:03`.

/// Calls `body`; errors are prefixed by the action and the file: `decode clip.mp4: `, unless they name it
/// already.
template<typename Body>
decltype(auto) about(std::string_view verb, const std::string& path, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (!error.message().starts_with(path + ": ")) throw error.within(fmt::format("{} {}", verb, path));
    throw Error(error.code(), fmt::format("{} {}", verb, error.message()));
  }
}

/// Columns of text under headings; numbers are right-aligned.
class Table {
public:
  explicit Table(std::vector<std::string> headings) : rows_{std::move(headings)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

private:
  std::vector<std::vector<std::string>> rows_;
};

/// A progress bar on stderr with rate and remaining time, when stderr is a terminal; else nothing. Cleared
/// when destroyed.
class ProgressBar {
public:
  explicit ProgressBar(std::string label) : label_(std::move(label)) {}
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Shows `done` of `total` (0: unknown) in `unit`s; redraws a few times a second.
  void update(double done, double total, std::string_view unit);
  /// As progress callback of a library call.
  ProgressCallback callback();

private:
  void draw(double now, double done, double total, std::string_view unit);

  std::string label_;
  double start_ = -1, drawn_ = -1;
  std::string stage_;
};

} // namespace lanner::tool
