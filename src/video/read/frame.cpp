#include <lanner/decoder.h>

#include "device/memory.h"

namespace lanner {

void wait_for(Device device, Stream stream) {
  synchronize(device, stream);
}

} // namespace lanner
