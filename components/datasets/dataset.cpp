#include "components/datasets/dataset.hpp"

namespace runner {

Batch Split::allocate(std::int64_t examples, torch::MemoryFormat format) const {
  const DataSpec data = spec();
  const auto tensor = [examples](std::vector<std::int64_t> shape, torch::Dtype type,
                                 torch::MemoryFormat layout) {
    shape.insert(shape.begin(), examples);
    if (shape.size() != 4) layout = torch::MemoryFormat::Contiguous;  // only images have another one
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
  throw DataError("this dataset's examples cannot be given one by one, so there is nothing to predict from");
}
std::vector<std::int64_t> Interpreter::tokens(std::string_view) const {
  throw DataError("this dataset is not made of text");
}
std::string Interpreter::text(std::span<const std::int64_t>) const {
  throw DataError("this dataset is not made of text");
}

std::unique_ptr<Interpreter> Dataset::interpreter(const TransformPipeline&, const std::string&) const {
  return std::make_unique<Interpreter>();
}

namespace {

class FirstOf final : public Split {
 public:
  FirstOf(std::unique_ptr<Split> all, std::int64_t size) : all_(std::move(all)), size_(size) {}

  std::int64_t size() const override { return size_; }
  DataSpec spec() const override { return all_->spec(); }
  SplitDetails details() const override { return all_->details(); }
  Batch allocate(std::int64_t examples, torch::MemoryFormat format) const override {
    return all_->allocate(examples, format);
  }
  void read(std::span<const SampleRef> samples, Batch& batch, std::int64_t first) const override {
    all_->read(samples, batch, first);
  }
  void finish(Batch& batch, std::uint64_t seed) const override { all_->finish(batch, seed); }

 private:
  std::unique_ptr<Split> all_;
  std::int64_t size_;
};

}  // namespace

std::unique_ptr<Split> limited(std::unique_ptr<Split> split, std::optional<std::int64_t> most) {
  if (!most || *most >= split->size()) return split;
  return std::make_unique<FirstOf>(std::move(split), *most);
}

}  // namespace runner
