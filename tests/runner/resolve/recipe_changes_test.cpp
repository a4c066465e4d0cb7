#include "runner/resolve/recipe_changes.hpp"

#include <catch2/catch_all.hpp>

#include <algorithm>

#include "components/trackers/tracker.hpp"
#include "runner/resolve/resolve.hpp"
#include "tests/support/recipes.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Vault {
  std::string token;
  std::vector<std::string> servers;
};
constexpr auto describe(std::type_identity<Vault>) {
  return fields(field("token", &Vault::token, "Opens it.", secret()),
                field("servers", &Vault::servers, "Where it is."));
}
std::unique_ptr<Tracker> build(const Vault&, const TrackerInputs&) { throw std::runtime_error("closed"); }
const Registration<TrackerKind> vault{"vault_in_tests", "Has a secret.", &build};

constexpr const char* recipe = R"(
[model]
name = "mlp"
[dataset]
name = "idx"
dir = "/data/digits"
[optimizer]
name = "adam"
[train]
epochs = 2
)";

Registry& registry() {
  static Registry all = Registry::of_linked();
  return all;
}

Value resolved(const Recipes& files, const std::vector<std::string>& overrides = {}) {
  Diagnostics found;
  auto value = resolve_recipe({files.folder / "main.toml", {}, overrides}, registry(), found);
  INFO(render(found));
  REQUIRE(value);
  return std::move(*value);
}

// What one override means for a run of the recipe above.
OnResume effect_of(const std::string& override_) {
  const Recipes files(recipe);
  const auto changes =
      recipe_changes(resolved(files), resolved(files, {override_}), recipe_schema(), registry());
  CAPTURE(override_, changes_table(changes));
  REQUIRE(changes.size() == 1);
  return changes.front().effect;
}

// Every field without a mark, neither its own nor one of the section around it. What a component declares has
// the mark of its kind.
void find_unmarked(const Schema& schema, const std::string& path, std::vector<std::string>& unmarked) {
  for (const FieldInfo& field : schema.fields) {
    if (field.rules.on_resume != OnResume::unmarked) continue;
    const std::string key = path + std::string(field.name);
    const TypeInfo& type = field.type.element ? *field.type.element : field.type;
    if (type.kind == TypeInfo::Kind::table) {
      find_unmarked(type.schema(), key + ".", unmarked);
    } else if (type.kind != TypeInfo::Kind::part) {
      unmarked.push_back(key);
    }
  }
}

}  // namespace

TEST_CASE("recipe changes: every field says what another value means for a run that is resumed",
          "[checkpoint]") {
  std::vector<std::string> unmarked;
  find_unmarked(recipe_schema(), "", unmarked);
  CHECK(unmarked == std::vector<std::string>{});
  for (const KindInfo* kind : registry().kinds()) {
    CAPTURE(kind->name);
    CHECK(kind->on_resume.part != OnResume::unmarked);
    CHECK(kind->on_resume.parameters != OnResume::unmarked);
  }
}

TEST_CASE("recipe changes: each key is judged by its mark", "[checkpoint]") {
  CHECK(effect_of("train.epochs=3") == OnResume::harmless);
  CHECK(effect_of("train.log_every=7step") == OnResume::harmless);
  CHECK(effect_of("tracker=[csv]") == OnResume::harmless);
  CHECK(effect_of("distributed.timeout=20min") == OnResume::harmless);
  CHECK(effect_of("sweep.over=[\"run.seed=range(0, 3)\"]") == OnResume::harmless);
  CHECK(effect_of("distributed.batch=global") == OnResume::course);
  CHECK(effect_of("optimizer.lr=0.5") == OnResume::course);
  CHECK(effect_of("dataset.train_limit=100") == OnResume::course);
  CHECK(effect_of("model.dropout=0.1") == OnResume::course);
  CHECK(effect_of("model.hidden=[8]") == OnResume::fixed);
  CHECK(effect_of("optimizer.amsgrad=true") == OnResume::fixed);
  CHECK(effect_of("optimizer=sgd") == OnResume::fixed);
}

TEST_CASE("recipe changes: other data may change the results", "[checkpoint]") {
  CHECK(effect_of("dataset.dir=/other/digits") == OnResume::course);
  CHECK(effect_of("model.weights=/other/weights.safetensors") == OnResume::harmless);  // of the first start
}

