// Registers CUDA graphs for LibTorch's device-independent interface, until LibTorch does so itself. Compiled
// and linked by scripts/check_cuda.sh, but never run on a GPU.
#include <ATen/core/GraphImplInterface.h>
#include <ATen/cuda/CUDAGraph.h>

namespace {

class CudaGraph final : public at::GraphImplInterface {
 public:
  explicit CudaGraph(const at::GraphImplArgs& arguments) : graph_(arguments.keep_graph) {}

  void capture_begin(at::MempoolId_t pool, at::GraphCaptureMode mode) override {
    graph_.capture_begin(pool, mode_of(mode));
  }
  void capture_end() override { graph_.capture_end(); }
  void instantiate() override { graph_.instantiate(); }
  void replay() override { graph_.replay(); }
  void reset() override { graph_.reset(); }
  at::MempoolId_t pool() const override { return graph_.pool(); }
  void enable_debug_mode() override { graph_.enable_debug_mode(); }
  void debug_dump(const std::string&) override {}  // not in every version of LibTorch; not needed here

 private:
  static cudaStreamCaptureMode mode_of(at::GraphCaptureMode mode) {
    switch (mode) {
      case at::GraphCaptureMode::ThreadLocal: return cudaStreamCaptureModeThreadLocal;
      case at::GraphCaptureMode::Relaxed: return cudaStreamCaptureModeRelaxed;
      default: return cudaStreamCaptureModeGlobal;
    }
  }

  mutable at::cuda::CUDAGraph graph_;  // its pool() is not const
};

[[maybe_unused]] const bool registered = [] {
  if (!at::has_graph_impl(c10::kCUDA))
    at::GraphImplRegistry()->Register("CUDA", [](const at::GraphImplArgs& arguments) {
      return std::unique_ptr<at::GraphImplInterface>(new CudaGraph(arguments));
    });
  return true;
}();

}  // namespace
