#include "components/models/torchscript_code.hpp"

#include <caffe2/serialize/in_memory_adapter.h>
#include <caffe2/serialize/inline_container.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <stdexcept>
#include <vector>

#include "components/torch/torch_error.hpp"
#include "registry/base/ascii.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/private_mapping.hpp"

namespace runner {

namespace {

using Names = std::initializer_list<std::string_view>;

bool among(std::string_view name, Names names) { return std::ranges::find(names, name) != names.end(); }

struct Token {
  enum class Kind { name, text, sign } kind;
  std::string_view written;  // of a text: what is between the quotes
};

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<Token> tokens_of(std::string_view code) {
  std::vector<Token> tokens;
  while (!code.empty()) {
    const char first = code[0];
    std::size_t length = 1;
    if (first == '#') {
      length = std::min(code.find('\n'), code.size());
    } else if (first == '"' || first == '\'') {
      const bool triple = code.size() > 2 && code[1] == first && code[2] == first;
      const std::string quote(triple ? 3 : 1, first);
      std::size_t end = quote.size();
      while (end < code.size() && !code.substr(end).starts_with(quote)) end += code[end] == '\\' ? 2 : 1;
      end = std::min(end, code.size());
      tokens.push_back({Token::Kind::text, code.substr(quote.size(), end - quote.size())});
      length = std::min(end + quote.size(), code.size());
    } else if (is_name(first)) {
      while (length < code.size() && is_name(code[length])) ++length;
      tokens.push_back({Token::Kind::name, code.substr(0, length)});
    } else if (std::isspace(static_cast<unsigned char>(first)) == 0) {
      tokens.push_back({Token::Kind::sign, code.substr(0, 1)});
    }
    code.remove_prefix(length);
  }
  return tokens;
}

// These operators of LibTorch do something other than compute.
bool has_effect(std::string_view name) {
  return among(name, {"save", "from_file", "_print", "Print", "rpc_async", "rpc_remote", "rpc_sync",
                      "AddStatValue", "PythonOp", "IgnoredPythonOp"});
}

class Reading {
 public:
  explicit Reading(std::string_view code) : tokens_(tokens_of(code)) {}

  std::string effect() const {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind != Token::Kind::name) continue;
      const std::string_view name = tokens_[i].written;
      const bool member = i > 0 && is_sign(i - 1, ".");
      if (member && has_effect(name)) return "calls " + in_quotes(name);
      if (member && name == "classes") return "uses classes that are not LibTorch's own";
      if (!member && name == "print") return "prints";
      if (!member && name == "getattr" && !harmless_lookup(i))
        return "looks names up in a way that no export writes";
      if (member || (name != "ops" && name != "torch")) continue;
      // If they were assigned to another name, calls through it would not be found.
      if (!is_sign(i + 1, ".")) return "takes " + in_quotes(name) + " as a value";
      if (name != "ops" || i + 2 >= tokens_.size()) continue;
      if (!among(tokens_[i + 2].written,
                 {"aten", "prim", "prims", "quantized", "_quantized", "mkldnn", "sparse"}))
        return "calls operators of " + in_quotes(tokens_[i + 2].written);
    }
    return "";
  }

 private:
  bool is_sign(std::size_t i, std::string_view sign) const {
    return i < tokens_.size() && tokens_[i].kind == Token::Kind::sign && tokens_[i].written == sign;
  }

  // getattr(self, "0"): exported code accesses layers whose names are numbers in this way.
  bool harmless_lookup(std::size_t i) const {
    if (!is_sign(i + 1, "(") || i + 2 >= tokens_.size()) return false;
    if (among(tokens_[i + 2].written, {"ops", "torch"})) return false;
    while (i < tokens_.size() && tokens_[i].kind != Token::Kind::text) ++i;
    if (i + 1 >= tokens_.size()) return false;
    const std::string_view wanted = tokens_[i].written;
    return std::ranges::all_of(wanted, is_name) && !has_effect(wanted) && is_sign(i + 1, ")");
  }

  std::vector<Token> tokens_;
};

using caffe2::serialize::PyTorchStreamReader;

// The names of all records, in lower case. LibTorch ignores case when it looks up a record, and truncates
// long names when it lists them, so each listed name must be found and mean exactly one record.
std::set<std::string> records_of(PyTorchStreamReader& archive) {
  std::set<std::string> names;
  for (const std::string& name : archive.getAllRecords()) {
    if (!archive.hasRecord(name) || !names.insert(ascii_lower(name)).second)
      throw std::runtime_error("contains " + in_quotes(name) + " twice, or under a name that is too long");
  }
  return names;
}

std::string effect_of_record(std::string_view name, std::string_view content) {
  if (name.ends_with(".py")) return effect_of_code(content);
  // A pickle with the values of attributes. It names the classes to create, in one line or across two.
  const auto contains = [&](std::string_view part) { return content.find(part) != content.npos; };
  return contains("torch.classes") || contains("torch\nclasses") ? "uses classes that are not LibTorch's own"
                                                                 : "";
}

std::string effect_of_archive(PyTorchStreamReader& archive) {
  constexpr std::size_t most_code = 64u << 20;
  std::size_t size = 0;
  for (const std::string& name : records_of(archive)) {
    if (name == "model.json") throw std::runtime_error("was written by a version of PyTorch before 1.2");
    if (!name.ends_with(".py") && !name.ends_with(".pkl")) continue;
    size += archive.getRecordSize(name);
    if (size > most_code) throw std::runtime_error("contains more than 64 MB of code");
    const auto [data, length] = archive.getRecord(name);
    const std::string effect = effect_of_record(name, {static_cast<const char*>(data.get()), length});
    if (!effect.empty()) return effect;
  }
  return "";
}

void require_archive(std::string_view bytes) {
  if (!bytes.starts_with("PK")) throw std::runtime_error("is not a module written by torch.jit.save");
  // LibTorch reads any file with this mark as a FlatBuffer.
  if (bytes.substr(2).starts_with("\x03\x04PTMF"))
    throw std::runtime_error("is a zip archive with the mark of another format");
}

}  // namespace

std::string effect_of_code(std::string_view code) { return Reading(code).effect(); }

torch::jit::Module load_code_without_effects(const std::filesystem::path& file) {
  const auto mapping = PrivateMapping::open(file);
  const auto bytes = mapping->bytes();
  require_archive({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const auto content =
      std::make_shared<caffe2::serialize::MemoryReadAdapter>(bytes.data(), static_cast<off_t>(bytes.size()));
  try {
    PyTorchStreamReader archive(content);
    const std::string effect = effect_of_archive(archive);
    if (effect.empty()) return torch::jit::load(content);
    throw std::runtime_error("contains code that " + effect +
                             "; a model may only compute with tensors. Export it without that");
  } catch (const c10::Error& error) {
    const std::string reason = reason_of(error);  // the first sentence: the rest is advice about checkpoints
    throw std::runtime_error("is not a module written by torch.jit.save: " +
                             reason.substr(0, reason.find(". ")));
  }
}

}  // namespace runner