TEST_CASE("recipe changes: another length is harmless unless the schedule depends on it", "[checkpoint]") {
  const auto effect_with = [](const std::string& scheduler, const std::string& change) {
    Recipes files(recipe + ("[scheduler]\n" + scheduler));
    files.write("saved.toml", recipe + ("[scheduler]\n" + scheduler));
    const auto changes = changes_since(files.folder / "saved.toml", resolved(files, {change}), registry());
    CAPTURE(scheduler, changes_table(changes));
    REQUIRE(changes.size() == 1);
    return changes.front().effect;
  };
  for (const char* change : {"train.epochs=3", "train.max_steps=9"}) {
    CHECK(effect_with("name = \"cosine\"\n", change) == OnResume::course);
    CHECK(effect_with("name = \"constant\"\n", change) == OnResume::harmless);
    CHECK(effect_with("name = \"cosine\"\nlength = \"2ep\"\n", change) == OnResume::harmless);
  }
  CHECK(effect_with("name = \"cosine\"\n", "train.max_time=9h") == OnResume::harmless);
}

namespace {

// What one override means for a run whose recipe has these sections too.
OnResume effect_since(const std::string& sections, const std::string& change) {
  Recipes files(recipe + sections);
  files.write("saved.toml", recipe + sections);
  const auto changes = changes_since(files.folder / "saved.toml", resolved(files, {change}), registry());
  CAPTURE(sections, changes_table(changes));
  REQUIRE(changes.size() == 1);
  return changes.front().effect;
}

}  // namespace

TEST_CASE("recipe changes: a longer run is another one if something decides by the evaluation at its end",
          "[checkpoint]") {
  const auto effect = [](const std::string& every, const std::string& change) {
    return effect_since("[scheduler]\nname = \"plateau\"\n[eval]\nevery = \"" + every + "\"\n", change);
  };
  CHECK(effect("1ep", "train.epochs=9") == OnResume::harmless);
  CHECK(effect("7step", "train.epochs=9") == OnResume::course);
  CHECK(effect("0.7ep", "train.epochs=9") == OnResume::course);
  CHECK(effect("0.1ep", "train.epochs=9") == OnResume::harmless);  // in spite of rounding
  CHECK(effect_since("[eval]\nevery = \"7step\"\n", "train.epochs=9") == OnResume::harmless);
  const std::string plateau = "[scheduler]\nname = \"plateau\"\n";  // after 15 steps, or in a whole epoch
  CHECK(effect_since("max_steps = 15\n" + plateau, "train.epochs=9") == OnResume::course);
}

TEST_CASE("recipe changes: a run with a time limit may end between two evaluations", "[checkpoint]") {
  const std::string plateau = "[scheduler]\nname = \"plateau\"\n";
  const auto effect = [&](const std::string& every) {
    Recipes files("[model]\nname = \"mlp\"\n[dataset]\nname = \"idx\"\ndir = \"/data\"\n" +
                  ("[optimizer]\nname = \"adam\"\n[train]\nmax_time = \"1h\"\n" + plateau) +
                  "[eval]\nevery = \"" + every + "\"\n");
    std::filesystem::copy_file(files.folder / "main.toml", files.folder / "saved.toml");
    const auto changes =
        changes_since(files.folder / "saved.toml", resolved(files, {"train.max_time=2h"}), registry());
    REQUIRE(changes.size() == 1);
    return changes.front().effect;
  };
  CHECK(effect("1ep") == OnResume::course);
  CHECK(effect("7step") == OnResume::course);
}

TEST_CASE("recipe changes: other evaluations are harmless unless something decides by them", "[checkpoint]") {
  const char* change = "eval.every=3step";
  CHECK(effect_since("", change) == OnResume::harmless);
  CHECK(effect_since("[scheduler]\nname = \"plateau\"\n", change) == OnResume::course);
  CHECK(effect_since("[checkpoint]\nbest = { metric = \"eval/loss\" }\n", change) == OnResume::course);
  CHECK(effect_since("[[hook]]\nname = \"early_stop\"\nmetric = \"eval/loss\"\n", change) ==
        OnResume::course);
  CHECK(effect_since("[[hook]]\nname = \"histograms\"\n", change) == OnResume::harmless);

  const std::string best = "[checkpoint]\nbest = { metric = \"eval/loss\" }\n";
  Recipes files(recipe + best);
  files.write("saved.toml", recipe + best);
  const Value now = resolved(files, {change, "~checkpoint.best"});  // something has decided by them so far
  const auto changes = changes_since(files.folder / "saved.toml", now, registry());
  const auto every = std::ranges::find(changes, "eval.every", &RecipeChange::key);
  REQUIRE(every != changes.end());
  CHECK(every->effect == OnResume::course);
}

