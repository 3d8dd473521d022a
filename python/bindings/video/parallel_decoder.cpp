// All frames of a video, by several decoders at once.

#include <algorithm>
#include <mutex>

#include <lanner/error.h>
#include <lanner/video_reader.h>

#include "calls/bindings.h"
#include "calls/check.h"
#include "calls/keywords.h"
#include "video/reader_options.h"
#include "video/thread_calls.h"
#include "video/video_facts.h"

namespace lanner::python {
namespace {

/// Decoders at work on a video from its first frame to the last. Threads may share one.
struct Session {
  explicit Session(ParallelDecoder from) : decoder(std::move(from)) {}
  std::mutex alone;
  std::optional<ParallelDecoder> decoder; ///< Nothing once it was closed.

  ParallelDecoder& open() {
    check(decoder.has_value(), ErrorCode::invalid_argument,
          "ParallelDecoder: it was closed; open the video again");
    return *decoder;
  }
};
using SessionPtr = std::shared_ptr<Session>;

/// A ParallelDecoder as Python has it: every iteration is a session, the one that was opened first is used
/// again once nobody is at it.
struct Parallel {
  std::shared_ptr<ThreadCalls> calls = std::make_shared<ThreadCalls>("ParallelDecoder");
  std::mutex mutex;
  SessionPtr first;                             ///< Null once it was closed.
  std::vector<std::weak_ptr<Session>> sessions; ///< Of iterations.
  VideoFacts facts;
  nb::object source; ///< As given, for pickling.
  nb::dict options;

  Parallel() = default;
  Parallel(const Parallel&) = delete;
  Parallel& operator=(const Parallel&) = delete;
  ~Parallel() {
    const ReleasedGil released; // Threads that are joined now may be reading from an object of Python's.
    first.reset();
  }

  SessionPtr begin(const Control& control);
  void close();
};

/// Whose progress() is asked for while a decoder is opened, which `control` does not outlive.
class WhileOpening {
public:
  explicit WhileOpening(const Control& control)
      : control_{control.cancel, [open = open_, &control](const ProgressUpdate& update) {
                   if (*open) control.report(update);
                 }} {}
  ~WhileOpening() { *open_ = false; }
  WhileOpening(const WhileOpening&) = delete;
  WhileOpening& operator=(const WhileOpening&) = delete;
  const Control& control() const { return control_; }

private:
  std::shared_ptr<bool> open_ = std::make_shared<bool>(true);
  Control control_;
};

SessionPtr Parallel::begin(const Control& control) {
  const ThreadCalls::Call call(*calls);
  const std::lock_guard lock(mutex);
  check(first != nullptr, ErrorCode::invalid_argument,
        "ParallelDecoder: it was closed; open the video again");
  std::erase_if(sessions, [](const auto& session) { return session.expired(); });
  SessionPtr session = first;
  if (session.use_count() > 2) {
    const WhileOpening opening(control);
    session = std::make_shared<Session>(first->open().reopen(opening.control()));
  } else {
    session->open().rewind();
  }
  sessions.push_back(session);
  return session;
}

void Parallel::close() {
  const ThreadCalls::Call call(*calls);
  std::vector<SessionPtr> all;
  {
    const std::lock_guard lock(mutex);
    for (const auto& weak : sessions)
      if (SessionPtr session = weak.lock()) all.push_back(std::move(session));
    if (first) all.push_back(std::exchange(first, nullptr));
  }
  for (const SessionPtr& session : all) {
    const std::lock_guard lock(session->alone);
    session->decoder.reset();
  }
}

/// One iteration.
struct ParallelFrames {
  const std::shared_ptr<ThreadCalls> calls; ///< The decoder's.
  SessionPtr session;                       ///< Null behind the end.
  std::mutex mutex;                         ///< Of `session`.

  ParallelFrames(std::shared_ptr<ThreadCalls> shared, SessionPtr from)
      : calls(std::move(shared)), session(std::move(from)) {}
  ParallelFrames(const ParallelFrames&) = delete;
  ParallelFrames& operator=(const ParallelFrames&) = delete;
  ~ParallelFrames() {
    const ReleasedGil released;
    session.reset();
  }

  SessionPtr current() {
    const std::lock_guard lock(mutex);
    return session;
  }

