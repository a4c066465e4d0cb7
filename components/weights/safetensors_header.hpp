#pragma once

#include <torch/types.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "components/weights/safetensors.hpp"
#include "registry/files/private_mapping.hpp"

namespace runner::safetensors {

constexpr std::uint64_t longest_header = 100'000'000;  // as in the reference implementation
// A tensor object takes about 500 bytes in addition to its values; the largest models have about 100,000
// tensors.
constexpr std::size_t most_tensors = 500'000, most_metadata = 100'000;

struct TypeName {
  std::string_view name;
  torch::Dtype type;
};

// In the order in which the Python package writes tensors: widest first, so that all of them are aligned.
constexpr std::array type_names{
    TypeName{"U64", torch::kUInt64},
    TypeName{"I64", torch::kInt64},
    TypeName{"F64", torch::kFloat64},
    TypeName{"C64", torch::kComplexFloat},
    TypeName{"F32", torch::kFloat32},
    TypeName{"U32", torch::kUInt32},
    TypeName{"I32", torch::kInt32},
    TypeName{"BF16", torch::kBFloat16},
    TypeName{"F16", torch::kFloat16},
    TypeName{"U16", torch::kUInt16},
    TypeName{"I16", torch::kInt16},
    TypeName{"F8_E5M2FNUZ", torch::kFloat8_e5m2fnuz},
    TypeName{"F8_E4M3FNUZ", torch::kFloat8_e4m3fnuz},
    TypeName{"F8_E8M0", torch::kFloat8_e8m0fnu},
    TypeName{"F8_E4M3", torch::kFloat8_e4m3fn},
    TypeName{"F8_E5M2", torch::kFloat8_e5m2},
    TypeName{"I8", torch::kInt8},
    TypeName{"U8", torch::kUInt8},
    TypeName{"BOOL", torch::kBool},
};

struct Entry {
  std::string name;
  torch::Dtype type;
  std::vector<std::int64_t> shape;
  std::uint64_t begin, end;  // in the data part
};

// The contents of the header, checked against the file, so that reading the tensors cannot fail any more.
struct Header {
  std::vector<Entry> entries;  // in the order of the file
  Metadata metadata;
  std::uint64_t data_begin = 0;
};
Header read_header(const PrivateMapping& file);  // throws std::runtime_error: file, tensor and reason

}  // namespace runner::safetensors
