// Compiled into every plugin by runner_add_plugin(): what it was built with, to be read without running it.
#include "runner/plugins/stamp.hpp"

namespace {

[[gnu::used, gnu::section("runner_plugin")]] constinit const runner::PluginStamp stamp = runner::own_stamp();

}  // namespace
