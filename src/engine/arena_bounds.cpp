// Upper bound of a context's arena for the shapes of a profile.

#include <algorithm>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/log.h>

#include "backends/backends.h"
#include "engine/builder.h"
#include "engine/state.h"

namespace lanner {

std::optional<std::uint64_t> EngineState::arena_bound(std::size_t profile, const Control& control) const {
  {
    const std::lock_guard lock(bounds_mutex_);
    if (const auto known = bounds_.find(profile); known != bounds_.end())
      return known->second ? std::optional(known->second->bytes) : std::nullopt;
  }
  auto made = make_bound(profiles.at(profile), control); // takes long, so not under the lock
  const std::lock_guard lock(bounds_mutex_);
  const auto [entry, fresh] = bounds_.emplace(profile, std::move(made));
  if (!entry->second) return std::nullopt;
  std::uint64_t& bytes = entry->second->bytes;
  for (const auto& [key, variant] : variants_.list())
    if (profile_of(key.shapes) == &profiles[profile])
      bytes = std::max(bytes, variant->program->arena_bytes());
  return bytes;
}

std::optional<EngineState::ArenaBound> EngineState::make_bound(const ShapeProfile& profile,
                                                               const Control& control) const {
  const AccountScope charged(account);
  try {
    const auto shapes = profile.max(*graph);
    if (!shapes || !profile.opt || !find_builder()) return std::nullopt;
    double no_seconds = 0;
    const MadeVariantPtr model = variants_.of_shapes(*profile.opt, target.threads);
    const MadeVariant made =
        lowered({*shapes, target.threads}, no_seconds, {.model = model.get(), .sizes_only = true}, control);
    return ArenaBound{made.program->arena_bytes(), made.program};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    log_message(LogLevel::warning,
                fmt::format("{}: a profile's arena has no bound: {}", graph->name, error.message()));
    return std::nullopt;
  }
}

/// The program; where it would need more memory than the profile's largest shapes, with their placement.
std::shared_ptr<const Program> EngineState::within_bound(const InputShapes& shapes,
                                                         std::shared_ptr<const Program> program,
                                                         const Target& target) const {
  const ShapeProfile* profile = profile_of(shapes);
  if (!profile) return program;
  const auto number = static_cast<std::size_t>(profile - profiles.data());
  std::optional<ArenaBound> bound;
  {
    const std::lock_guard lock(bounds_mutex_);
    if (const auto known = bounds_.find(number); known != bounds_.end()) bound = known->second;
  }
  if (!bound || program->arena_bytes() <= bound->bytes) return program;
  program = std::make_shared<const Program>(program->graph().clone(), backends(target), target, *constants_,
                                            callers, bound->program.get());
  if (program->arena_bytes() <= bound->bytes) return program;
  // A kernel may need more scratch memory for less work, or exist for smaller shapes only.
  const std::lock_guard lock(bounds_mutex_);
  std::uint64_t& bytes = bounds_.at(number)->bytes;
  bytes = std::max(bytes, program->arena_bytes());
  log_message(LogLevel::warning, fmt::format("{}: the arena's bound of profile {} rises to {} bytes: kernels "
                                             "for {} need more than those for its largest shapes",
                                             graph->name, number, bytes, shapes_text(shapes)));
  return program;
}

} // namespace lanner
