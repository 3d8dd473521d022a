#pragma once
// Options of other programs.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lanner::tool {

/// The equivalent of an option of ultralytics, ffmpeg, trtexec or polygraphy, for the end of a message:
/// `; did you mean --score-threshold?`; empty where there is none. `options` are those of the subcommand.
std::string foreign_meaning(std::string_view name, std::string_view command,
                            const std::vector<std::string>& options);

/// The same for options with one dash and several letters, which would be read as several options: the
/// equivalent has two dashes.
std::optional<std::string> with_two_dashes(std::string_view argument);

} // namespace lanner::tool
