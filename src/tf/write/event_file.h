#pragma once
// TensorBoard's event files (event.proto), which show graphs.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace lanner::tf {

/// `events.out.tfevents.1700000000.SUFFIX`, as TensorBoard looks for.
std::string event_file_name(double seconds, std::string_view suffix);

/// Writes an event file with one graph, a serialised GraphDef. `seconds` since 1970 are the time that it
/// shows. Throws Error{io, limit_exceeded}.
void write_graph_event_file(const std::filesystem::path& path, std::string_view graph_def, double seconds);

} // namespace lanner::tf
