#include "options/help.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "options/option_values.h"

namespace lanner::tool {
namespace {

constexpr std::size_t line_width = 100, text_column = 26, daily_examples = 2;
constexpr std::string_view of_arguments = "Arguments";

class HelpText : public CLI::FormatterBase {
public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  HelpLayout layout;
};

/// Whether the text has this word, not only as a part of a longer word.
bool has_word(std::string_view text, std::string_view word) {
  const auto inside = [&](std::size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '-' || text[at] == '_');
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    if (!(at > 0 && inside(at - 1)) && !inside(at + word.size())) return true;
  return false;
}

std::string value_by_type(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.starts_with("INT") || type.starts_with("UINT")) return "N";
  return type.starts_with("FLOAT") ? "X" : "VALUE";
}

HelpEntry entry_of(const CLI::Option& option, const HelpLayout& layout) {
  HelpEntry entry;
  entry.argument = option.get_positional();
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  if (entry.argument && entry.names.empty()) entry.names.push_back(option.get_name());
  entry.text = option.get_description();
  entry.required = option.get_required();
  entry.several = option.get_items_expected_max() > 1;
  entry.heading = entry.argument && layout.daily.empty() ? std::string(of_arguments) : option.get_group();
  if (entry.argument && !layout.daily.empty()) entry.heading = layout.first_heading;
  if (entry.heading == "Options") entry.heading = layout.first_heading;
  if (!option.get_default_str().empty())
    entry.text += fmt::format(" (default: {})", option.get_default_str());
  if (!entry.argument && option.get_items_expected_max() > 0) {
    entry.value = value_by_type(option);
    for (const std::string& name : entry.names) {
      const ShownValue known = option_value(name);
      if (!known.value.empty()) entry.value = known.value;
      for (const std::string& choice : known.choices)
        if (has_word(entry.text, choice)) entry.choices.push_back(choice);
    }
  }
  const auto& daily = layout.daily;
  entry.daily =
      entry.argument || daily.empty() || std::ranges::any_of(entry.names, [&](const std::string& name) {
        return std::ranges::find(daily, name) != daily.end();
      });
  return entry;
}

/// Paragraphs are re-filled; lines after `Examples:` stay as they are.
void read_footer(const std::string& footer, HelpPage& page) {
  std::istringstream lines(footer);
  bool examples = false, open = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "Examples:") {
      examples = true;
    } else if (examples && !line.empty() && line[0] == ' ') {
      page.examples.push_back(line.substr(line.find_first_not_of(' ')));
    } else if (line.empty()) {
      examples = open = false;
    } else {
      if (open)
        page.notes.back() += " " + line;
      else
        page.notes.push_back(line);
      open = true;
    }
  }
}

