#include "output/console.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <lanner/error.h>

#include "check.h"

namespace lanner::tool {
namespace {

constexpr double redraw_seconds = 0.1;

std::atomic<bool> bar_visible = false;
std::atomic<bool> output_unread = false; ///< An output's reader has closed it.

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool stderr_is_terminal() {
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  return terminal;
}

void wipe_bar() {
  if (!bar_visible) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  bar_visible = false;
}

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

[[noreturn]] void fail_out() {
  if (errno == EPIPE) fail_reader_gone("standard output");
  fail(ErrorCode::io, "standard output: cannot be written; is the disk full?");
}

bool is_number(std::string_view text) {
  return !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-');
}

std::string count_text(double value) {
  return value == std::floor(value) && value < 1e15 ? fmt::format("{:.0f}", value)
                                                    : fmt::format("{:.1f}", value);
}

} // namespace

void print_out(std::string_view bytes) {
  static const bool shared = isatty(STDOUT_FILENO) == 1;
  if (shared) wipe_bar();
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) fail_out();
}

void print_text(std::string_view text) {
  print_out(visible(text));
}

void print_json_text(std::string_view json) {
  print_out(visible_json(json));
}

void tell_terminal(std::string_view text) {
  if (!stderr_is_terminal()) return;
  flush_out();
  wipe_bar();
  std::fputs(visible(text).c_str(), stderr);
}

void flush_out() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) fail_out();
}

void print_note(std::string_view text) {
  wipe_bar();
  std::fprintf(stderr, "lanner: %s\n", one_line(text).c_str());
}

void fail_reader_gone(std::string_view output) {
  output_unread = true;
  fail(ErrorCode::io, "{}: its reader has closed it", output);
}

bool reader_gone() {
  return output_unread;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string seconds_text(double seconds) {
  if (seconds <= 0) return "0";
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.2f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<long long>(std::clamp(seconds, 0.0, 1e9) + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows_[r].size(); ++i) {
      const bool right = is_number(rows_.back().size() > i ? rows_.back()[i] : rows_[r][i]);
      line += right ? fmt::format("{:>{}}  ", rows_[r][i], widths[i])
                    : fmt::format("{:<{}}  ", rows_[r][i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

ProgressBar::~ProgressBar() {
  wipe_bar();
}

void ProgressBar::update(double done, double total, std::string_view unit) {
  if (!stderr_is_terminal()) return;
  const double now = now_seconds();
  if (start_ < 0) start_ = now;
  if (bar_visible && now - drawn_ < redraw_seconds) return;
  drawn_ = now;
  draw(now, done, total, unit);
}

void ProgressBar::draw(double now, double done, double total, std::string_view unit) {
  const double elapsed = now - start_;
  const double rate = elapsed > 0 ? done / elapsed : 0;
  std::string text = total > 0
                         ? fmt::format("{}/{} {}", count_text(std::min(done, total)), count_text(total), unit)
                         : fmt::format("{} {}", count_text(done), unit);
  if (rate > 0 && elapsed > 0.5) {
    text += fmt::format("  {:.1f} {}/s", rate, unit);
    if (total > done) text += fmt::format("  {} left", clock_text((total - done) / rate));
  }
  const int room = terminal_columns() - static_cast<int>(label_.size() + stage_.size() + text.size()) - 8;
  std::string line = stage_.empty() ? label_ : label_ + " " + stage_;
  if (total > 0 && room >= 10) {
    const int width = std::min(room, 40);
    const int full = static_cast<int>(width * std::clamp(done / total, 0.0, 1.0));
    line += fmt::format(" [{}{}]", std::string(static_cast<std::size_t>(full), '='),
                        std::string(static_cast<std::size_t>(width - full), ' '));
  }
  line += "  " + text;
  line.resize(
      std::min<std::size_t>(line.size(), static_cast<std::size_t>(std::max(10, terminal_columns() - 1))));
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  bar_visible = true;
}

ProgressCallback ProgressBar::callback() {
  return [this](const ProgressUpdate& update) {
    if (stage_ != update.stage) {
      stage_ = one_line(update.stage);
      start_ = -1;
    }
    this->update(update.done, update.total, update.unit);
  };
}

} // namespace lanner::tool
