#pragma once
// A session, its buffers, and its pictures on their way.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fake_libraries/nvenc/stream.h"

namespace lanner::fake_nvenc {

/// Memory of the library that pictures are written to.
struct InputBuffer {
  std::vector<std::uint8_t> bytes;
  PictureView view;
  bool locked = false;
};

/// Memory of the caller.
struct Resource {
  PictureView view;
  nvenc::NV_ENC_BUFFER_USAGE usage = nvenc::NV_ENC_INPUT_IMAGE;
  std::size_t bytes = 0;
  void* mapping = nullptr; ///< Null where it is not mapped.
};

/// A picture as it was given.
struct Submitted {
  nvenc::NV_ENC_PIC_PARAMS parameters;
  std::shared_ptr<const Settings> settings;
  PictureView view;
  std::uint64_t hash = 0; ///< Of its samples then.
  std::vector<Message> messages;
  std::uint32_t number = 0; ///< In display order, of the session.
  std::uint32_t order = 0;  ///< From its IDR picture on.
  nvenc::NV_ENC_PIC_TYPE type = nvenc::NV_ENC_PIC_TYPE_P;
};

/// A picture that has its place in the stream; written when it is asked for.
struct Placed {
  Submitted source;
  CodedPicture picture;
  std::optional<CodedBytes> written;
};

enum class BufferState { idle, waiting, ready, locked };

struct BitstreamBuffer {
  BufferState state = BufferState::idle;
  std::optional<Placed> content;
};

struct Session {
  void* context = nullptr;
  std::shared_ptr<const Settings> settings; ///< Null before it is initialised.
  void *input_stream = nullptr, *output_stream = nullptr;
  std::map<void*, InputBuffer> inputs;
  std::map<void*, BitstreamBuffer> outputs;
  std::map<void*, Resource> resources;
  std::map<void*, void*> mappings; ///< To resources.
  std::string last_error;
  std::thread::id encoding_thread;

  std::deque<Submitted> lookahead;
  std::vector<Submitted> held; ///< B pictures that wait for what comes behind them.
  std::deque<void*> waiting;   ///< Outputs of the pictures in both.
  std::deque<std::pair<void*, std::uint32_t>>
      to_lock; ///< Outputs not locked yet, with their picture's number.

  std::uint32_t number = 0, since_idr = 0, since_intra = 0, idr_number = 0, reference_number = 0;
  std::vector<std::uint32_t> kept;
  std::vector<std::uint64_t> reference_times; ///< Time stamps of reference pictures, the oldest first.
  bool force_idr = true, force_intra = false, headers_due = true;

  bool waits(const void* input) const; ///< Whether a picture from there waits for more input.
  /// Whether a picture from there is not yet written, and the output that was given with it not yet locked:
  /// by B pictures another picture may lie in that.
  bool busy(const void* input) const;
};

} // namespace lanner::fake_nvenc
