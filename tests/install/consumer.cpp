// A stranger's program: consumer MODEL CLIP.

#include <algorithm>
#include <cstdio>

#include <lanner/encoder.h>
#include <lanner/engine.h>
#include <lanner/error.h>
#include <lanner/video_reader.h>

namespace {

lanner::Engine build(const char* model) {
  lanner::BuildOptions options;
  options.budget = 0;
  options.threads = 1;
  return lanner::Engine::build(std::filesystem::path(model), options);
}

void answer(const lanner::Engine& engine, const char* clip) {
  lanner::VideoReader reader(lanner::open_path(clip));
  const lanner::Frame frame = reader.at(reader.size() - 1);
  lanner::Preprocess spec;
  spec.width = spec.height = 8;
  lanner::Context context = engine.create_context();
  const auto outputs = context({{"input", lanner::to_tensor(frame.image, spec)}});
  const auto logits = outputs.at("logits").tensor.as<float>();
  std::printf("frame %d of %d: channel %d\n", static_cast<int>(frame.index), static_cast<int>(reader.size()),
              static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
}

/// What is thrown in liblanner.so and in liblanner-ffmpeg.so is caught here by its type.
template<typename Body>
void refused(Body&& body) {
  try {
    body();
  } catch (const lanner::Error& error) {
    std::printf("%s: %s\n", std::string(to_string(error.code())).c_str(), error.what());
  }
}

} // namespace

int main(int, char** arguments) {
  const lanner::Engine engine = build(arguments[1]);
  std::printf("%s\n", engine.inputs()[0].to_string().c_str());
  answer(engine, arguments[2]);
  refused([] { build("absent.onnx"); });
  refused([&] { lanner::VideoReader(lanner::open_path(arguments[1])); });
}
