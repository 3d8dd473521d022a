#pragma once
// Runs one tactic of a node on data whose results are known.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <lanner/cancel.h>

#include "base/check.h"
#include "graph/backend.h"
#include "lower/check/agreement.h"
#include "lower/check/trial_data.h"
#include "lower/measure/timing_cache.h"
#include "program/weights/weights.h"

namespace lanner::cuda {
class Event;
class GraphExec;
class OwnedStream;
} // namespace lanner::cuda

namespace lanner {

/// The tactic under test and its target.
struct TrialSubject {
  const Node& node;
  const Backend& backend;
  const Tactic& tactic;
  const Target& target; ///< As passed to the backend.
};

/// Memory of a trial between guard words, which detect writes out of bounds.
class GuardedBlock {
public:
  /// On the device, or on the host for a kernel that runs on `device`.
  GuardedBlock(std::uint64_t bytes, Device memory_device, Device device);
  std::byte* data() const noexcept { return data_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  void fill(unsigned char value, Stream stream) const;
  bool intact() const; ///< Whether the guard words are unchanged; does not synchronise.

private:
  void set(std::byte* at, unsigned char value, std::uint64_t bytes, Stream stream) const;
  std::shared_ptr<void> memory_;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  Device memory_device_;
};

/// A kernel made ready with operands and poisoned memory for its results. The subject's parts and the data
/// must outlive it. One thread at a time.
class Trial {
public:
  /// Throws what preparing the kernel throws; nothing is prepared where `kernel`, of that tactic, is given.
  Trial(const TrialSubject& subject, TrialData& data, WeightStore& constants,
        std::shared_ptr<const Kernel> kernel = nullptr);
  ~Trial();
  /// The subject's kernel for one trial or several, by any thread.
  static std::shared_ptr<const Kernel> prepared(const TrialSubject& subject, WeightStore& constants);

  /// Runs the kernel `runs` times, also recorded if it runs on a stream, and then in place where allowed,
  /// each time with different garbage in outputs and workspace. Wrong is a result that differs from the
  /// definition's beyond rounding or from an earlier run's in any bit, nonzero padding, and a write outside
  /// of its memory or between its slices. Throws what the definition or the kernel throws.
  Verdict check(std::size_t runs = 3);
  /// A trial of the same prepared kernel with its own memory, stream and operands, like a second context.
  /// This trial and `data` must outlive it.
  std::unique_ptr<Trial> twin(TrialData& data) const;
  /// Runs once and keeps the result, right or wrong, for repeat(): used where check() was not called.
  void run_alone();
  /// Runs the kernel again as check() does; wrong is a result that differs from the first run's in any bit.
  /// Twins may do so at the same time on their own threads. After check() or run_alone().
  Verdict repeat(std::size_t runs);
  /// Frees what only check() and repeat() need.
  void forget_results();
  /// Allocates the memory that it needs and returns its size; operands, which trials share, do not count.
  std::uint64_t held_bytes();
  /// Seconds of one run of `times` in a row, on average. On a GPU as one CUDA graph where possible, so
  /// launches do not delay it.
  double timed(int times);
  /// timed() of a kernel on the host lets each run find its constants in memory instead of in the caches, as
  /// in a network whose weights the caches do not hold.
  void let_constants_get_cold() noexcept { cold_ = true; }
  /// Resolution of timed() in seconds.
  double grain() const;
  /// Upper bound of the launch overhead in a timed(1), in seconds.
  double launch() const;

private:
  struct Output {
    Storage storage;
    Shape shape;
    DType type = DType::f32;
    std::unique_ptr<GuardedBlock> block;
    Tensor expected;             ///< See as_stored(), on the host.
    Tensor expected_on_device;   ///< The same on the GPU, where the comparison is made there.
    Tolerance tolerance;         ///< Of that comparison.
    bool on_device = false;      ///< Large and on a GPU: runs are compared with each other on the GPU.
    std::shared_ptr<void> first; ///< Result of the first run, on the GPU.
    std::string first_hash;      ///< Hash of the first result on the host, or of one within a larger value.
  };

  struct Arguments {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
  };
  class Within;

  Trial(const Trial& twin, TrialData& data);

  void open_stream();
  void gather();
  void store_expected();
  void expect_quantized(Output& output, const Tensor& sample) const;
  void poison(unsigned char value);
  Arguments arguments(bool in_place) const;
  void copy_operand() const;
  void launch(const Arguments& arguments, bool ordered) const;
  void run(std::size_t number, bool in_place, std::unique_ptr<cuda::GraphExec>& graph);
  Verdict check_in_place(std::size_t runs);
  void record(const Arguments& arguments, int times);
  double timed_cold(const Arguments& given, int times) const;
  void synchronize_stream() const;
  Stream stream() const;
  Tensor result(const Output& output) const;
  Tensor fetched(const Output& output) const;
  Verdict judge(std::size_t o) const;
  Verdict judge_all() const;
  void keep_first();
  bool same_as_first(const Output& output) const;
  std::string hash_of(const Output& output) const;
  Verdict compare_with_first() const;
  bool may_run_in_place() const;
  Verdict check_guards() const;

  TrialSubject subject_;
  TrialData& data_;
  WeightStore& constants_;
  std::vector<Tensor> held_; ///< Constants that the kernel reads.
  std::shared_ptr<const Kernel> kernel_;
  std::vector<const void*> inputs_;
  /// Constants on the device, and values; `data_` may draw other values for other trials.
  std::vector<Tensor> operands_;
  std::vector<std::shared_ptr<void>> pinned_; ///< Operands on the host of a kernel that runs on a stream.
  std::vector<Output> outputs_;
  std::unique_ptr<GuardedBlock> workspace_;
  unsigned char poison_ = 0; ///< Of the last run.
  std::unique_ptr<cuda::OwnedStream> stream_;
  std::unique_ptr<cuda::Event> start_, stop_;
  std::unique_ptr<cuda::GraphExec> recorded_; ///< For timed(): `recorded_times_` runs.
  int recorded_times_ = 0;
  bool cold_ = false;
};

/// repeat() of all twins at once, each on its own thread. Returns the first verdict that is wrong, kernel
/// failures included; throws where memory runs out, which does not make the kernel wrong, or on cancellation.
Verdict side_by_side(std::span<Trial* const> trials, std::size_t runs);

} // namespace lanner
