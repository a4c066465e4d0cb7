#include "components/datasets/dataset.hpp"

namespace runner {

Batch Split::allocate(std::int64_t examples, torch::MemoryFormat format) const {
  const DataSpec data = spec();
  const auto tensor = [examples](std::vector<std::int64_t> shape, torch::Dtype type,
                                 torch::MemoryFormat layout) {
    shape.insert(shape.begin(), examples);
    if (shape.size() != 4) layout = torch::MemoryFormat::Contiguous;  // only images have other layouts
    return torch::empty(shape, torch::TensorOptions(type).memory_format(layout));
  };
  Batch batch{tensor(data.input_shape, data.input_type, format),
              tensor(data.target_shape, data.target_type, torch::MemoryFormat::Contiguous)};
  if (!data.categories.empty()) {
    const auto columns = static_cast<std::int64_t>(data.categories.size());
    batch.extra["categories"] = torch::empty({examples, columns}, torch::kInt64);
  }
  return batch;
}

Batch Interpreter::read(std::span<const std::string>) const {
  throw DataError("this dataset cannot read single inputs, so its models cannot be used for predictions");
}
std::optional<std::vector<std::string>> Interpreter::inputs_in(const std::filesystem::path&) const {
  return std::nullopt;
}
std::vector<std::int64_t> Interpreter::tokens(std::string_view) const {
  throw DataError("this dataset contains no text");
}
std::string Interpreter::text(std::span<const std::int64_t>) const {
  throw DataError("this dataset contains no text");
}

std::vector<std::int64_t> Interpreter::chat(std::string_view) const {
  throw DataError("this dataset has no chat template");
}

std::unique_ptr<Interpreter> Dataset::interpreter(const TransformPipeline&, const std::string&) const {
  return std::make_unique<Interpreter>();
}

void check(const DatasetCommon& common, Report& report) {
  if (common.example_seed && !common.validation && !common.train_limit && !common.eval_limit)
    report.error("example_seed", "has no effect without validation, train_limit or eval_limit");
}

}  // namespace runner
