// lanner decode: the frames of a clip, as they are or in another pixel format.

#include <algorithm>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>
#include <openssl/evp.h>

#include <lanner/error.h>
#include <lanner/output.h>
#include <lanner/video_reader.h>

#include "clip_output.h"
#include "command.h"
#include "console.h"
#include "interrupt.h"
#include "reader_options.h"

namespace lanner::tool {
namespace {

struct DecodeOptions {
  std::string input, output, frames;
  ReaderOptions reader;
  bool md5 = false;
};

/// RFC 1321, for comparison with digests that others publish.
class Md5 {
public:
  Md5() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    check(context_ && EVP_DigestInit_ex(context_.get(), EVP_md5(), nullptr) == 1, ErrorCode::unsupported,
          "MD5 is switched off in this system's OpenSSL");
  }
  void update(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  std::string hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), digest, &size);
    std::string text;
    for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

/// Where samples go: a file, standard output, a digest, or nowhere.
class Sink {
public:
  explicit Sink(const DecodeOptions& options) : to_stdout_(options.output == "-") {
    check(!to_stdout_ || isatty(STDOUT_FILENO) == 0, ErrorCode::invalid_argument,
          "-o -: standard output is a terminal; send raw frames into a pipe or a file");
    check(!to_stdout_ || !options.md5, ErrorCode::invalid_argument,
          "-o - and --md5 would both write to standard output; give one");
    if (!options.output.empty() && !to_stdout_) {
      refuse_same_file(options.input, options.output);
      file_.emplace(options.output);
    }
    if (options.md5) md5_.emplace();
  }

  /// Rows without their padding, plane by plane.
  void write(const Image& image) {
    const PixelFormatInfo& facts = info(image.format);
    for (std::size_t p = 0; p < facts.planes; ++p) {
      const Plane& plane = image.planes[p];
      const auto row = static_cast<std::size_t>(plane.width) * facts.samples[p] * facts.bytes_per_sample;
      for (std::int32_t y = 0; y < plane.height; ++y)
        write(std::string_view(reinterpret_cast<const char*>(plane.data + y * plane.pitch), row));
    }
  }
  void finish() {
    if (file_) file_->commit();
    if (md5_) print_out(md5_->hex() + "\n");
    flush_out();
  }

private:
  void write(std::string_view bytes) {
    if (md5_) md5_->update(bytes);
    if (file_) file_->write(bytes);
    if (to_stdout_) print_out(bytes);
  }

  bool to_stdout_;
  std::optional<OutputFile> file_;
  std::optional<Md5> md5_;
};

/// What is told of the frames where standard output is free.
struct Told {
  std::string decoder, reason;
  std::int64_t frames = 0;
  std::optional<Image> first;
  bool sizes_differ = false;

  void add(const Image& image) {
    ++frames;
    if (!first) {
      first = image;
      first->owner = nullptr;
    }
    sizes_differ = sizes_differ || image.width != first->width || image.height != first->height ||
                   image.format != first->format;
  }
};

/// Pixels are the same whatever decodes them: a GPU's own storage (nv12 for yuv420p) becomes the stream's.
VideoReaderOptions options_for(const DecodeOptions& options) {
  VideoReaderOptions reader = to_reader_options(options.reader);
  if (reader.format || options.reader.device == "cpu") return reader;
  const auto demuxer = open_demuxer(open_path(options.input), reader.demuxer);
  const int stream = reader.stream >= 0 ? reader.stream : demuxer->best_video();
  const auto place = static_cast<std::size_t>(stream);
  if (stream >= 0 && place < demuxer->streams().size()) reader.format = demuxer->streams()[place].format;
  return reader;
}

void decode_all(const DecodeOptions& options, Sink& sink, Told& told) {
  ProgressBar bar("decode");
  ParallelDecoder decoder(open_path(options.input), options_for(options),
                          {interrupt_token(), bar.callback()});
  told.decoder = decoder.description();
  told.reason = decoder.decoder_reason();
  while (const auto frame = decoder.next()) {
    interrupt_token().check();
    sink.write(frame->image);
    told.add(frame->image);
    bar.update(static_cast<double>(told.frames),
               static_cast<double>(std::max<std::int64_t>(0, decoder.size())), "frames");
  }
}

void decode_some(const DecodeOptions& options, Sink& sink, Told& told) {
  VideoReader reader(open_path(options.input), options_for(options));
  told.decoder = reader.decoder_description();
  told.reason = reader.decoder_reason();
  const std::vector<std::int64_t> wanted = parse_frames(options.frames, reader.size());
  constexpr std::size_t at_once = 64;
  ProgressBar bar("decode");
  for (std::size_t begin = 0; begin < wanted.size(); begin += at_once) {
    interrupt_token().check();
    const std::span some(wanted.data() + begin, std::min(at_once, wanted.size() - begin));
    for (const Frame& frame : reader.at(some)) {
      sink.write(frame.image);
      told.add(frame.image);
    }
    bar.update(static_cast<double>(told.frames), static_cast<double>(wanted.size()), "frames");
  }
}

void tell(const DecodeOptions& options, const Told& told) {
  if (options.md5 || options.output == "-") return;
  std::string text = fmt::format("{} {} by {} ({})\n", told.frames, told.frames == 1 ? "frame" : "frames",
                                 told.decoder, told.reason);
  if (told.first)
    text = fmt::format("{}x{} {}, ", told.first->width, told.first->height, to_string(told.first->format)) +
           text;
  if (told.sizes_differ) text += "frames differ in size or format: each is written as it is\n";
  print_out(text);
}

int run_decode(const DecodeOptions& options) {
  about("decode", options.input, [&] {
    Sink sink(options);
    Told told;
    if (options.frames.empty())
      decode_all(options, sink, told);
    else
      decode_some(options, sink, told);
    check(told.frames > 0, ErrorCode::bad_data, "no frame was decoded");
    interrupt_token().check();
    sink.finish();
    tell(options, told);
  });
  return 0;
}

} // namespace

CLI::App* add_decode(CLI::App& app, Action& action) {
  auto [command, options] = make_command<DecodeOptions>(
      app, action, "decode", "The frames of a clip as raw pixels, or their MD5.", run_decode);
  command->add_option("clip", options->input, "A clip")->required();
  command->add_option("-o,--output", options->output,
                      "File for the pixels, - for standard output (default: none)");
  command->add_option(
      "--format", options->reader.format,
      "Pixel format: yuv420p, nv12, rgb24, rgb_planar, gray8 ... (default: the stream's own)");
  command->add_option(
      "--frames", options->frames,
      "Only these, in this order: numbers and slices as of a list in Python: 0:100:5, 3,7,-1");
  command->add_flag("--md5", options->md5, "Print the MD5 of the pixels and nothing else");
  command->add_flag("--conceal", options->reader.conceal,
                    "Damage in the clip is concealed, and what cannot be read ends it; else it is an error");
  add_reader_options(*command, options->reader);
  command->footer(
      "Pixels are written row by row without padding, plane by plane, frame after frame.\n\n"
      "Examples:\n  lanner decode clip.mp4 --md5\n  lanner decode clip.mp4 -o clip.yuv --format yuv420p\n"
      "  lanner decode clip.mp4 --frames 0:100:5 --format rgb24 -o - | ...\n"
      "  lanner decode clip.mp4 --device cuda:0 --md5");
  return command;
}

} // namespace lanner::tool
