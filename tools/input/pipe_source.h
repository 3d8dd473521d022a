#pragma once
// Bytes that come through pipes.

#include <string>

#include <lanner/cancel.h>
#include <lanner/source.h>

namespace lanner::tool {

/// What `-` and /dev/stdin are called in messages and answers.
inline constexpr const char* stdin_name = "stdin";
bool names_stdin(const std::string& path);
/// The path of a clip that `-` may stand for.
std::string clip_path(const std::string& given);

/// Sources of pipes give their first bytes again, and else go forward only.

/// A named pipe, which is waited for until somebody writes. Ctrl-C and `stop` end a read: Error{cancelled}.
SourcePtr open_pipe(const std::string& path, const CancelToken& stop);
/// Standard input: a pipe read in the same way, or a file. Throws Error{invalid_argument} for a terminal.
SourcePtr open_stdin(const CancelToken& stop);

} // namespace lanner::tool
