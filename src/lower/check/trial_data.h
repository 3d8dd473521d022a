#pragma once
// Test data of one node's tactics: random operands and the reference results.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/tensor.h>

#include "graph/backend.h"
#include "graph/graph.h"
#include "ops/definition/stored_reals.h"

namespace lanner {

/// Operands and results of one node. Where the definition would take long and the node treats the images of a
/// batch (the rows of a product) alike, only the first few are made and the others repeat them: samples are
/// then shorter along their first axis than the node's values. Keeps
/// nothing of the node but its constants. One thread at a time.
class TrialData {
public:
  /// How integers are drawn that are more than a byte wide.
  enum class Integers : std::uint8_t {
    counting, ///< 1 to 9: operands of arithmetic.
    indexing, ///< 0 and 1, for which most dims have room.
    zero,
  };

  TrialData(const Node& node, int threads, const Control& control);
  /// With these operands, one for each input of the node, constants included: row-major on the host and of
  /// the inputs' types; undefined for an absent one.
  TrialData(const Node& node, std::vector<Tensor> operands, int threads, const Control& control);
  /// Other operands of the same kinds for the same node, so that two concurrent runs have different results:
  /// drawn anew, or the given reals multiplied by 0.5.
  TrialData(const Node& node, const TrialData& other);
  ~TrialData();
  TrialData(const TrialData&) = delete;
  TrialData& operator=(const TrialData&) = delete;

  /// The outputs' samples, row-major on the host, where operands are rounded to the types that `tactic`
  /// stores them in. Throws what the definition throws. May draw operands anew, so call it before input().
  /// `node`, here and below: the one of the tactic, equal to that which the data is for.
  const std::vector<Tensor>& expected(const Tactic& tactic, const Node& node);
  /// Input `i`, which is no constant, as a tactic wants it stored; of the node's shape.
  Tensor input(std::size_t i, const Storage& storage, const Node& node);
  /// The scales and zero points that a tactic's storages name.
  ops::StoredValues values(const Node& node) const;

private:
  void choose_period(const Node& node);
  void copy_node(const Node& node);
  const Tensor& constant(const Node& node, std::size_t i) const;
  void check_room() const;
  void make_samples();
  bool draws_indices() const;
  void settle_indices();
  Shape sample_shape(std::size_t i) const;
  Tensor rounded(std::size_t i, const Storage& storage, const Node& node) const;
  std::vector<Tensor> compute(const std::vector<Tensor>& operands) const;
  Tensor made_input(std::size_t i, const Storage& storage, const Node& node);

  int threads_;
  const Control& control_;
  Integers integers_;
  bool positive_ = false;
  bool given_ = false; ///< Operands came from the caller; none are drawn.
  std::uint64_t seed_ = 0;
  std::int64_t period_ = 0;    ///< Images that are drawn; 0: all of them.
  std::vector<bool> repeated_; ///< By input.
  std::vector<Shape> shapes_;  ///< By input, of the node under test.
  std::unique_ptr<Graph> graph_;
  const Node* node_ = nullptr; ///< A copy of the node, for `period_` images.
  std::vector<Tensor> samples_;
  Tensor far_pictures_; ///< Of the operator `preprocess_images` on a GPU: records of pictures in its memory.
  std::map<std::string, Tensor> stored_; ///< Operands by the storage that tactics asked for.
  std::uint64_t stored_bytes_ = 0;
  std::map<std::string, std::vector<Tensor>> expected_;
};

/// `sample` repeated along its first axis until it has `shape`, in `storage` on its device.
Tensor repeated(const Tensor& sample, const Shape& shape, const Storage& storage,
                const ops::StoredValues& values = ops::stored_constant);
/// Whether `layout` stores the images of the first axis one after the other.
bool is_batch_outermost(const Layout& layout);

} // namespace lanner
