#include "registry/build_scope.hpp"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "registry/base/wording.hpp"

namespace runner {

namespace {

thread_local const BuildScope* innermost = nullptr;

// exit() does not unwind the stack, so the scope still exists.
void name_the_culprit() {
  if (innermost) {
    std::fprintf(stderr, "runner: error: %s ended the program while it was being built: it called exit()\n",
                 innermost->component().c_str());
  }
}

}  // namespace

BuildScope::BuildScope(std::string_view kind, std::string_view name)
    : component_(std::string(kind) + " " + in_quotes(name)), outer_(innermost) {
  [[maybe_unused]] static const int registered = std::atexit(&name_the_culprit);
  innermost = this;
}

BuildScope::~BuildScope() { innermost = outer_; }

RecipeError BuildScope::failure(const Origin& origin, const std::string& reason) const {
  return {origin, component_ + " could not be built: " + reason};
}

std::string thrown_type() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (!type) return "something";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), &std::free);
  return "an exception of type " + std::string(status == 0 ? name.get() : type->name());
}

}  // namespace runner
