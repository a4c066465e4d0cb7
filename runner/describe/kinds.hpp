#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "registry/registry.hpp"
#include "registry/schema.hpp"

namespace runner {

// Where a recipe may hold components of a kind.
struct PartPlace {
  std::string path;      // "optimizer", "dataset.transform"
  bool in_list = false;  // written [[path]], several of them

  std::string header() const { return in_list ? "[[" + path + "]]" : "[" + path + "]"; }
};

std::vector<PartPlace> places_of_kind(const Schema& recipe, const Registry& registry, std::string_view kind);

const KindInfo* find_kind(const Registry& registry, std::string_view name);
std::vector<std::string> kind_names(const Registry& registry);

}  // namespace runner
