#pragma once
// Byte sources over pipes.

#include <string>

#include <lanner/cancel.h>
#include <lanner/source.h>

namespace lanner::tool {

/// The name of `-` and /dev/stdin in messages and answers.
inline constexpr const char* stdin_name = "stdin";
bool names_stdin(const std::string& path);
/// The clip's path; `-` stands for standard input.
std::string clip_path(const std::string& given);

/// Sources over pipes can give their first bytes again; beyond these they only go forward.

/// A named pipe; waits until somebody writes. Ctrl-C and `stop` end a read: Error{cancelled}.
SourcePtr open_pipe(const std::string& path, const CancelToken& stop);
/// Standard input: a pipe read in the same way, or a file. Throws Error{invalid_argument} for a terminal.
SourcePtr open_stdin(const CancelToken& stop);

} // namespace lanner::tool