  std::optional<Frame> next() {
    const ThreadCalls::Call call(*calls);
    const SessionPtr own = current();
    if (!own) return std::nullopt;
    const std::lock_guard lock(own->alone);
    std::optional<Frame> frame = own->open().next();
    if (!frame) {
      const std::lock_guard end(mutex);
      session.reset();
    }
    return frame;
  }
};

Frame next_frame(ParallelFrames& self) {
  std::optional<Frame> frame = [&] {
    const ReleasedGil release;
    return self.next();
  }();
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (!frame) throw nb::stop_iteration();
  return std::move(*frame);
}

void open(Parallel* self, nb::handle source, const nb::args& others, const nb::kwargs& keywords) {
  check_named("a video", others, "device=\"cpu\"");
  VideoFacts facts;
  SessionPtr session = open_video(
      source, keywords, [&](SourcePtr bytes, const VideoReaderOptions& options, const Control& control) {
        const WhileOpening opening(control);
        ParallelDecoder decoder(std::move(bytes), options, opening.control());
        facts = facts_of(decoder.stream(), options.rotate);
        facts.add(decoder.demuxer());
        facts.decoder_reason = decoder.decoder_reason();
        facts.decoder = decoder.description();
        return std::make_shared<Session>(std::move(decoder));
      });
  new (self) Parallel();
  self->first = std::move(session);
  self->facts = std::move(facts);
  self->source = nb::borrow(source);
  self->options = nb::borrow<nb::dict>(keywords);
}

bool is_closed(Parallel& self) {
  const ReleasedGil release;
  const std::lock_guard lock(self.mutex);
  return !self.first;
}

std::int64_t expected_frames(Parallel& self) {
  const ReleasedGil release;
  const std::lock_guard lock(self.mutex);
  return self.first && self.first->decoder ? std::max<std::int64_t>(0, self.first->decoder->size()) : 0;
}

} // namespace

void register_parallel_decoder(nb::module_& module) {
  nb::class_<ParallelFrames>(module, "ParallelFrames",
                             "Frames of a ParallelDecoder in order; threads may share it.")
      .def(
          "__iter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __iter__(self) -> typing.Self"))
      .def("__next__", &next_frame);

  nb::class_<Parallel> parallel(
      module, "ParallelDecoder",
      "All frames of a video in order, decoded by several decoders in parallel, on all cores, or on all "
      "decoding engines of a GPU. Each iteration begins with the first frame; threads that divide the frames "
      "among them share one iterator, iter(decoder). `with` closes it.");
  parallel.def(
      "__init__", &open, nb::arg("source").none(), nb::arg("others"), nb::arg("options"),
      nb::sig(signature("def __init__(self, source: str | os.PathLike[str] | bytes | io.BufferedIOBase",
                        reader_keywords(), "None")
                  .c_str()),
      reader_docs().c_str());
  register_facts(parallel);
  parallel
      .def_prop_ro(
          "fps", [](const Parallel& self) { return self.facts.fps(); },
          "Average frames per second, from the container; None if it does not say.")
      .def_prop_ro(
          "duration", [](const Parallel& self) { return self.facts.duration(); },
          "Length in seconds, from the container; None if it does not say.")
      .def_prop_ro(
          "decoder", [](const Parallel& self) { return self.facts.decoder; }, "The decoders.")
      .def("__length_hint__", &expected_frames)
      .def(
          "__iter__",
          [](Parallel& self) {
            Interruptible work;
            return new ParallelFrames(self.calls, work.run([&] { return self.begin(work.control()); }));
          },
          nb::sig("def __iter__(self) -> ParallelFrames"))
      .def(
          "close",
          [](Parallel& self) {
            const ReleasedGil release;
            self.close();
          },
          "Closes the file and releases the decoders; frames that were returned stay valid.")
      .def(
          "__reduce__",
          [](nb::handle self) {
            const auto& held = nb::cast<const Parallel&>(self);
            return reduce_video(self, held.source, held.options);
          },
          nb::sig("def __reduce__(self) -> tuple[object, ...]"))
      .def(
          "_repr_html_",
          [](Parallel& self) { return self.facts.html("ParallelDecoder", is_closed(self), {}); },
          nb::sig("def _repr_html_(self) -> str"))
      .def("__repr__",
           [](Parallel& self) { return text_of(self.facts.line("ParallelDecoder", is_closed(self))); });
}

} // namespace lanner::python
