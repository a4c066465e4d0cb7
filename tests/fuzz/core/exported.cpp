// Files written by torch.export, whole or only the JSON of a program (which begins with a brace): never a
// crash, never more memory than the file accounts for, and a decent message. Nothing is run.
#include <torch/nn/module.h>

#include <cstdint>
#include <fstream>
#include <memory>

#include "components/models/exported/archive.hpp"
#include "components/models/exported/code.hpp"
#include "components/models/exported/evaluation.hpp"
#include "components/models/exported/held_tensors.hpp"
#include "registry/files/io_error.hpp"
#include "tests/fuzz/core/message.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {

using namespace runner::exported;

void compile_all(const Program& program) {
  for (std::size_t output = 0; output < program.outputs.size() && output < 3; ++output)
    compile(std::make_shared<const Program>(program), output);
}

void read_json(std::string_view json) {
  const Program program = read_program(json);
  exported_for_evaluation(program);
  compile_all(program);
  compile_all(for_evaluation(program));
}

void read_file(const std::filesystem::path& path, std::size_t size) {
  const Archive archive(path);
  for (const std::string& name : archive.programs()) {
    const Program program = read_program(archive.program(name));
    HeldTensors tensors(archive);
    for (const torch::Tensor& tensor : tensors.of(program, name))
      if (tensor.nbytes() > (1 << 20) && tensor.nbytes() > 4 * size) std::abort();
    torch::nn::Module module;
    tensors.register_in(module, program, std::vector<bool>(program.held.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const runner::testing::TemporaryFolder folder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    if (text.starts_with('{')) {
      read_json(text);
    } else {
      const auto path = folder / "fuzz.pt2";
      std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(size));
      read_file(path, size);
    }
  } catch (const Refusal& refusal) {
    require_decent(refusal.what());
  } catch (const runner::IoError& error) {
    require_decent(error.what());
  }
  return 0;
}
