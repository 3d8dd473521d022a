// The operator `preprocess_images`.

#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/picture/picture_storages.h"
#include "image/picture_record.h"
#include "ops/picture/picture.h"

namespace lanner {
namespace {

class PictureKernel final : public Kernel {
public:
  PictureKernel(const Preprocess& spec, const Shape& shape, int threads)
      : spec_(spec), count_(shape[0]),
        element_(count_ > 0 ? shape.elements() / count_ * static_cast<std::int64_t>(bit_width(spec.dtype) / 8)
                            : 0),
        threads_(threads) {}

  void launch(const Launch& launch) const override {
    const auto* record = static_cast<const std::byte*>(launch.inputs[0]);
    auto* element = static_cast<std::byte*>(launch.outputs[0]);
    for (std::int64_t n = 0; n < count_; ++n, record += picture_record_bytes, element += element_)
      ops::read_picture(record, spec_, element, threads_);
  }

private:
  Preprocess spec_; ///< For the stored result.
  std::int64_t count_, element_;
  int threads_;
};

TacticList picture_tactics(const Node& node, const Group&, const Target& target) {
  TacticList list;
  if (node.kind() != ops::picture_kind) return list;
  for (Storage& storage : picture_storages(node, target)) {
    Tactic tactic;
    tactic.kernel = "picture";
    tactic.inputs.resize(1);
    tactic.outputs = {std::move(storage)};
    // Two passes over a few samples of each component, in floats.
    constexpr double operations = 40, bytes = 12;
    const auto elements = static_cast<double>(node.output()->type.shape().elements());
    tactic.estimate = seconds_of(
        {.operations = operations * elements, .bytes = bytes * elements, .threads = target.threads}, target);
    list.tactics.push_back(std::move(tactic));
  }
  return list;
}

std::unique_ptr<Kernel> picture_prepare(const Preparation& p) {
  return std::make_unique<PictureKernel>(stored_preprocess(p.node, p.tactic.outputs.at(0)),
                                         p.node.output()->type.shape(), p.target.threads);
}

} // namespace

extern const KernelFamily picture_family{"picture", KernelTrust::own(), picture_tactics, picture_prepare};

} // namespace lanner
