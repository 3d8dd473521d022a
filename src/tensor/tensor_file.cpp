#include <lanner/tensor_file.h>

#include <memory>

#include "base/limits/account.h"
#include "tensor/safetensors.h"

namespace lanner {

std::map<std::string, Tensor> load_tensors(const std::filesystem::path& path, const Limits& limits) {
  const auto account = std::make_shared<Account>(limits);
  const AccountScope charged(account);
  const DeadlineScope deadline(limits);
  const Safetensors file = Safetensors::open(open_path(path, limits), limits);
  std::map<std::string, Tensor> tensors;
  for (const SafetensorsEntry& entry : file.entries()) tensors[entry.name] = file.tensor(entry.name).clone();
  return tensors;
}

} // namespace lanner
