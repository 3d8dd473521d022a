#include "options/option_rows.h"

#include <algorithm>

#include <lanner/tensorflow.h>

namespace lanner::tool {
namespace {

bool one_text(OptionKind kind) {
  switch (kind) {
  case OptionKind::integer:
  case OptionKind::bit_rate:
  case OptionKind::bits:
  case OptionKind::bytes:
  case OptionKind::seed:
  case OptionKind::number:
  case OptionKind::seconds:
  case OptionKind::text:
  case OptionKind::words:
  case OptionKind::path:
  case OptionKind::size:
  case OptionKind::region:
  case OptionKind::two_numbers:
  case OptionKind::three_numbers:
  case OptionKind::three_integers:
  case OptionKind::preset:
    return true;
  default:
    return false; // A file is opened when it is needed.
  }
}

/// Whether the help shows the default; those of times and memory depend on the command.
bool shows_default(OptionKind kind) {
  return one_text(kind) && kind != OptionKind::bytes && kind != OptionKind::seconds &&
         kind != OptionKind::path;
}

std::string sentence(std::string_view text) {
  std::string whole(text);
  if (!whole.empty() && whole[0] >= 'a' && whole[0] <= 'z')
    whole[0] = static_cast<char>(whole[0] - 'a' + 'A');
  return whole;
}

} // namespace

bool GivenOptions::has(std::string_view name) const {
  return !texts(name).empty();
}

bool GivenOptions::empty() const {
  return std::ranges::none_of(values_, [&](const auto& entry) { return has(entry.first); });
}

std::vector<std::string> GivenOptions::texts(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return {};
  const Value& value = found->second;
  if (value.flag) return {std::string()};
  return value.one ? std::vector{*value.one} : value.several;
}

std::string GivenOptions::text(std::string_view name, std::string_view otherwise) const {
  const std::vector<std::string> values = texts(name);
  return values.empty() ? std::string(otherwise) : values.back();
}

void GivenOptions::set(std::string_view name, std::vector<std::string> values) {
  values_.insert_or_assign(std::string(name), Value{false, {}, std::move(values)});
}

bool GivenOptions::repeatable(const OptionInfo& info) {
  return info.kind == OptionKind::texts || info.kind == OptionKind::named_texts ||
         info.kind == OptionKind::named_shapes || info.kind == OptionKind::profiles;
}

std::string GivenOptions::flag_of(const OptionInfo& info, std::string_view prefix) {
  return info.flag.empty() ? std::string() : std::string(prefix) + std::string(info.flag.substr(2));
}

std::string metavar_of(const OptionInfo& info) {
  if (!info.metavar.empty()) return std::string(info.metavar);
  switch (info.kind) {
  case OptionKind::integer:
  case OptionKind::seed:
    return "N";
  case OptionKind::number:
    return "X";
  case OptionKind::bytes:
    return "BYTES";
  case OptionKind::seconds:
    return "TIME";
  case OptionKind::source:
  case OptionKind::path:
    return "FILE";
  default:
    return "NAME";
  }
}

std::string help_of(const OptionInfo& info, const std::string& standard, const std::string& more) {
  if (!info.flag_help.empty()) return sentence(info.flag_help);
  std::string text = sentence(info.help);
  const bool name_alone = info.kind == OptionKind::texts || info.kind == OptionKind::path;
  if (!info.example.empty() && !name_alone && info.help.find(info.example) == std::string_view::npos)
    text += fmt::format(", like {}", info.example);
  if (info.kind == OptionKind::named_shapes) text += ", or with MIN:OPT:MAX in place of one shape";
  if (info.kind == OptionKind::profiles) text += ", several inputs comma separated";
  if (info.comma_separated) text += ", comma separated";
  if (!info.details.empty()) text += fmt::format("; {}", info.details);
  if (!more.empty()) text += fmt::format("; {}", more);
  if (GivenOptions::repeatable(info)) text += "; may be given several times";
  if (!info.unset.empty())
    text += fmt::format(" (default: {})", info.unset);
  else if (shows_default(info.kind) && !standard.empty())
    text += fmt::format(" (default: {})", standard);
  return text;
}

void OptionRows::declare(const OptionInfo& info, const std::string& standard, const Check& wrong) {
  GivenOptions::Value& value = given_.values_[std::string(info.name)];
  const bool own = prefix_ == "--";
  const std::string flag = GivenOptions::flag_of(info, prefix_);
  std::string names = own && !info.short_flag.empty() ? fmt::format("{},{}", info.short_flag, flag) : flag;
  if (own && !info.other_flag.empty())
    names = other_flags_ ? std::string(info.other_flag) : fmt::format("{},{}", names, info.other_flag);
  const bool told = own || heading_.empty(); // Completion also reads it where the help does not show it.
  const std::string help =
      told ? help_of(info, standard, more_ ? more_(info) : "") : fmt::format("As {}", info.flag);
  if (info.kind == OptionKind::flag) {
    command_.add_flag(names, value.flag, help).group(heading_);
    return;
  }
  if (GivenOptions::repeatable(info)) {
    command_.add_option(names, value.several, help).group(heading_).one_value();
    return;
  }
  Option option = command_.add_option(names, value.one, help);
  option.group(heading_);
  if (one_text(info.kind)) option.check(wrong);
}

void for_each_flag(const std::function<void(const OptionInfo&)>& use) {
  const auto walk = [&](const auto& table) {
    for (const auto& row : table)
      if (!row.info.flag.empty()) use(row.info);
  };
  walk(preprocess_option_table()); // Declared first: `--preset` has choices here.
  walk(build_option_table());
  walk(load_option_table());
  walk(verify_option_table());
  walk(reader_option_table());
  walk(writer_option_table());
  walk(transcode_option_table());
  walk(audio_reader_option_table());
  walk(tf::convert_option_table());
}

} // namespace lanner::tool