TEST_CASE("recipe changes: another way to measure matters to whatever decides by the evaluations",
          "[checkpoint]") {
  const std::string metrics = "[eval]\nmetric = [\"loss\", \"expected_calibration_error\"]\n";
  const std::string best = "[checkpoint]\nbest = { metric = \"eval/expected_calibration_error\" }\n";
  CHECK(effect_since(metrics, "eval.metric.1.bins=7") == OnResume::harmless);
  CHECK(effect_since(metrics + best, "eval.metric.1.bins=7") == OnResume::course);
  CHECK(effect_since(metrics + best, "eval.metric+=accuracy") == OnResume::harmless);
}

TEST_CASE("recipe changes: another precision is possible unless the state of one is missing",
          "[checkpoint]") {
  CHECK(effect_since("", "precision=bf16") == OnResume::course);
  CHECK(effect_since("", "precision=fp16") == OnResume::fixed);  // has a loss scale
  CHECK(effect_since("[precision]\nname = \"fp16\"\n", "precision=fp8") == OnResume::fixed);
  CHECK(effect_since("[precision]\nname = \"fp8\"\n", "precision=fp32") == OnResume::fixed);
  CHECK(effect_since("[precision]\nname = \"fp16\"\n", "precision.growth_interval=7") == OnResume::course);
}

TEST_CASE("recipe changes: another length matters to whatever counts in shares of the run", "[checkpoint]") {
  const char* change = GENERATE("train.epochs=3", "train.max_steps=9", "train.max_time=9h");
  CAPTURE(change);
  CHECK(effect_since("[[hook]]\nname = \"swa\"\n", change) == OnResume::course);  // from = "0.75run"
  CHECK(effect_since("[[hook]]\nname = \"swa\"\nfrom = \"1ep\"\n", change) == OnResume::harmless);
  const std::string evaluations = "[eval]\nevery = \"0.1run\"\n";
  CHECK(effect_since(evaluations, change) == OnResume::harmless);
  CHECK(effect_since(evaluations + "[checkpoint]\nbest = { metric = \"eval/loss\" }\n", change) ==
        OnResume::course);
}

TEST_CASE("recipe changes: a component that cannot load the saved state is impossible", "[checkpoint]") {
  CHECK(effect_since("[scheduler]\nname = \"cosine\"\n", "scheduler=linear") == OnResume::course);
  CHECK(effect_since("[scheduler]\nname = \"cosine\"\n", "scheduler=plateau") == OnResume::fixed);
  CHECK(effect_since("[scheduler]\nname = \"plateau\"\n", "scheduler.factor=0.5") == OnResume::course);
  CHECK(effect_since("", "optimizer.weight_decay=0.01") == OnResume::course);

  const std::string early_stop = "[[hook]]\nname = \"early_stop\"\nmetric = \"eval/loss\"\n";
  CHECK(effect_since("", "hook+={name=\"early_stop\", metric=\"eval/loss\"}") == OnResume::fixed);
  CHECK(effect_since(early_stop, "hook=[]") == OnResume::fixed);
  CHECK(effect_since(early_stop, "hook+={name=\"freeze\", match=[\"*\"]}") == OnResume::course);
  CHECK(effect_since(early_stop, "hook+={name=\"time_limit\", limit=\"1h\"}") == OnResume::harmless);
  CHECK(effect_since(early_stop,
                     "hook=[{name=\"time_limit\", limit=\"1h\"},"
                     "{name=\"early_stop\", metric=\"eval/loss\"}]") == OnResume::fixed);  // moved
  CHECK(effect_since("[[hook]]\nname = \"time_limit\"\nlimit = \"1h\"\n", "hook=[]") == OnResume::harmless);
  CHECK(effect_since("[[hook]]\nname = \"time_limit\"\nlimit = \"1h\"\n", "hook.0.limit=2h") ==
        OnResume::harmless);
}

TEST_CASE("recipe changes: momentum that begins or ends is impossible, another one is not", "[checkpoint]") {
  const auto effect = [](const std::string& before, const std::string& now) {
    const std::string sgd =
        "[model]\nname = \"mlp\"\n[dataset]\nname = \"idx\"\ndir = \"/data\"\n"
        "[train]\nepochs = 2\n[optimizer]\nname = \"sgd\"\nmomentum = ";
    Recipes files(sgd + now + "\n");
    files.write("saved.toml", sgd + before + "\n");
    const auto changes = changes_since(files.folder / "saved.toml", resolved(files), registry());
    REQUIRE(changes.size() == 1);
    return changes.front().effect;
  };
  CHECK(effect("0.9", "0.8") == OnResume::course);
  CHECK(effect("0.0", "0.9") == OnResume::fixed);
  CHECK(effect("0.9", "0.0") == OnResume::fixed);
}

