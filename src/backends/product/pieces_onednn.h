#pragma once
// Products divided into pieces of one thread each: see Note [Pieces of a product].

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "backends/onednn/execution.h"

namespace lanner::onednn {

/// So many units (rows, or matrices) in pieces of `size`; the last one may be smaller.
struct Cut {
  std::int64_t units = 0, size = 0;

  std::int64_t count() const { return (units - 1) / size + 1; }
  std::int64_t last() const { return units - (count() - 1) * size; }
};

/// Two pieces for each of `threads` threads, or fewer of at least `least` units; a single piece where there
/// are too few units for two.
Cut cut_for(int threads, std::int64_t units, std::int64_t least);

/// Byte strides between units, for the operands of a launch.
struct UnitBytes {
  std::map<std::size_t, std::size_t> inputs; ///< By input number; 0: all pieces read the same data.
  std::size_t output = 0;

  /// False where the input has another stride already.
  bool add(const Operand& operand, std::size_t bytes);
};

/// Runs one primitive per piece, on any available thread.
class PieceKernel final : public Kernel {
public:
  static constexpr std::size_t max_inputs = 16; ///< Of the node.

  /// `last` computes the last piece where that is smaller. Both are made for one thread.
  PieceKernel(const Cut& cut, const UnitBytes& bytes, std::unique_ptr<Kernel> body,
              std::unique_ptr<Kernel> last, int threads);

  std::size_t workspace() const override;
  void launch(const Launch& launch) const override;

private:
  std::size_t piece_workspace() const;
  void run(const Launch& launch, std::int64_t piece) const;

  Cut cut_;
  std::array<std::size_t, max_inputs> input_bytes_{}; ///< Per piece.
  std::size_t output_bytes_;
  std::unique_ptr<Kernel> body_, last_;
  int threads_;
};

} // namespace lanner::onednn
