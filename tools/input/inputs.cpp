#include "input/inputs.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <lanner/demuxer.h>

#include "check.h"
#include "input/media.h"
#include "input/pipe_source.h"
#include "interrupt.h"
#include "options/limit_option.h"
#include "options/path_patterns.h"
#include "output/console.h"

namespace lanner::tool {
namespace {

namespace fs = std::filesystem;

/// Limit of an image in a pipe, which is read as a whole before it is decoded.
constexpr std::uint64_t max_picture_bytes = 1ull << 30;

/// A path that -i named or expanded to.
struct Candidate {
  std::string path;
  bool named = true; ///< Named itself: it must be an image or a clip.
  std::size_t from = 0;
};

/// What a folder or pattern expanded to, for the line about skipped files.
struct Gathering {
  std::string text;
  std::size_t taken = 0, skipped = 0;
};

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// Whether a path, pattern or numbered name matches a file.
bool leads_somewhere(const std::string& path) {
  if (exists(path)) return true;
  const std::string folder = fs::path(path).parent_path().string();
  if (is_numbered(path)) return is_folder(folder.empty() ? "." : folder) && !files_numbered(path).empty();
  return is_pattern(path) && !files_matching(path).empty();
}

bool is_fifo(const std::string& path) {
  std::error_code ignored;
  return fs::is_fifo(path, ignored) || fs::is_socket(path, ignored);
}

bool ends_with_txt(const std::string& path) {
  std::string ending = fs::path(path).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending == ".txt";
}

/// `rtsp` of `rtsp://camera/1`; empty for paths.
std::string scheme_of(const std::string& path) {
  const std::size_t end = path.find("://");
  const bool letters =
      end != std::string::npos && end > 0 &&
      std::all_of(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(end),
                  [](unsigned char c) { return std::isalnum(c) || c == '+' || c == '-' || c == '.'; });
  return letters ? path.substr(0, end) : std::string();
}

/// In single quotes, as a shell reads it.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// Network addresses and cameras: ffmpeg reads them and pipes its output to Lanner.
void refuse_live(const std::string& path, const std::string& model) {
  const std::string behind = fmt::format("-an -f matroska - | lanner run {} -i -", model);
  const std::string scheme = scheme_of(path);
  check(scheme != "file", ErrorCode::unsupported, "-i {}: give only the path: {}", path,
        path.substr(std::min<std::size_t>(7, path.size())));
  const std::string before = scheme == "rtsp" ? "-rtsp_transport tcp " : "";
  check(scheme.empty(), ErrorCode::unsupported,
        "-i {}: {}:// is not supported by Lanner itself yet; let ffmpeg read it: ffmpeg -loglevel error {}-i "
        "{} "
        "-c copy {}",
        path, scheme, before, quoted(path), behind);
  const bool number = !path.empty() && path.size() < 3 &&
                      std::ranges::all_of(path, [](unsigned char c) { return std::isdigit(c) != 0; });
  const bool camera = path.starts_with("/dev/video") || (number && !exists(path));
  check(
      !camera, ErrorCode::unsupported,
      "-i {}: cameras are not supported by Lanner itself yet; let ffmpeg read it: ffmpeg -loglevel error -f "
      "v4l2 -i {} -c:v ffv1 {}",
      path, number ? "/dev/video" + path : path, behind);
}

class Finder {
public:
  explicit Finder(const std::string& model) : model_(model) {}

  void add(const std::string& text) {
    if (names_stdin(text)) return add_file(text);
    if (is_folder(text)) return add_all(text, files_in(text), false);
    if (exists(text)) return ends_with_txt(text) && !is_fifo(text) ? add_list(text) : add_file(text);
    refuse_live(text, model_);
    if (text.starts_with('@')) return add_list(text.substr(1));
    if (is_numbered(text)) return add_all(text, files_numbered(text), true);
    if (is_pattern(text)) return add_all(text, files_matching(text), false);
    add_file(text);
  }

  FoundInputs open_all() {
    FoundInputs found;
    const bool alone = candidates_.size() == 1;
    for (const Candidate& candidate : candidates_) {
      interrupt_token().check();
      try {
        std::optional<RunInput> input = open(candidate);
        if (input) found.inputs.push_back(std::move(*input));
        ++(input ? gatherings_[candidate.from].taken : gatherings_[candidate.from].skipped);
      } catch (const Error& error) {
        if (alone || !is_of_input(error)) throw;
        print_note(error.message());
        ++found.failed;
        ++gatherings_[candidate.from].taken;
      }
    }
    for (const Gathering& gathering : gatherings_) tell(gathering);
    return found;
  }

private:
  void add_file(const std::string& path) { candidates_.push_back({path, true, gathering(path)}); }

