#pragma once
// Options that other programs have.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lanner::tool {

/// What an option of ultralytics, ffmpeg, trtexec or polygraphy is called here, for the end of a message:
/// `; did you mean --score-threshold?`; empty where there is none. `options` are those of the subcommand.
std::string foreign_meaning(std::string_view name, std::string_view command,
                            const std::vector<std::string>& options);

/// Of options with one dash and several letters, which would be read as several options: the same with two.
std::optional<std::string> with_two_dashes(std::string_view argument);

} // namespace lanner::tool
