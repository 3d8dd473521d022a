// The team of each calling thread, and the list of all teams; team_threads.h has the implementation of one.

#include "device/team.h"

#include <pthread.h>

#include <memory>
#include <mutex>
#include <set>

#include "device/team_threads.h"

namespace lanner {
namespace {

using teams::Team;

/// All existing teams. Never destroyed, as threads may end after the program's statics; a fork's child gets a
/// new list, as it lacks whichever thread held the lock.
struct Teams {
  std::mutex mutex;
  std::set<Team*> all;
  int needed = 0;

  static Teams*& instance() {
    static auto* teams = new Teams;
    return teams;
  }
  void rest() {
    for (Team* team : all) team->rest();
  }
};

/// The calling thread's team, which ends with the thread.
class OwnTeam {
public:
  ~OwnTeam() {
    abandon_after_fork();
    if (!team_) return;
    Teams& teams = *Teams::instance();
    const std::lock_guard lock(teams.mutex);
    teams.all.erase(team_.get());
  }
  Team& get() {
    forks_seen();
    abandon_after_fork();
    if (!team_) {
      team_ = std::make_unique<Team>();
      Teams& teams = *Teams::instance();
      const std::lock_guard lock(teams.mutex);
      teams.all.insert(team_.get());
    }
    return *team_;
  }

  unsigned barriers() const noexcept { return team_ ? team_->barriers() : 0; }

private:
  /// A forked child lacks the threads: they cannot be joined, and they may have been anywhere in the team.
  void abandon_after_fork() {
    if (team_ && !team_->survived_fork()) (void)team_.release();
  }
  std::unique_ptr<Team> team_;
};

thread_local OwnTeam own;

} // namespace

teams::Team& teams::own_team() {
  return own.get();
}

void run_pieces(int shares, int pieces, void (*function)(void*, int share, int piece), void* argument) {
  own.get().run({function, argument, shares, pieces}, Shares::free);
}

bool reserve_team(int threads) {
  return threads <= 1 || team_share().inside ||
         (threads <= teams::max_threads && own.get().reserve(threads) >= threads);
}

void limit_team(int threads) {
  own.get().limit(threads);
}

double team_seconds() {
  return own.get().seconds();
}

void run_free_shares_by(const Executor* given) noexcept {
  teams::executor.store(given, std::memory_order_release);
}

TeamsNeeded::TeamsNeeded() noexcept {
  forks_seen();
  Teams& teams = *Teams::instance();
  const std::lock_guard lock(teams.mutex);
  ++teams.needed;
}

TeamsNeeded::~TeamsNeeded() {
  Teams& teams = *Teams::instance();
  const std::lock_guard lock(teams.mutex);
  if (--teams.needed == 0) teams.rest();
}

unsigned team_barriers() noexcept {
  return own.barriers();
}

unsigned forks_seen() noexcept {
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] {
    ++teams::forks;
    const int needed = Teams::instance()->needed;
    Teams::instance() = new Teams;
    Teams::instance()->needed = needed;
  });
  (void)registered;
  return teams::forks.load(std::memory_order_relaxed);
}

} // namespace lanner
