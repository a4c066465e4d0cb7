#pragma once

namespace runner {

// From now on what LibTorch warns of on this thread is logged as every other warning is: it may quote a file,
// or come from the code of a TorchScript module.
void log_torch_warnings();

}  // namespace runner
