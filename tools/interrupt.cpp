#include "interrupt.h"

#include <csignal>

namespace lanner::tool {
namespace {

const CancelToken* installed_token = nullptr;

extern "C" void on_signal(int) {
  installed_token->cancel();
}

} // namespace

const CancelToken& interrupt_token() {
  static const CancelToken token = CancelToken::create();
  if (installed_token) return token;
  installed_token = &token;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr); // nohup wants it ignored.
  return token;
}

bool interrupted() {
  return installed_token && installed_token->cancelled();
}

} // namespace lanner::tool