std::string name_of(const CLI::App& app) {
  return app.get_parent() ? name_of(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

std::string entry_text(const HelpEntry& entry, bool all) {
  std::string text = "  " + names_text(entry);
  const std::string meaning = wrapped(all ? entry.text : short_text(entry), text_column);
  if (text.size() + 2 > text_column) return text + "\n" + meaning;
  return text + meaning.substr(text.size());
}

std::string headed(std::string_view heading, const HelpPage& page, bool all) {
  std::string text;
  for (const HelpEntry& entry : page.entries)
    if (entry.heading == heading && (all || entry.daily)) text += entry_text(entry, all);
  return text.empty() ? text : fmt::format("\n{}:\n{}", heading, text);
}

std::string usage_text(const HelpPage& page) {
  std::string text = "Usage: " + page.name;
  if (!page.commands.empty()) text += " COMMAND";
  for (const HelpEntry& entry : page.entries)
    if (entry.argument) text += " " + (entry.required ? names_text(entry) : "[" + names_text(entry) + "]");
  for (const HelpEntry& entry : page.entries)
    if (!entry.argument && entry.required) text += " " + names_text(entry);
  return text + " [OPTIONS]\n";
}

std::vector<std::string> headings_of(const HelpPage& page) {
  std::vector<std::string> headings{std::string(of_arguments)};
  for (const HelpEntry& entry : page.entries)
    if (!entry.heading.empty() && std::ranges::find(headings, entry.heading) == headings.end())
      headings.push_back(entry.heading);
  return headings;
}

std::string commands_text(const HelpPage& page) {
  std::string text;
  for (const HelpPage& command : page.commands) {
    const std::string name = "  " + command.name.substr(command.name.rfind(' ') + 1);
    text += name + wrapped(command.text, 14).substr(name.size());
  }
  return text.empty() ? text : "\nCommands:\n" + text;
}

std::string HelpText::make_help(const CLI::App* app, std::string, CLI::AppFormatMode mode) const {
  const HelpPage page = help_page(*app);
  const bool all = mode == CLI::AppFormatMode::All || layout.daily.empty();
  std::string text = wrapped(page.text, 0) + "\n" + usage_text(page) + commands_text(page);
  for (const std::string& heading : headings_of(page)) text += headed(heading, page, all);
  if (all)
    for (const std::string& note : page.notes) text += "\n" + wrapped(note, 0);
  const std::size_t shown = all ? page.examples.size() : std::min(daily_examples, page.examples.size());
  if (shown > 0) text += "\nExamples:\n";
  for (std::size_t i = 0; i < shown; ++i) text += "  " + page.examples[i] + "\n";
  const auto rest = std::ranges::count_if(
      page.entries, [](const HelpEntry& entry) { return !entry.daily && !entry.heading.empty(); });
  if (!all) text += fmt::format("\n{} more options, and more examples: {} --help-all\n", rest, page.name);
  return text;
}

} // namespace

HelpPage help_page(const CLI::App& app) {
  const auto* help = dynamic_cast<const HelpText*>(app.get_formatter().get());
  const HelpLayout layout = help ? help->layout : HelpLayout{};
  HelpPage page;
  page.name = name_of(app);
  page.text = app.get_description();
  for (const CLI::Option* option : app.get_options()) page.entries.push_back(entry_of(*option, layout));
  // Arguments first, help last.
  std::ranges::stable_sort(page.entries, std::ranges::less{}, [](const HelpEntry& entry) {
    const bool help = entry.names.back().starts_with("--help") || entry.names.back() == "--version";
    return entry.argument ? 0 : help ? 2 : 1;
  });
  read_footer(app.get_footer(), page);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    page.commands.push_back(help_page(*command));
  return page;
}

std::vector<const HelpPage*> commands_of(const HelpPage& program) {
  std::vector<const HelpPage*> pages;
  for (const HelpPage& command : program.commands) {
    pages.push_back(&command);
    for (const HelpPage* inner : commands_of(command)) pages.push_back(inner);
  }
  return pages;
}

std::string command_path(const HelpPage& page) {
  return page.name.substr(page.name.find(' ') + 1);
}

std::string command_word(const HelpPage& page) {
  std::string word = command_path(page);
  std::ranges::replace(word, ' ', '-');
  return word;
}

std::string names_text(const HelpEntry& entry) {
  std::string text;
  for (const std::string& name : entry.names) text += (text.empty() ? "" : ", ") + name;
  if (entry.argument)
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (!entry.value.empty()) text += " " + entry.value;
  return entry.several && entry.value != "" ? text + "..." : text;
}

std::string short_text(const HelpEntry& entry) {
  const std::string& whole = entry.text;
  std::string text =
      whole.substr(0, std::min({whole.find(": "), whole.find("; "), whole.find(" ("), whole.find(". ")}));
  if (text.ends_with('.')) text.pop_back();
  const bool told =
      std::ranges::all_of(entry.choices, [&](const std::string& choice) { return has_word(text, choice); });
  return told ? text : text + fmt::format(": {}", fmt::join(entry.choices, ", "));
}

std::string wrapped(const std::string& text, std::size_t indent) {
  std::istringstream words(text);
  const std::string blanks(indent, ' ');
  std::string all, line;
  for (std::string word; words >> word;) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > line_width) {
      all += blanks + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return all + blanks + line + "\n";
}

void set_help(CLI::App& app) {
  app.formatter(std::make_shared<HelpText>());
}

HelpLayout& help_layout(CLI::App& app) {
  return dynamic_cast<HelpText&>(*app.get_formatter()).layout;
}

} // namespace lanner::tool
