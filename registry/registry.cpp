#include "registry/registry.hpp"

#include "registry/base/wording.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <tuple>

namespace runner {

namespace {

constinit const Descriptor* first_linked = nullptr;
constinit const Library* loading = nullptr;
constinit int registered_count = 0, refused_count = 0;

// "focal@2" is version 2 of "focal"; a component that was registered without a version is the first.
struct VersionedName {
  std::string_view base;
  int version = 1;
  bool valid = true;

  explicit VersionedName(std::string_view name) : base(name.substr(0, name.find('@'))) {
    if (base.size() == name.size()) return;
    const char* const end = name.data() + name.size();
    const auto [read, error] = std::from_chars(name.data() + base.size() + 1, end, version);
    valid = error == std::errc{} && read == end && version > 0 && !base.empty();
  }
};

auto order(const Descriptor* descriptor) {
  const VersionedName name(descriptor->name);
  return std::tuple(descriptor->kind->name, name.base, name.version);
}

std::string place_of(const Descriptor& descriptor) {
  const std::string line =
      std::string(descriptor.where.file_name()) + ":" + std::to_string(descriptor.where.line());
  return descriptor.library ? descriptor.library->path + " (" + line + ")" : line;
}

std::string title_of(const Descriptor& descriptor) {
  return "the " + std::string(descriptor.kind->name) + " " + in_quotes(descriptor.name);
}

void find_name_conflicts(const std::vector<const Descriptor*>& sorted, std::vector<std::string>& conflicts) {
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const Descriptor& own = *sorted[i];
    if (!VersionedName(own.name).valid) {
      conflicts.push_back(title_of(own) +
                          " has no version after its @, a whole number from 1 on: " + place_of(own));
    }
    if (i == 0) continue;
    const Descriptor& before = *sorted[i - 1];
    if (order(&before) == order(&own)) {
      conflicts.push_back(title_of(own) + " is registered twice: " + place_of(before) + " and " +
                          place_of(own));
    }
    if (before.kind->name == own.kind->name && !before.kind->same_layout(*own.kind)) {
      conflicts.push_back("the kind " + in_quotes(own.kind->name) +
                          " was compiled from different headers in " + place_of(before) + " and " +
                          place_of(own));
    }
  }
}

void find_hidden_parameters(const std::vector<const Descriptor*>& descriptors,
                            std::vector<std::string>& conflicts) {
  for (const Descriptor* descriptor : descriptors) {
    for (const FieldInfo& field : descriptor->own_schema().fields) {
      if (field.name != "name" && !descriptor->kind->common().find(field.name)) continue;
      conflicts.push_back(title_of(*descriptor) + " has a parameter " + in_quotes(field.name) +
                          " that every component of its kind has already: " + place_of(*descriptor));
    }
  }
}

}  // namespace

void link(Descriptor& descriptor) {
  if (descriptor.interface != interface_version || descriptor.size != sizeof(Descriptor)) {
    ++refused_count;
    return;
  }
  ++registered_count;
  descriptor.library = loading;
  descriptor.next = first_linked;
  first_linked = &descriptor;
}

Loading::Loading(const Library& library) {
  loading = &library;
  registered_count = refused_count = 0;
}
Loading::~Loading() { loading = nullptr; }
int Loading::registered() const { return registered_count; }
int Loading::refused() const { return refused_count; }

Schema Descriptor::schema() const {
  Schema merged = own_schema();
  for (const FieldInfo& field : kind->common().fields) merged.fields.push_back(field);
  return merged;
}

std::string pinned_name(const Descriptor& descriptor) {
  const VersionedName name(descriptor.name);
  if (name.base == descriptor.name && !descriptor.library) return std::string(name.base);
  return std::string(name.base) + "@" + std::to_string(name.version);
}

Registry Registry::of_linked() {
  std::vector<const Descriptor*> all;
  for (const Descriptor* descriptor = first_linked; descriptor; descriptor = descriptor->next)
    all.push_back(descriptor);
  return Registry(std::move(all));
}

Registry::Registry(std::vector<const Descriptor*> descriptors) : descriptors_(std::move(descriptors)) {
  std::ranges::stable_sort(descriptors_, {}, order);
  find_name_conflicts(descriptors_, conflicts_);
  find_hidden_parameters(descriptors_, conflicts_);
}

const Descriptor* Registry::find(std::string_view kind, std::string_view name) const {
  const VersionedName wanted(name);
  if (!wanted.valid) return nullptr;
  const auto versions = std::ranges::equal_range(
      descriptors_, std::tuple(kind, wanted.base), {},
      [](const Descriptor* each) { return std::tuple(each->kind->name, VersionedName(each->name).base); });
  if (versions.empty()) return nullptr;
  // A component registered under exactly this name comes first, whatever versions exist.
  if (const auto same = std::ranges::find(versions, name, &Descriptor::name); same != versions.end())
    return *same;
  if (wanted.base == name) return versions.back();
  const auto same = std::ranges::find(
      versions, wanted.version, [](const Descriptor* each) { return VersionedName(each->name).version; });
  return same == versions.end() ? nullptr : *same;
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
  std::vector<std::string> plain, versioned;
  for (const Descriptor* each : of_kind(kind)) {
    const VersionedName own(each->name);
    if (find(kind, own.base) == each)
      plain.emplace_back(own.base);
    else
      versioned.push_back(std::string(own.base) + "@" + std::to_string(own.version));
  }
  plain.insert(plain.end(), versioned.begin(), versioned.end());
  return plain;
}

std::vector<std::string> Registry::spellings(const Descriptor& descriptor) const {
  const std::string base(VersionedName(descriptor.name).base), pinned = pinned_name(descriptor);
  std::vector<std::string> all;
  if (find(descriptor.kind->name, base) == &descriptor) all.push_back(base);
  if (pinned != base) all.push_back(pinned);
  return all;
}

std::vector<const Library*> Registry::libraries() const {
  std::vector<const Library*> all;
  for (const Descriptor* descriptor : descriptors_) {
    const bool is_new = descriptor->library && std::ranges::find(all, descriptor->library) == all.end();
    if (is_new) all.push_back(descriptor->library);
  }
  std::ranges::sort(all, {}, &Library::path);
  return all;
}

const Descriptor& find_component(const Registry& registry, std::string_view kind, std::string_view name) {
  if (const Descriptor* found = registry.find(kind, name)) return *found;
  throw std::logic_error("decoding a recipe that was not conformed: no " + std::string(kind) + " " +
                         in_quotes(name));
}

const Descriptor& find_component(const Registry& registry, const KindInfo& kind, std::string_view name) {
  const Descriptor& found = find_component(registry, kind.name, name);
  if (found.kind->same_layout(kind)) return found;
  throw std::runtime_error(title_of(found) + " was compiled from other headers than its user: rebuild " +
                           place_of(found));
}

}  // namespace runner