TEST_CASE("recipe changes: a saved recipe that cannot be read is a change, not none", "[checkpoint]") {
  Recipes files(recipe);
  files.write("saved.toml", std::string(recipe) + "removed_since = 1\n");
  const auto changes = changes_since(files.folder / "saved.toml", resolved(files), registry());
  REQUIRE(changes.size() == 1);
  CHECK(changes.front().effect == OnResume::course);
  CHECK_THAT(changes_table(changes), ContainsSubstring("saved.toml") && ContainsSubstring("removed_since") &&
                                         ContainsSubstring("changes the results"));
  CHECK(changes_since(files.folder / "missing.toml", resolved(files), registry()).size() == 1);
}

TEST_CASE("recipe changes: a saved recipe that lacks required keys is compared, too", "[checkpoint]") {
  Recipes files(std::string(recipe) + "[[hook]]\nname = \"time_limit\"\nlimit = \"1h\"\n" +
                "[checkpoint]\nbest = { metric = \"eval/loss\" }\n");
  files.write("damaged.toml", "[train]\nepochs = 2\n");
  const auto all = changes_since(files.folder / "damaged.toml", resolved(files), registry());
  for (const char* key : {"model", "dataset", "optimizer", "hook"})
    CHECK(std::ranges::find(all, key, &RecipeChange::key) != all.end());

  files.write("older.toml", std::string(recipe) +
                                "[[hook]]\nname = \"time_limit\"\n[checkpoint]\nbest = {}\n" +
                                "[eval]\nevery = \"3step\"\n");
  const auto some = changes_since(files.folder / "older.toml", resolved(files), registry());
  CAPTURE(changes_table(some));
  REQUIRE(some.size() == 3);
  CHECK(some[0].key == "eval.every");
  CHECK(some[0].effect == OnResume::course);  // what is judged by the other sections still is
  CHECK(some[1].key == "checkpoint.best.metric");
  CHECK(some[2].key == "hook.0.limit");
  CHECK(some[2].before == "\"???\"");

  // What a hook with a blank decided is unknown.
  files.write("blank_hook.toml", std::string(recipe) + "[[hook]]\nname = \"early_stop\"\n");
  const auto hooks = changes_since(files.folder / "blank_hook.toml", resolved(files), registry());
  CAPTURE(changes_table(hooks));
  const auto replaced = std::ranges::find(hooks, "hook.0", &RecipeChange::key);
  REQUIRE(replaced != hooks.end());
  CHECK(replaced->effect == OnResume::course);
}

TEST_CASE("recipe changes: the table shows key, values and effect", "[checkpoint]") {
  const Recipes files(recipe);
  const auto table = changes_table(recipe_changes(resolved(files),
                                                  resolved(files, {"optimizer.lr=0.5", "train.max_steps=9"}),
                                                  recipe_schema(), registry()));
  CHECK_THAT(table, ContainsSubstring("optimizer.lr") && ContainsSubstring("0.001 -> 0.5") &&
                        ContainsSubstring("changes the results"));
  CHECK_THAT(table, ContainsSubstring("train.max_steps") && ContainsSubstring("(not set) -> 9") &&
                        ContainsSubstring("harmless"));
}

TEST_CASE("recipe changes: a secret inside a component is not shown", "[checkpoint]") {
  const Recipes files(recipe);
  const Value now = resolved(files, {R"(tracker+={name="vault_in_tests", token="open sesame"})"});
  const auto table = changes_table(recipe_changes(resolved(files), now, recipe_schema(), registry()));
  CHECK_THAT(table, ContainsSubstring("vault_in_tests") && !ContainsSubstring("sesame"));
}

TEST_CASE("recipe changes: neither another secret is shown, nor a password in a list", "[checkpoint]") {
  const Recipes files(recipe);
  const auto with = [&](const std::string& settings) {
    return resolved(files, {R"(tracker+={name="vault_in_tests", )" + settings + "}"});
  };
  CHECK(recipe_changes(with(R"(token="open sesame")"), with(R"(token="sesame")"), recipe_schema(), registry())
            .empty());
  const Value now = with(R"(servers=["http://me:sesame@host", "http://other"])");
  const auto table = changes_table(recipe_changes(resolved(files), now, recipe_schema(), registry()));
  CHECK_THAT(table, ContainsSubstring("vault_in_tests") && !ContainsSubstring("sesame"));
}
