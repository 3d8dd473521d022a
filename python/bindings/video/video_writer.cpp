// Video files from pictures.

#include <memory>
#include <mutex>

#include <lanner/decoder.h>
#include <lanner/encoder.h>
#include <lanner/error.h>

#include "calls/bindings.h"
#include "calls/check.h"
#include "calls/option_rows.h"

namespace lanner::python {
namespace {

/// A VideoWriter as Python has it, which may be closed while another thread writes.
class Writer {
public:
  Writer(const std::string& path, const EncoderOptions& options)
      : writer_(std::make_shared<VideoWriter>(path, options)) {}

  void write(nb::handle picture) {
    const Image image = to_picture(picture);
    const ReleasedGil release;
    const std::shared_ptr<VideoWriter> writer = current();
    check(writer != nullptr, ErrorCode::invalid_argument, "VideoWriter: it is closed; open another file");
    writer->write(image);
  }
  void close() {
    const ReleasedGil release;
    const std::shared_ptr<VideoWriter> writer = current();
    if (!writer) return;
    writer->finish();
    drop();
  }
  /// What was begun is removed.
  void discard() {
    const ReleasedGil release;
    drop();
  }
  bool closed() const { return !current(); }

private:
  static Image to_picture(nb::handle object) {
    if (nb::isinstance<Image>(object)) return nb::cast<Image>(object);
    if (nb::isinstance<Frame>(object)) return nb::cast<const Frame&>(object).image;
    if (object.is_none())
      refuse("image", object, "is of the wrong type", "an Image, a Frame or uint8 [height, width, 3]");
    return Image::from_tensor(to_tensor(object), PixelFormat::rgb24);
  }
  std::shared_ptr<VideoWriter> current() const {
    const std::lock_guard lock(mutex_);
    return writer_;
  }
  void drop() {
    std::shared_ptr<VideoWriter> last; // Ends behind the lock.
    const std::lock_guard lock(mutex_);
    last.swap(writer_);
  }

  mutable std::mutex mutex_;
  std::shared_ptr<VideoWriter> writer_; ///< Null once closed.
};

std::span<const Keyword> writer_keywords() {
  static const std::vector<Keyword> keywords = keywords_of(writer_option_table(), true);
  return keywords;
}

void register_writer(nb::module_& module) {
  nb::class_<Writer>(
      module, "VideoWriter",
      "Encodes images into a video file; docs/writing-video.md. The file appears under its path with "
      "close(), or at the end of `with`; after an error there is none. One thread at a time.")
      .def(
          "__init__",
          [](Writer* self, nb::handle path, const nb::args& others, const nb::kwargs& keywords) {
            check_named("VideoWriter", others, "width=640");
            EncoderOptions options;
            take_keywords("VideoWriter", keywords, writer_keywords(), writer_option_table(), options);
            const std::string name = path_of(path);
            ReleasedGil release;
            new (self) Writer(name, options);
          },
          nb::arg("path"), nb::arg("others"), nb::arg("options"),
          nb::sig(signature("def __init__(self, path: str | os.PathLike[str]", writer_keywords(), "None")
                      .c_str()),
          ("Names the file and what is to be in it. The encoder opens with the first picture: what it "
           "refuses, "
           "and what this machine's FFmpeg lacks, are errors of the first write().\n\npath: file to write; "
           "its "
           "extension chooses the container: .mp4, .mkv, .webm, .mov, .avi and others\n" +
           keyword_docs(writer_keywords()))
              .c_str())
      .def("write", &Writer::write, nb::arg("image").none(),
           nb::sig("def write(self, image: Image | Frame | object) -> None"),
           "Appends a picture of the video's size.\n\nimage: an Image of any pixel format, a Frame, whose "
           "time is not "
           "used, or uint8 RGB pixels [height, width, 3]")
      .def("close", &Writer::close,
           "Encodes what is left, finishes the file and gives it its name. Nothing happens the second time. "
           "Raises "
           "InvalidArgument where no picture was written.")
      .def_prop_ro("closed", &Writer::closed, "Whether close() was called, or an error ended the `with`.")
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __enter__(self) -> VideoWriter"))
      .def(
          "__exit__",
          [](Writer& self, nb::handle kind, nb::handle, nb::handle) {
            if (!kind.is_none()) return self.discard();
            try {
              self.close();
            } catch (const Error&) {
              self.discard();
              throw;
            }
          },
          nb::arg("kind").none(), nb::arg("value").none(), nb::arg("trace").none());
}

} // namespace

void register_video(nb::module_& module) {
  register_writer(module);
}

} // namespace lanner::python
