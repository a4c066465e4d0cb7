# What a plugin or another program may include: installed below include/runner/, each complete in itself
# (tests/cli/public_headers_test.py compiles each alone). Everything else is ours to change.

set(registry_headers
  registry/build_scope.hpp registry/base/byte_size.hpp registry/codec.hpp registry/component.hpp registry/conform.hpp registry/diagnostics.hpp
  registry/base/duration.hpp registry/field.hpp registry/base/log.hpp registry/make_part.hpp registry/base/number_text.hpp registry/origin.hpp
  registry/recipe_error.hpp registry/registry.hpp registry/base/utf8.hpp registry/rules.hpp registry/schema.hpp registry/part_settings.hpp
  registry/value.hpp)

# The contract of a kind is components/<kind>s/<kind>.hpp, and what it is written with stands in contract/.
file(GLOB component_headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
     "${PROJECT_SOURCE_DIR}/components/contract/*.hpp")
list(APPEND component_headers
  components/adapters/adapter.hpp components/layers/linear.hpp
  components/datasets/dataset.hpp components/hooks/hook.hpp components/losses/loss.hpp
  components/metrics/metric.hpp components/models/model.hpp components/optimizers/optimizer.hpp
  components/precisions/precision.hpp components/schedulers/scheduler.hpp components/tokenizers/tokenizer.hpp
  components/trackers/tracker.hpp components/transforms/transform.hpp components/layers/kv_cache.hpp
  components/models/language_model.hpp components/transforms/image.hpp)

# Options and ranks, which both ways to train share. The engine itself is ours to change.
set(engine_headers
  runner/engine/distributed_options.hpp runner/engine/options.hpp runner/engine/world.hpp)

# A recipe written in C++, trained as the program does it.
set(runner_headers
  runner/recipe/objective.hpp runner/recipe/recipe.hpp runner/toml/load.hpp runner/toml/write.hpp runner/resolve/resolve.hpp
  runner/checkpoint/checkpoint_section.hpp runner/resolve/recipe_changes.hpp
  runner/train/train_recipe.hpp runner/runs/run_result.hpp)

# Plugins: what is compiled into one, and how a program loads one.
list(APPEND runner_headers
  runner/plugins/stamp.hpp runner/plugins/load_plugin.hpp runner/plugins/plugin_error.hpp)

# Your own training loop.
list(APPEND runner_headers
  runner/accelerator/accelerator.hpp runner/accelerator/batch_members.hpp runner/accelerator/batch_size.hpp
  runner/accelerator/batch_sources.hpp runner/accelerator/big_models.hpp runner/accelerator/launch.hpp
  runner/accelerator/objects.hpp runner/accelerator/prepared_loader.hpp runner/accelerator/prepared_optimizer.hpp)
