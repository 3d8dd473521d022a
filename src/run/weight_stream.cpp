#include "run/weight_stream.h"

#include <algorithm>

#include <lanner/error.h>

#include "device/cuda/gpu.h"
#include "device/memory.h"

namespace lanner {
namespace {

cuda::StreamHandle handle_of(Stream stream) {
  return static_cast<cuda::StreamHandle>(stream.handle);
}

} // namespace

WeightStream::WeightStream(const Program& program, std::shared_ptr<const WeightLocations> weights,
                           std::byte* ring)
    : program_(program), weights_(std::move(weights)), ring_(ring) {
  const cuda::Gpu& gpu = cuda::Gpu::get(program.device());
  copies_ = std::make_unique<cuda::OwnedStream>(gpu);
  begun_ = std::make_unique<cuda::Event>(gpu);
  read_.resize(program.steps().size());
  blocks_of_.assign(program.steps().size(), weights_->blocks.size());
  for (std::size_t b = 0; b < weights_->blocks.size(); ++b) {
    const WeightBlock& block = weights_->blocks[b];
    blocks_of_[block.step] = b;
    copied_.push_back(std::make_unique<cuda::Event>(gpu));
    if (block.behind != WeightBlock::nothing && !read_[block.behind])
      read_[block.behind] = std::make_unique<cuda::Event>(gpu);
  }
}

WeightStream::WeightStream(WeightStream&&) noexcept = default;
WeightStream::~WeightStream() = default;

bool WeightStream::serves(const Segment& segment) const {
  const auto steps = std::span(blocks_of_).subspan(segment.first, segment.steps);
  return std::ranges::any_of(steps, [this](std::size_t block) { return block < copied_.size(); });
}

void WeightStream::copy(const WeightBlock& block, Stream stream) const {
  for (std::uint32_t c = block.first_copy; c < block.first_copy + block.copies; ++c) {
    const WeightLocations::Copy& one = weights_->copies[c];
    const Tensor& from = weights_->constants[one.constant];
    copy_memory({ring_ + one.offset, program_.device()}, {const_cast<void*>(from.data()), {}}, from.bytes(),
                stream);
  }
}

void WeightStream::copy_for(std::size_t step, Stream stream) const {
  if (const std::size_t block = blocks_of_[step]; block < copied_.size())
    copy(weights_->blocks[block], stream);
}

/// The ring is free once all work queued before has ended.
void WeightStream::begin(const Segment& segment, Stream stream) {
  const auto first = [](const WeightBlock& block) { return block.step; };
  const auto blocks = std::span(weights_->blocks);
  next_ =
      static_cast<std::size_t>(std::ranges::lower_bound(blocks, segment.first, {}, first) - blocks.begin());
  end_ = static_cast<std::size_t>(std::ranges::lower_bound(blocks, segment.first + segment.steps, {}, first) -
                                  blocks.begin());
  begun_->record(handle_of(stream));
  begun_->wait(copies_->handle());
}

/// Queues the copies that wait only for steps before this one, this step's own included.
void WeightStream::before(std::size_t step, Stream stream) {
  for (; next_ < end_; ++next_) {
    const WeightBlock& block = weights_->blocks[next_];
    if (block.behind != WeightBlock::nothing) {
      if (block.behind >= step) break;
      read_[block.behind]->wait(copies_->handle());
    }
    copy(block, copies_->stream());
    copied_[next_]->record(copies_->handle());
  }
  if (const std::size_t block = blocks_of_[step]; block < copied_.size())
    copied_[block]->wait(handle_of(stream));
}

void WeightStream::behind(std::size_t step, Stream stream) {
  if (read_[step]) read_[step]->record(handle_of(stream));
}

/// As RunStreams::abandon().
void WeightStream::abandon(Stream stream) noexcept {
  try {
    cuda::Event end(cuda::Gpu::get(program_.device()));
    end.record(copies_->handle());
    end.wait(handle_of(stream));
  } catch (const Error&) {
    return; // the original error says more
  }
}

} // namespace lanner
