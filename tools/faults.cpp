#include "faults.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include <sys/resource.h>
#include <unistd.h>

namespace lanner::tool {
namespace {

bool little_memory = false;

// Calls only async-signal-safe functions.
void say(std::string_view text) {
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

extern "C" void on_fault(int number) {
  say("lanner: the processor reported a fault (");
  say(number == SIGSEGV ? "SIGSEGV" : number == SIGBUS ? "SIGBUS" : number == SIGFPE ? "SIGFPE" : "SIGILL");
  say(little_memory
          ? "), which happens in libraries when memory is refused: the address space is limited (ulimit "
            "-v); raise "
            "that limit\n"
          : ") inside the program or a library; please report it with what was run\n");
  std::raise(number); // The default action was restored.
}

} // namespace

void tell_of_faults() {
  std::signal(SIGXFSZ, SIG_IGN);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr rlim_t plenty = rlim_t{1} << 32;
  rlimit bound{};
  little_memory = ::getrlimit(RLIMIT_AS, &bound) == 0 && bound.rlim_cur < plenty;
  // A handler needs a stack of its own where the thread's has overflowed.
  static std::array<char, 1 << 16> memory;
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = on_fault;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER) | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(number, &action, nullptr);
#endif
}

} // namespace lanner::tool
