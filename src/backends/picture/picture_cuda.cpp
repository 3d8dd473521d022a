// The operator `preprocess_images`: a batch in one launch, whatever the sizes of its images.

#include <cstdint>

#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/picture/picture_storages.h"
#include "device/cuda/code.h"
#include "image/cuda/device_preprocess.h"
#include "image/cuda/gpu_preprocess.h"
#include "image/picture_record.h"
#include "ops/picture/picture.h"

namespace lanner::cuda {
namespace {

class PictureKernel final : public Kernel {
public:
  PictureKernel(Device device, const Preprocess& spec, const Shape& shape)
      : function_(device, spec), count_(shape[0]) {
    const auto bytes = static_cast<std::int64_t>(bit_width(spec.dtype) / 8);
    all_.pitch = picture_record_bytes;
    all_.seal = picture_seal();
    all_.element = (spec.gray ? 1 : 3) * bytes * spec.width * spec.height;
    all_.width = spec.width, all_.height = spec.height;
    all_.dtype = device_number(spec.dtype);
    all_.channels_last = spec.channels_last;
    all_.words = 3 * bytes * spec.width % 4 == 0;
  }

  bool on_stream() const override { return true; }
  void launch(const Launch& launch) const override {
    if (count_ == 0) return;
    DevicePictures all = all_;
    all.pictures = static_cast<const unsigned char*>(launch.inputs[0]);
    all.out = launch.outputs[0];
    all.words = all.words && reinterpret_cast<std::uintptr_t>(all.out) % 4 == 0;
    function_.launch(all, count_, launch.stream);
  }

private:
  PicturesFunction function_;
  DevicePictures all_{};
  std::int64_t count_;
};

TacticList picture_tactics(const Node& node, const Group&, const Target& target) {
  TacticList list;
  if (node.kind() != ops::picture_kind) return list;
  if (!has_embedded("preprocess")) {
    list.reason = "this build of Lanner has no kernel for it; build Lanner with nvcc";
    return list;
  }
  Storage records = target.storage();
  for (Storage& storage : picture_storages(node, target)) {
    Tactic tactic;
    tactic.kernel = "picture";
    tactic.inputs = {records};
    tactic.outputs = {std::move(storage)};
    constexpr double bytes = 8; // per element; image bytes count like result bytes
    tactic.estimate =
        seconds_of({.bytes = bytes * static_cast<double>(node.output()->type.shape().elements())}, target);
    list.tactics.push_back(std::move(tactic));
  }
  return list;
}

std::unique_ptr<Kernel> picture_prepare(const Preparation& p) {
  return std::make_unique<PictureKernel>(p.target.device, stored_preprocess(p.node, p.tactic.outputs.at(0)),
                                         p.node.output()->type.shape());
}

} // namespace

extern const KernelFamily picture_family{"picture", KernelTrust::own(), picture_tactics, picture_prepare};

} // namespace lanner::cuda