  void add_all(const std::string& text, const std::vector<std::string>& paths, bool named) {
    check(!paths.empty(), ErrorCode::not_found, "-i {}: {}", text,
          is_folder(text) ? "the folder has no files" : "no file has such a name");
    const std::size_t from = gathering(text);
    for (const std::string& path : paths) candidates_.push_back({path, named, from});
  }

  /// Paths in a list are relative to the current folder, else to the list's.
  void add_list(const std::string& path) {
    check(!in_list_, ErrorCode::invalid_argument, "{}: is a list inside a list; name it by its own -i", path);
    check(exists(path), ErrorCode::not_found, "-i @{}: no such list", path);
    in_list_ = true;
    const std::vector<ListLine> lines = read_list(path);
    check(!lines.empty(), ErrorCode::bad_data, "{}: expected one path a line, the list is empty", path);
    const fs::path folder = fs::path(path).parent_path();
    for (const ListLine& line : lines) {
      check(!names_stdin(line.text), ErrorCode::invalid_argument,
            "{}:{}: standard input cannot be named in a list; give -i -", path, line.number);
      const std::string beside = (folder / line.text).string();
      const bool here = leads_somewhere(line.text) || !leads_somewhere(beside);
      with_context([&] { return fmt::format("{}:{}", path, line.number); },
                   [&] { add(here ? line.text : beside); });
    }
    in_list_ = false;
  }

  std::size_t gathering(const std::string& text) {
    gatherings_.push_back({text, 0, 0});
    return gatherings_.size() - 1;
  }

  /// None for a file to skip.
  std::optional<RunInput> open(const Candidate& candidate) {
    const bool standard = names_stdin(candidate.path);
    RunInput input;
    input.path = standard ? stdin_name : candidate.path;
    const bool pipe = standard || is_fifo(candidate.path);
    if (pipe && !candidate.named) return std::nullopt;
    check(!standard || !std::exchange(stdin_taken_, true), ErrorCode::invalid_argument,
          "-i -: standard input was named twice");
    if (pipe) input.stop = CancelToken::create();
    Media media = standard ? media_of(open_stdin(input.stop))
                  : pipe   ? media_of(open_pipe(candidate.path, input.stop))
                           : open_media(candidate.path);
    if (!candidate.named && !looks_like_media(media)) return std::nullopt;
    check(media.kind != FileKind::plan, ErrorCode::bad_data, "-i {}: is a plan; expected an image or a video",
          input.path);
    input.still = media.kind == FileKind::image;
    if (pipe) take_pipe(media, input);
    return input;
  }

  static void take_pipe(const Media& media, RunInput& input) {
    input.source = media.source;
    input.piped_mp4 = media.mp4 && !media.source->seekable();
    if (!input.still || media.source->seekable()) return;
    Limits limits = given_limits();
    limits.file_bytes = std::min(limits.file_bytes, max_picture_bytes);
    const Content content = read_all(media.source, limits);
    input.source = open_bytes(content.bytes, content.owner, input.path);
    input.still = !has_several_pictures(input.source);
  }

  /// Consecutive images in a pipe, as ffmpeg -f image2pipe writes them, are a clip.
  static bool has_several_pictures(const SourcePtr& source) {
    DemuxerOptions options;
    options.limits = given_limits();
    options.cancel = interrupt_token();
    try {
      const auto demuxer = open_demuxer(source, options);
      return demuxer->next() && demuxer->next();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      return false; // An image of an unknown format or a damaged one, which decoding reports.
    }
  }

  static void tell(const Gathering& gathering) {
    const std::size_t files = gathering.skipped;
    check(gathering.taken > 0, ErrorCode::bad_data, "-i {}: no image and no clip among {} {}", gathering.text,
          files, files == 1 ? "file" : "files");
    if (files == 0) return;
    print_note(fmt::format("{}: {} {} skipped, neither image nor clip", gathering.text, files,
                           files == 1 ? "file was" : "files were"));
  }

  const std::string model_;
  std::vector<Candidate> candidates_;
  std::vector<Gathering> gatherings_;
  bool in_list_ = false, stdin_taken_ = false;
};

} // namespace

bool is_of_input(const Error& error) {
  switch (error.code()) {
  case ErrorCode::not_found:
  case ErrorCode::io:
  case ErrorCode::bad_data:
  case ErrorCode::unsupported:
  case ErrorCode::limit_exceeded:
    return true;
  default:
    return false;
  }
}

FoundInputs find_inputs(const std::vector<std::string>& given, const std::string& model) {
  Finder finder(model);
  for (const std::string& text : given) finder.add(text);
  FoundInputs found = finder.open_all();
  check(!found.inputs.empty(), ErrorCode::bad_data, "run: none of {} inputs could be read", found.failed);
  return found;
}

} // namespace lanner::tool
