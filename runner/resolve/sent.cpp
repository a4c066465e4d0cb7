#include "runner/resolve/sent.hpp"

#include <algorithm>

#include "components/trackers/http.hpp"
#include "components/trackers/tracker.hpp"
#include "registry/base/wording.hpp"
#include "registry/codec.hpp"

namespace runner {

namespace {

bool written_in_file(const Origin& origin) {
  return origin.source && origin.source->kind == Source::Kind::file;
}

// A tracker that sends what it gets to a server.
struct Sender {
  std::string name, path;  // "mlflow", "tracker.0"
  const Value* value;
  Destination destination;
};

std::vector<Sender> senders(const Value& resolved, const Registry& registry) {
  std::vector<Sender> found;
  const Value* trackers = resolved.as<Table>()->find("tracker");
  const Array* list = trackers ? trackers->as<Array>() : nullptr;
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const Value& value = (*list)[i];
    const auto part = Codec<Part<TrackerKind>>::decode(value, registry);
    const TrackerFacts facts = part.facts();
    if (facts.remote || !facts.destination.server.empty())
      found.push_back({part.name(), "tracker." + std::to_string(i), &value, facts.destination});
  }
  return found;
}

const Value* setting_of(const Sender& sender, const std::string& name) {
  return name.empty() ? nullptr : sender.value->as<Table>()->find(name);
}

// The setting that names the server, if nobody but the recipe does.
const Value* named_by_recipe(const Sender& sender, const Trusted& trusted) {
  const Value* setting = setting_of(sender, sender.destination.setting);
  const bool own = !setting || !written_in_file(setting->origin) || trusted.server(sender.destination.server);
  return own ? nullptr : setting;
}

// The setting that names a file to send, if nobody but the recipe does.
const Value* file_of_recipe(const Sender& sender, const Trusted& trusted) {
  const Value* setting = setting_of(sender, sender.destination.secret_file);
  const auto* path = setting ? setting->as<std::string>() : nullptr;
  return path && written_in_file(setting->origin) && !trusted.file(*path) ? setting : nullptr;
}

std::string shown_server(const std::string& address) {
  const std::string server = server_of(address);
  return escaped_name(server.empty() ? "a server whose address cannot be read" : server);
}

}  // namespace

void require_trust_in_servers(const Value& resolved, const std::vector<UsedVariable>& used,
                              const Trusted& trusted, const Registry& registry, Diagnostics& diagnostics) {
  constexpr const char* see = "docs/trackers.md";
  const std::vector<Sender> all = senders(resolved, registry);
  for (const Sender& sender : all) {
    const Destination& goal = sender.destination;
    const std::string server = shown_server(goal.server);
    if (const Value* file = file_of_recipe(sender, trusted)) {
      const std::string name = shown_message(*file->as<std::string>());
      diagnostics.error(file->origin,
                        "only the recipe says that the content of " + name + " is sent to " + server,
                        {"if that is right, say so once: runner trust file " + name,
                         "or name the file yourself: " + sender.path + "." + goal.secret_file + "=" + name},
                        see);
    }
    const Value* setting = named_by_recipe(sender, trusted);
    if (setting && (!goal.secrets.empty() || !goal.secret_file.empty())) {
      const std::string secrets =
          goal.secrets.empty() ? "the content of " + goal.secret_file : joined(goal.secrets, " and ");
      diagnostics.error(setting->origin,
                        secrets + " would be sent to " + server + ", a server that only the recipe names",
                        {"if you trust it, say so once: runner trust server " + server,
                         "or name it yourself: " + sender.path + "." + goal.setting + "=" + server},
                        see);
    }
  }
  if (all.empty()) return;
  std::vector<std::string> told;
  for (const auto& [name, origin] : used) {
    if (!written_in_file(origin) || trusted.variable(name) || std::ranges::find(told, name) != told.end())
      continue;
    told.push_back(name);
    diagnostics.error(origin,
                      "the environment variable " + escaped_name(name) + " would be sent to " +
                          shown_server(all.front().destination.server) +
                          ", as every setting of the recipe is; only the recipe asks for that",
                      {"if it may be sent, say so once: runner trust variable " + escaped_name(name),
                       "or set the value of this key on the command line"},
                      see);
  }
}

std::vector<std::string> what_is_sent(const Value& resolved, const Trusted& trusted,
                                      const Registry& registry) {
  std::vector<std::string> lines;
  for (const Sender& sender : senders(resolved, registry)) {
    const Destination& goal = sender.destination;
    const Value* setting = setting_of(sender, goal.setting);
    const Value* file = setting_of(sender, goal.secret_file);
    const auto* path = file ? file->as<std::string>() : nullptr;
    std::vector<std::string> secrets = goal.secrets;
    if (path) secrets.push_back("the content of " + escaped_name(*path));
    const std::string who = !setting                           ? "named by " + goal.named_by
                            : trusted.server(goal.server)      ? "which you trust"
                            : written_in_file(setting->origin) ? "named by the recipe"
                                                               : "named by " + to_string(setting->origin);
    lines.push_back(sender.name + ": " + (secrets.empty() ? "no secret" : joined(secrets, " and ")) +
                    (secrets.size() > 1 ? " go to " : " goes to ") + shown_server(goal.server) + ", " + who);
  }
  return lines;
}

}  // namespace runner
