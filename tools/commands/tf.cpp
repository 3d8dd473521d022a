// lanner tf: tools for TensorFlow models.

#include "commands/tf.h"
#include "command.h"

namespace lanner::tool {

void add_tf(Command& program, Action& action) {
  Command command = program.add_command("tf", "Tools for TensorFlow models.");
  command.require_command();
  add_tf_eval(command, action);
  command.footer("Examples:\n  lanner tf eval saved_model/ --data synthetic --batch 8\n"
                 "  lanner tf eval --help");
}

} // namespace lanner::tool
