// Run by ctest: tells the hook about two evaluations.
#include <iostream>

#include "components/hooks/hook.hpp"
#include "registry/make_part.hpp"

int main() {
  using namespace runner;
  const Registry registry = Registry::of_linked();
  const auto hook = make_part<HookKind>(registry, "my_hook", {{"below", 0.5}}).build({});
  Requests requests;
  hook->after_eval({}, {{"eval/loss", 0.6}}, requests);
  if (requests.stop_reason()) {
    std::cerr << "it stopped too early: " << *requests.stop_reason() << "\n";
    return 1;
  }
  hook->after_eval({}, {{"eval/loss", 0.4}}, requests);
  if (!requests.stop_reason()) {
    std::cerr << "it did not stop\n";
    return 1;
  }
}
