// The extension module lanner._lanner.

#include <lanner/version.h>

#include "calls/bindings.h"
#include "calls/warnings.h"
#include "engine/environment.h"
#include "engine/evaluation.h"
#include "engine/keras.h"
#include "engine/records.h"
#include "video/packets.h"

NB_MODULE(_lanner, module) {
  // What a thread holds that the interpreter leaves behind is no leak: see Note [Threads at the interpreter's
  // end].
  nb::set_leak_warnings(false);
  module.doc() = "Lanner's C++ library.";
  module.attr("__version__") = std::string(lanner::version());
  lanner::python::register_end(module);
  lanner::python::register_errors(module);
  lanner::python::register_warnings(module);
  lanner::python::register_tensor(module);
  lanner::python::register_tensor_file(module);
  lanner::python::register_calibration(module);
  lanner::python::register_image(module);
  lanner::python::register_frame(module);
  lanner::python::register_packet(module);
  lanner::python::register_demuxer(module);
  lanner::python::register_decoder(module);
  lanner::python::register_video_reader(module);
  lanner::python::register_parallel_decoder(module);
  lanner::python::register_audio_reader(module);
  lanner::python::register_video(module);
  lanner::python::register_encoder(module);
  lanner::python::register_muxer(module);
  lanner::python::register_context(module);
  lanner::python::register_verification(module);
  lanner::python::register_environment(module);
  lanner::python::register_engine(module);
  lanner::python::register_build(module);
  lanner::python::register_converted(module);
  lanner::python::register_records(module);
  lanner::python::register_keras(module);
  lanner::python::register_option_rows(module);
  lanner::python::register_tasks(module);
  lanner::python::register_evaluation(module);
  lanner::python::register_wrong_calls(module);
}
