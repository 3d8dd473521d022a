#include "tf/write/event_file.h"

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include "base/file/file.h"
#include "tf/write/record_frame.h"
#include "tf/write/tensor_proto.h"

namespace lanner::tf {
namespace {

void write_record(AtomicFile& file, const std::string& event) {
  file.write(record_header(event.size()));
  file.write(event);
  file.write(record_footer(std::as_bytes(std::span(event))));
}

} // namespace

std::string event_file_name(double seconds, std::string_view suffix) {
  return fmt::format("events.out.tfevents.{:010}.{}", static_cast<std::int64_t>(seconds), suffix);
}

void write_graph_event_file(const std::filesystem::path& path, std::string_view graph_def, double seconds) {
  constexpr std::uint64_t beside = 64;
  require_protobuf_size(graph_def.size() + beside, "a graph");
  std::string version, graph;
  {
    protozero::pbf_writer event(version);
    event.add_double(1, seconds);
    event.add_string(3, "brain.Event:2");
  }
  graph.reserve(graph_def.size() + beside);
  {
    protozero::pbf_writer event(graph);
    event.add_double(1, seconds);
    event.add_bytes(4, graph_def.data(), graph_def.size());
  }
  AtomicFile file(path);
  write_record(file, version);
  write_record(file, graph);
  file.commit();
}

} // namespace lanner::tf
