#include "components/torch/finite.hpp"

#include <torch/utils.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace runner {

std::vector<bool> each_finite(const std::vector<torch::Tensor>& tensors) {
  const torch::NoGradGuard no_grad;
  std::vector<bool> finite(tensors.size(), true);
  std::map<std::string, std::pair<std::vector<std::size_t>, std::vector<torch::Tensor>>> by_device;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].defined() || !tensors[i].is_floating_point() || tensors[i].is_meta()) continue;
    auto& [places, flags] = by_device[tensors[i].device().str()];
    places.push_back(i);
    flags.push_back(tensors[i].isfinite().all());
  }
  for (const auto& [device, found] : by_device) {
    const torch::Tensor flags = torch::stack(found.second).cpu();
    for (std::size_t i = 0; i < found.first.size(); ++i)
      finite[found.first[i]] = flags.const_data_ptr<bool>()[i];
  }
  return finite;
}

bool all_finite(const std::vector<torch::Tensor>& tensors) {
  return std::ranges::all_of(each_finite(tensors), std::identity());
}

}  // namespace runner
