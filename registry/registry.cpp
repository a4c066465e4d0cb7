#include "registry/registry.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace runner {

namespace {

constinit const Descriptor* first_linked = nullptr;

auto order(const Descriptor* descriptor) { return std::tuple(descriptor->kind->name, descriptor->name); }

std::string text_of(const std::source_location& where) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line());
}

}  // namespace

void link(Descriptor& descriptor) {
  descriptor.next = first_linked;
  first_linked = &descriptor;
}

Schema Descriptor::schema() const {
  Schema merged = own_schema();
  for (const FieldInfo& field : kind->common().fields) merged.fields.push_back(field);
  return merged;
}

Registry Registry::of_linked() {
  std::vector<const Descriptor*> all;
  for (const Descriptor* descriptor = first_linked; descriptor; descriptor = descriptor->next)
    all.push_back(descriptor);
  return Registry(std::move(all));
}

Registry::Registry(std::vector<const Descriptor*> descriptors) : descriptors_(std::move(descriptors)) {
  std::ranges::stable_sort(descriptors_, {}, order);
  for (std::size_t i = 1; i < descriptors_.size(); ++i) {
    const Descriptor &a = *descriptors_[i - 1], &b = *descriptors_[i];
    if (order(&a) != order(&b)) continue;
    conflicts_.push_back("the " + std::string(a.kind->name) + " \"" + std::string(a.name) +
                         "\" is registered twice: " + text_of(a.where) + " and " + text_of(b.where));
  }
  for (const Descriptor* descriptor : descriptors_) {
    for (const FieldInfo& field : descriptor->own_schema().fields) {
      if (field.name != "name" && !descriptor->kind->common().find(field.name)) continue;
      conflicts_.push_back("the " + std::string(descriptor->kind->name) + " \"" +
                           std::string(descriptor->name) + "\" has a parameter \"" + std::string(field.name) +
                           "\" that every component of its kind has already: " + text_of(descriptor->where));
    }
  }
}

const Descriptor* Registry::find(std::string_view kind, std::string_view name) const {
  const auto wanted = std::tuple(kind, name);
  const auto found = std::ranges::lower_bound(descriptors_, wanted, {}, order);
  return found != descriptors_.end() && order(*found) == wanted ? *found : nullptr;
}

std::vector<const Descriptor*> Registry::of_kind(std::string_view kind) const {
  std::vector<const Descriptor*> matching;
  std::ranges::copy_if(descriptors_, std::back_inserter(matching),
                       [&](const Descriptor* descriptor) { return descriptor->kind->name == kind; });
  return matching;
}

std::vector<const KindInfo*> Registry::kinds() const {
  std::vector<const KindInfo*> kinds;
  for (const Descriptor* descriptor : descriptors_) {
    if (kinds.empty() || kinds.back()->name != descriptor->kind->name) kinds.push_back(descriptor->kind);
  }
  return kinds;
}

std::vector<std::string> Registry::names(std::string_view kind) const {
  std::vector<std::string> names;
  for (const Descriptor* descriptor : of_kind(kind)) names.emplace_back(descriptor->name);
  return names;
}

const Descriptor& find_component(const Registry& registry, std::string_view kind, std::string_view name) {
  if (const Descriptor* found = registry.find(kind, name)) return *found;
  throw std::logic_error("decoding a recipe that was not conformed: no " + std::string(kind) + " \"" +
                         std::string(name) + "\"");
}

}  // namespace runner
