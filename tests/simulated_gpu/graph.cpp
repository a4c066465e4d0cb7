// Graphs: while one is captured, operators are kept, with the tensors they use; a replay carries them out
// again. Their results are thrown away at the end of the capture, because a GPU does not compute while it
// captures.
#include "graph.hpp"

#include <ATen/core/GraphImplInterface.h>

#include <string>
#include <vector>

#include "counts.hpp"

namespace simulated_gpu {

namespace {

class Graph;
Graph*& global_capture() {  // of the process: backward passes run on threads of their own
  static Graph* graph = nullptr;
  return graph;
}

class Graph final : public at::GraphImplInterface {
 public:
  void capture_begin(at::MempoolId_t pool, at::GraphCaptureMode) override {
    TORCH_CHECK(!global_capture(), "CUDA error: another graph is being captured");
    if (pool != at::MempoolId_t{}) pool_ = pool;
    global_capture() = this;
  }
  void capture_end() override { global_capture() = nullptr; }
  void instantiate() override {}
  void replay() override {
    for (const auto& work : work_) work();
  }
  void reset() override { work_.clear(); }
  at::MempoolId_t pool() const override { return pool_; }
  void enable_debug_mode() override {}
  void debug_dump(const std::string&) override {}

  void add(std::function<void()> work) { work_.push_back(std::move(work)); }

 private:
  static at::MempoolId_t next_pool() {
    static c10::CaptureId_t last = 0;
    return {++last, 0};
  }
  at::MempoolId_t pool_ = next_pool();
  std::vector<std::function<void()>> work_;
};

[[maybe_unused]] const bool registered = [] {
  at::GraphImplRegistry()->Register(
      "CUDA", [](const at::GraphImplArgs&) { return std::unique_ptr<at::GraphImplInterface>(new Graph); });
  return true;
}();

}  // namespace

bool is_capturing() { return global_capture() != nullptr; }

void refuse_while_capturing(const char* what) {
  if (is_capturing())
    fault("CUDA error: operation not permitted when stream is capturing: " + std::string(what));
}

void add_to_graph(std::function<void()> work) {
  if (Graph* const graph = global_capture()) graph->add(std::move(work));
}

}  // namespace simulated_gpu
