#pragma once
// State of a Context.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/engine.h>

#include "base/limits/account.h"
#include "device/cuda/gpu.h"
#include "engine/context/kept_states.h"
#include "engine/context/ready_shapes.h"
#include "engine/state.h"
#include "image/bound_pictures.h"

namespace lanner {

struct Context::State {
  std::shared_ptr<const EngineState> engine;
  AccountPtr account; ///< For the context's own memory, without the engine's.
  int threads = 1;
  bool profiled = false;
  bool keep_results = false;

  std::vector<Item> bound;     ///< By input.
  std::vector<Device> sources; ///< By input: device of the caller's data.
  std::vector<Tensor> given;   ///< By output: the caller's memory.
  /// By output: separate memory where the caller's overlaps an input; else undefined.
  std::vector<Tensor> apart;
  std::vector<KeptState> kept; ///< By index of EngineState::states; their inputs are bound to views.
  /// On a GPU, where there are states: the end of the last run, whatever its stream; null before the first.
  std::unique_ptr<cuda::Event> states_written;
  std::vector<SpareTensors> filled; ///< By input: tensors made of images bound to it.
  /// By output: pool of device memory for results, some of which callers hold.
  std::vector<std::vector<Tensor>> keeps;
  std::vector<std::shared_ptr<BoundPictures>> pictures; ///< By input: pictures whose records are bound.
  std::vector<PictureStaging> staging; ///< By input: device memory that pictures of the host are uploaded to.
  InputShapes shapes;                  ///< Of the bound inputs.
  bool shapes_changed = true;
  std::vector<bool> input_changed;
  /// Whether results were allocated by the allocator of this or the last call, not by the context.
  bool results_of_call = false;

  std::vector<Tensor> arena;        ///< By device of the engine; undefined where nothing ran yet.
  std::shared_ptr<void> host_arena; ///< Pinned, for a target that is not the host.
  std::uint64_t host_arena_bytes = 0;
  ReadyList ready;            ///< The current one ran last, or runs.
  std::uint64_t replaced = 0; ///< Variants of the engine, when `ready` was looked up.
  std::uint64_t placed = 0;   ///< Version of the engine's weight placement, likewise.
  /// For streamed weights, on the device. Declared after `ready`, so freed before it: freeing waits for the
  /// device, which may still read weights that `ready` holds.
  Tensor ring;
  /// Values for initialisers of the engine that are constants here; runs with any are those of `other`.
  std::map<std::string, Item, std::less<>> overrides;
  std::unique_ptr<Context> other; ///< Of an engine that has `other_names` as inputs.
  std::set<std::string> other_names;
  bool other_ran = false; ///< Whether the last run was of `other`.
  std::vector<double> times;
  std::uint64_t runs = 0; ///< Runs since the current shapes became current.
  bool began = false;     ///< Whether kernels of the current or last run were started.

  std::size_t input(std::string_view name) const;
  std::size_t output(std::string_view name) const;
  ReadyShapes& now() const { return *ready.current(); }
  Device device() const { return engine->target.device; }
  std::uint64_t idle_bytes() const;
  /// Index of the state with this input or output.
  std::optional<std::size_t> state_with(std::size_t StatePair::*member, std::size_t number) const;
  /// Outputs whose results are not the context's own.
  std::vector<bool> lent() const;
  void begin_states();
  void set_state(std::size_t number, const Tensor& value);
  void wait_for_states() const;
  void keep_states(Stream stream);
  void bind_defaults();
  void override_initialiser(const Binding& expected, Item value);
  void queue_other(Stream stream, const Control& control, const RunResources& resources);
  Tensor readable(std::size_t i, const Tensor& tensor) const;
  void bind_tensor(std::size_t i, Tensor value);
  void check_records(std::size_t i, const Tensor& records) const;
  void bind_pictures(std::size_t i, std::span<const Image> images, const Preprocess* spec);
  void take_input(std::size_t i, Item value);
  void take_tensor(std::size_t i, Tensor tensor);
  void choose_program(const Control& control);
  void make_ready(std::shared_ptr<const Program> program);
  void forget();
  void take_budget();
  bool drop_idle();
  void give_inputs(Stream stream);
  const void* on_device(std::size_t i, Stream stream);
  Device results_device() const;
  bool is_kept(std::size_t i) const;
  Tensor kept_result(std::size_t i, DType dtype, const Shape& shape);
  void place_results(const CallResources& call);
  void place_result(std::size_t i, const CallResources& call);
  void check_written_memory() const;
  bool overlaps_input(std::size_t output) const;
  Tensor memory_apart(std::size_t output, DType dtype, const Shape& shape);
  void separate_items(Stream stream);
  void copy_from_apart(Stream stream);
  bool lies_right(std::size_t output, const Tensor& memory) const;
  void check_given(std::size_t i, DType dtype, const Shape& shape) const;
  void take_items(Stream stream);
  void* written_memory(std::size_t i);
  void fetch_results(Stream stream);
  void queue(Stream stream, const Control& control, const CallResources& call);
  void try_to_queue(Stream stream, const Control& control, const CallResources& call);
  Arenas arenas(const Program& program);
};

} // namespace lanner
