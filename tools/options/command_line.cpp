#include "options/command_line.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "options/help.h"

namespace lanner::tool {
Option& Option::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

/// Messages leave out an upper bound that no value reaches.
constexpr std::int64_t endless = std::int64_t{1} << 40;

/// What is wrong with a text that should be a number within bounds; none where it is right.
template<typename T>
static std::function<std::string(const std::string&)> within(const char* kind, T min, T max) {
  return [=](const std::string& text) {
    T value{};
    const char* end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data() + text.starts_with('+'), end, value);
    if (status == std::errc() && stop == end && value >= min && value <= max) return std::string();
    const std::string bounds =
        max >= T(endless) ? fmt::format("from {} on", min) : fmt::format("from {} to {}", min, max);
    return fmt::format("expected {} {}, got '{}'", kind, bounds, text);
  };
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::one_value() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::delimiter(char between) {
  option_->delimiter(between);
  return *this;
}

Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::range(int min, int max) {
  return range(std::int64_t{min}, std::int64_t{max});
}

Option& Option::range(std::int64_t min, std::int64_t max) {
  return check(within<std::int64_t>("a whole number", min, max));
}

Option& Option::range(double min, double max) {
  return check(within<double>("a number", min, max));
}

Option& Option::check(const std::function<std::string(const std::string&)>& wrong) {
  option_->check(wrong);
  return *this;
}

Command Command::add_command(const std::string& name, const std::string& description) {
  CLI::App* command = app_->add_subcommand(name, description);
  set_help(*command);
  return Command(command);
}

void Command::require_command() {
  app_->require_subcommand(1);
}

void Command::callback(std::function<void()> call) {
  app_->callback(std::move(call));
}

void Command::footer(const std::string& text) {
  app_->footer(text);
}

void Command::layout(const std::string& first_heading, std::vector<std::string> daily) {
  help_layout(*app_) = {first_heading, std::move(daily)};
}

HelpPage Command::help() const {
  return help_page(*app_);
}

template<typename T>
Option Command::add_option(const std::string& names, T& to, const std::string& help) {
  return Option(app_->add_option(names, to, help));
}

template Option Command::add_option(const std::string&, std::string&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::string>&, const std::string&);
template Option Command::add_option(const std::string&, int&, const std::string&);
template Option Command::add_option(const std::string&, std::int64_t&, const std::string&);
template Option Command::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option Command::add_option(const std::string&, double&, const std::string&);

Option Command::add_option(const std::string& names, const std::string& help) {
  return Option(
      app_->add_option(names, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->expected(1));
}

Option Command::add_flag(const std::string& names, bool& to, const std::string& help) {
  return Option(app_->add_flag(names, to, help));
}

Option Command::add_flag(const std::string& names, std::string& to, const std::string& help) {
  return Option(app_->add_flag(names, to, help));
}

} // namespace lanner::tool
