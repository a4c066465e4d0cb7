// A component as a recipe gives it, from everything that is linked into the test.
//   part<OptimizerKind>("sgd", {{"lr", 0.1}, {"betas", Setting::list({0.9, 0.99})}}).build(inputs)
#pragma once

#include "registry/make_part.hpp"

namespace runner::testing {

using Setting = PartSetting;
using Settings = PartSettings;

template <Kind K>
Part<K> part(std::string name, const Settings& settings = {}) {
  static const Registry registry = Registry::of_linked();
  return make_part<K>(registry, std::move(name), settings);
}

}  // namespace runner::testing
