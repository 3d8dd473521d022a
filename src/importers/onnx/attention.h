#pragma once
// Attention built from plain nodes, which the matmul and softmax kernels then run.

#include <optional>

#include "importers/onnx/emitter.h"

namespace lanner::onnx {

/// Operands of scaled dot-product attention; each of q, k, v is [batch, heads, sequence, head size]. The
/// number of heads of k and v is that of q or a divisor of it.
struct AttentionParts {
  Value *q = nullptr, *k = nullptr, *v = nullptr;
  Value* bias = nullptr; ///< Added to the scores; broadcasts to [batch, heads, sequence, keys]. May be null.
  Value* sinks =
      nullptr;      ///< Attention sink: one extra score per head that takes part in the softmax. May be null.
  double scale = 0; ///< 0: 1 / sqrt(head size).
  double softcap = 0; ///< Scores become softcap * tanh(score / softcap); 0: no softcap.
};

struct AttentionResult {
  Value* output;  ///< [batch, sequence, heads * head size].
  Value* scores;  ///< [batch, heads, sequence, keys], with bias.
  Value* weights; ///< Their softmax.
};

AttentionResult attention_of(RuleContext& context, const AttentionParts& parts);

/// [batch, sequence, heads * size] as [batch, heads, sequence, size].
Value* split_heads(RuleContext& context, Value* x, std::int64_t heads, std::string_view what);

/// An integer attribute that must be at least 1.
std::int64_t head_count(RuleContext& context, const char* name);

/// 0 where a boolean mask holds, else `filtered`, or the lowest finite number of the type where that is
/// larger.
Value* bias_of(RuleContext& context, Value* mask, DType type, double filtered);

/// Lowest finite number of a type that attention is computed in.
double lowest(DType type);

/// Causal mask: whether each of `keys` [1, keys] comes no later than its query [.., sequence, 1].
Value* not_later(RuleContext& context, Value* keys, Value* queries);

/// Fails when the input is given.
void refuse_input(RuleContext& context, std::size_t i, std::string_view name);
/// Fails when the attribute is given and not `usual`.
void refuse_attribute(RuleContext& context, const char* name, std::int64_t usual = 0);

} // namespace lanner::onnx
