#pragma once
// A group's epilogue as oneDNN post-operations.

#include <optional>
#include <vector>

#include "backends/epilogue.h"
#include "backends/onednn/execution.h"
#include "backends/operand_storages.h"

namespace lanner::onednn {

/// How to run an epilogue: with the first full-size addition in place, or with all operands in separate
/// memory.
enum class Residual : std::uint8_t { none, in_place, read };

struct PostOps {
  dnnl::post_ops ops;
  std::vector<Argument> arguments;  ///< Of binary operations.
  std::optional<std::size_t> added; ///< Input whose memory becomes the result's (Residual::in_place).
};

/// Whether some step adds a full-size input, so that Residual::in_place applies.
bool adds_in_place(const Epilogue& epilogue);

/// `result` is the output's shape, `layout` and `type` its storage (shared by full-size operands),
/// `channel_axis` the axis of Spread::channel. Nothing when a step has no post-operation.
std::optional<PostOps> post_ops(const Epilogue& epilogue, Residual residual, const Shape& result,
                                const Layout& layout, std::size_t channel_axis, DType type = DType::f32);

/// Requests the storages of the epilogue's operands. False where they conflict.
bool ask_operands(const Epilogue& epilogue, const Layout& layout, const Shape& result,
                  OperandStorages& storages, DType type = DType::f32);

/// The storage of a value of f32 that is kept as `type`.
Storage stored_real(Layout layout, DType type);

} // namespace lanner::onednn
