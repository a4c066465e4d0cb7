#pragma once

#include <c10/core/Device.h>
#include <c10/util/complex.h>
#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace runner::exported {

// A program of torch.export: a list of nodes, each a call of an operator, in the order in which they run.
// Every value has a number; a node only refers to values of nodes before it.

using ValueId = std::uint32_t;

struct Ref {
  ValueId value;
};
// An argument that is not a list. Types, memory formats and layouts are LibTorch's, not the file's numbers.
using Item = std::variant<std::monostate, Ref, std::int64_t, double, bool, std::string, torch::Dtype,
                          torch::MemoryFormat, torch::Layout, torch::Device, c10::complex<double>>;
using Items = std::vector<Item>;
struct SubGraph {
  std::size_t graph;  // position in Program::graphs
};

struct Argument {
  std::string name;  // may be empty
  std::variant<Item, Items, SubGraph> value;
};

// What a call returns at one position: nothing that is used, a value, or a list of values.
struct Returned {
  enum class As { tensor, tensors, number } as;
  std::vector<std::optional<ValueId>> values;
};

struct Node {
  std::string target;  // "torch.ops.aten.conv2d.default", "_operator.mul"
  std::vector<Argument> inputs;
  std::vector<Returned> outputs;
  std::string name, module, line;  // where it comes from: "layers.0.attention", "model.py, line 12: x = ..."
};

struct Graph {
  std::vector<ValueId> inputs;  // of a graph within a graph, in the order in which it is called
  std::vector<Item> outputs;
  std::vector<Node> nodes;
};

struct Dimension {
  std::int64_t size = -1;  // -1: may vary
  std::string symbol = {};
  std::int64_t low = 0, high = -1;  // the range of a size that varies; -1: no limit
};
struct TensorForm {
  torch::Dtype type = torch::kFloat32;
  std::vector<Dimension> shape;
};
std::string form_text(const TensorForm& form);  // "Float [batch, 3, 32, 32]"

struct ProgramInput {
  enum class Kind { parameter, buffer, constant, user } kind;
  std::string name;  // Python's: "layers.0.weight"; of a user input the argument of forward
  ValueId value;
  bool persistent = true;  // of a buffer: Python's state_dict has it
};
struct UserInput {
  std::string name;
  ValueId value;
  TensorForm form;
};
struct UserOutput {
  std::string name;  // "logits", or its position: "0"
  ValueId value;
  TensorForm form;
};
struct BufferChange {
  std::string buffer;
  ValueId value;  // what the buffer holds after the pass
};

struct Program {
  std::vector<Graph> graphs;  // the first is the program
  std::size_t values = 0;     // how many there are
  std::vector<ProgramInput> held;
  std::vector<UserInput> inputs;  // tensors only: other arguments of forward are part of the program
  std::vector<UserOutput> outputs;
  std::vector<BufferChange> changes;
  std::string torch_version;

  const Graph& main() const { return graphs.front(); }
};

// Throws Refusal: an unknown schema, a damaged or hostile file.
Program read_program(std::string_view json);

// "conv2d (module layers.0, model.py, line 12: return self.conv(x))"
std::string place_of(const Node& node);

}  // namespace runner::exported
