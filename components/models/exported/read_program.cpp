#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "components/models/exported/archive.hpp"
#include "components/models/exported/program.hpp"
#include "components/torch/shape_text.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/read_json.hpp"

namespace runner::exported {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t known_schema = 8;
constexpr std::size_t most_nodes = 200'000;

std::int64_t whole(const Json& json) {
  if (!json.is_number_integer()) throw Refusal("is damaged: a number in it is not a whole number");
  return json.get<std::int64_t>();
}

// Names are quoted in messages.
const std::string& name_of(const Json& json) {
  constexpr std::size_t longest = 300;
  const auto& name = json.get_ref<const std::string&>();
  if (name.size() > longest)
    throw Refusal("is damaged: it has a name of " + std::to_string(name.size()) + " bytes");
  return name;
}

// A union of the format is an object with one key: {"as_int": 3}.
std::pair<std::string, const Json*> only_member(const Json& json) {
  if (!json.is_object() || json.size() != 1) throw Refusal("is damaged: an argument in it has no value");
  return {json.begin().key(), &json.begin().value()};
}

double real(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto text = json.get<std::string>();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == "Infinity") return infinity;
  if (text == "-Infinity") return -infinity;
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  throw Refusal("is damaged: a number in it is a text");
}

torch::MemoryFormat memory_format(std::int64_t number) {
  constexpr std::array formats{torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast,
                               torch::MemoryFormat::ChannelsLast3d, torch::MemoryFormat::Preserve};
  if (number < 1 || number > std::ssize(formats))
    throw Refusal("uses the memory format " + std::to_string(number) + ", which is not known here");
  return formats[static_cast<std::size_t>(number - 1)];
}

torch::Layout layout(std::int64_t number) {
  constexpr std::int64_t strided = 7;
  if (number != strided) throw Refusal("uses sparse tensors, which cannot be trained here");
  return torch::kStrided;
}

// The file that the user wrote rather than one of PyTorch's layers: the last of the stack that is not
// torch's.
std::string line_of(std::string_view stack) {
  constexpr std::string_view file_mark = "File \"";
  constexpr std::size_t most_of_a_line = 100;
  std::string found;
  for (std::size_t at = stack.find(file_mark); at != stack.npos; at = stack.find(file_mark, at + 1)) {
    const std::size_t begin = at + file_mark.size(), end = stack.find('"', begin);
    if (end == stack.npos) break;
    const std::string_view path = stack.substr(begin, end - begin);
    if (path.starts_with("<")) continue;  // code that the export generated
    if (!found.empty() && (path.find("/torch/") != path.npos || path.starts_with("torch/"))) continue;
    const std::size_t eol = std::min(stack.find('\n', end), stack.size());
    const std::string_view rest = stack.substr(end, eol - end);  // ", line 5, in forward
    const std::size_t line = rest.find("line "), comma = line == rest.npos ? line : rest.find(',', line);
    found = std::string(path.substr(path.rfind('/') + 1).substr(0, most_of_a_line));
    if (line != rest.npos)
      found += ", " + std::string(rest.substr(line, std::min<std::size_t>(comma - line, 20)));
    std::string_view code = eol < stack.size() ? stack.substr(eol + 1) : std::string_view();
    code = code.substr(0, code.find('\n'));
    code.remove_prefix(std::min(code.find_first_not_of(' '), code.size()));
    if (!code.empty() && !code.starts_with(file_mark))
      found += ": " + std::string(code.substr(0, most_of_a_line));
  }
  return found;
}

// "L__self__,,M;L__self__layers.0,layers.0,Block": the path of the innermost module.
std::string module_of(std::string_view stack) {
  const std::string_view last = stack.substr(stack.rfind(';') + 1);
  const std::size_t first = last.find(',');
  if (first == last.npos) return "";
  const std::string_view path = last.substr(first + 1, last.find(',', first + 1) - first - 1);
  constexpr std::size_t most_shown = 200;
  return path.starts_with("_empty_nn_module") ? "" : std::string(path.substr(0, most_shown));
}

std::string metadata(const Json& node, const char* key) {
  const auto all = node.find("metadata");
  if (all == node.end() || !all->is_object()) return "";
  const auto found = all->find(key);
  return found == all->end() || !found->is_string() ? "" : found->get<std::string>();
}

class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  Program read() {
    const Json& module = json_.at("graph_module");
    read_graph(module.at("graph"), 0, /*main=*/true);
    read_inputs(module.at("signature").at("input_specs"));
    read_outputs(module);
    program_.values = values_;
    program_.torch_version = json_.value("torch_version", std::string());
    return std::move(program_);
  }

 private:
  using Names = std::unordered_map<std::string, ValueId>;

  ValueId define(Names& names, const Json& name) {
    if (values_ >= std::numeric_limits<ValueId>::max()) throw Refusal("has too many values");
    const std::string& text = name_of(name);
    if (!names.emplace(text, static_cast<ValueId>(values_)).second)
      throw Refusal("is damaged: it defines " + in_quotes(text) + " twice");
    return static_cast<ValueId>(values_++);
  }

  // Nodes are in the order in which they run, so that a program cannot refer to itself.
  static Ref refer(const Names& names, const Json& name) {
    const std::string& text = name_of(name);
    const auto found = names.find(text);
    if (found == names.end())
      throw Refusal("is damaged: it uses " + in_quotes(text) + " before it is computed");
    return {found->second};
  }

  static Item number_or_name(const Names& names, const Json& json) {
    const auto [kind, value] = only_member(json);
    if (kind == "as_name") return refer(names, *value);
    if (kind == "as_int") return whole(*value);
    if (kind == "as_float") return real(*value);
    if (kind == "as_bool") return value->get<bool>();
    throw Refusal("has a number of the kind " + in_quotes(kind) + ", which is not known here");
  }

  static Item optional_tensor(const Names& names, const Json& json) {
    const auto [kind, value] = only_member(json);
    return kind == "as_none" ? Item() : Item(refer(names, value->at("name")));
  }

  template <class One>
  static Items list(const Json& json, const One& one) {
    if (!json.is_array()) throw Refusal("is damaged: an argument in it is not a list");
    Items items;
    items.reserve(json.size());
    for (const Json& item : json) items.push_back(one(item));
    return items;
  }

  std::variant<Item, Items, SubGraph> argument(const Names& names, const Json& json, std::size_t depth) {
    const auto [kind, found] = only_member(json);
    const Json& value = *found;
    if (kind == "as_none") return Item();
    if (kind == "as_tensor") return Item(refer(names, value.at("name")));
    if (kind == "as_optional_tensor") return optional_tensor(names, value);
    if (kind == "as_int") return Item(whole(value));
    if (kind == "as_float") return Item(real(value));
    if (kind == "as_bool") return Item(value.get<bool>());
    if (kind == "as_string") return Item(value.get<std::string>());
    if (kind == "as_complex")
      return Item(c10::complex<double>(real(value.at("real")), real(value.at("imag"))));
    if (kind == "as_scalar_type") return Item(type_of(whole(value)));
    if (kind == "as_memory_format") return Item(memory_format(whole(value)));
    if (kind == "as_layout") return Item(layout(whole(value)));
    if (kind == "as_device") return Item(torch::Device(torch::kCPU));  // the model's, when it runs
    if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool")
      return number_or_name(names, value);
    const auto tensor = [&](const Json& item) { return Item(refer(names, item.at("name"))); };
    const auto number = [&](const Json& item) { return number_or_name(names, item); };
    if (kind == "as_tensors") return list(value, tensor);
    if (kind == "as_optional_tensors")
      return list(value, [&](const Json& item) { return optional_tensor(names, item); });
    if (kind == "as_ints") return list(value, [](const Json& item) { return Item(whole(item)); });
    if (kind == "as_floats") return list(value, [](const Json& item) { return Item(real(item)); });
    if (kind == "as_bools") return list(value, [](const Json& item) { return Item(item.get<bool>()); });
    if (kind == "as_sym_ints" || kind == "as_sym_floats" || kind == "as_sym_bools")
      return list(value, number);
    if (kind == "as_graph") return SubGraph{read_graph(value.at("graph"), depth + 1, /*main=*/false)};
    throw Refusal("passes an argument of the kind " + in_quotes(kind) + ", which is not known here");
  }

  Returned returned(Names& names, const Json& json) {
    const auto [kind, found] = only_member(json);
    const Json& value = *found;
    using As = Returned::As;
    if (kind == "as_tensor") return {As::tensor, {define(names, value.at("name"))}};
    if (kind == "as_none") return {As::tensor, {std::nullopt}};
    if (kind == "as_optional_tensor") {
      const auto [which, tensor] = only_member(value);
      if (which == "as_none") return {As::tensor, {std::nullopt}};
      return {As::tensor, {define(names, tensor->at("name"))}};
    }
    if (kind == "as_tensors") {
      Returned list{As::tensors, {}};
      for (const Json& item : value) list.values.emplace_back(define(names, item.at("name")));
      return list;
    }
    if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool")
      return {As::number, {define(names, value.at("as_name"))}};
    throw Refusal("returns a value of the kind " + in_quotes(kind) + ", which is not known here");
  }

  Node read_node(Names& names, const Json& json, std::size_t depth) {
    Node node;
    node.target = name_of(json.at("target"));
    if (const auto name = json.find("name"); name != json.end() && name->is_string())
      node.name = name_of(*name);
    node.module = module_of(metadata(json, "nn_module_stack"));
    node.line = line_of(metadata(json, "stack_trace"));
    try {
      for (const Json& input : json.at("inputs"))
        node.inputs.push_back({name_of(input.at("name")), argument(names, input.at("arg"), depth)});
      for (const Json& output : json.at("outputs")) node.outputs.push_back(returned(names, output));
    } catch (const Refusal& refusal) {
      if (depth > 0 || std::string_view(refusal.what()).find(" (at ") != std::string_view::npos) throw;
      throw Refusal(std::string(refusal.what()) + " (at " + place_of(node) + ")");
    }
    return node;
  }

  std::size_t read_graph(const Json& json, std::size_t depth, bool main) {
    const std::size_t position = program_.graphs.size();
    program_.graphs.emplace_back();
    Names names;
    Graph graph;
    for (const Json& input : json.at("inputs")) {
      const auto [kind, value] = only_member(input);
      if (value->is_object() && (value->contains("name") || value->contains("as_name")))
        graph.inputs.push_back(
            define(names, value->contains("name") ? value->at("name") : value->at("as_name")));
      else if (!main)
        throw Refusal("calls a part of itself with constants, which is not known here");
    }
    const Json& nodes = json.at("nodes");
    nodes_ += nodes.size();
    if (nodes_ > most_nodes)
      throw Refusal("has more than " + std::to_string(most_nodes) + " nodes, the limit");
    for (const Json& node : nodes) graph.nodes.push_back(read_node(names, node, depth));
    for (const Json& output : json.at("outputs")) {
      const auto value = argument(names, output, depth);
      if (const auto* item = std::get_if<Item>(&value))
        graph.outputs.push_back(*item);
      else if (const auto* items = std::get_if<Items>(&value))
        graph.outputs.insert(graph.outputs.end(), items->begin(), items->end());
    }
    program_.graphs[position] = std::move(graph);
    if (main) {
      names_ = std::move(names);
      tensor_values_ = &json.at("tensor_values");
    }
    return position;
  }

  Dimension dimension(const Json& json) const {
    const auto [kind, value] = only_member(json);
    if (kind == "as_int") return {.size = whole(*value)};
    const auto& expression = value->at("expr_str").get_ref<const std::string&>();
    constexpr std::size_t most_shown = 60;
    Dimension found{.symbol = expression.substr(0, most_shown)};
    constexpr std::string_view begin = "Symbol('";
    if (expression.starts_with(begin)) {
      found.symbol = expression.substr(begin.size());
      found.symbol.resize(std::min(found.symbol.find('\''), found.symbol.size()));
    }
    const auto ranges = json_.find("range_constraints");
    if (ranges == json_.end() || !ranges->contains(found.symbol)) return found;
    const Json& range = ranges->at(found.symbol);
    // PyTorch itself does not treat a lower limit of 2, its default, as one.
    if (range.at("min_val").is_number_integer() && whole(range.at("min_val")) > 2)
      found.low = whole(range.at("min_val"));
    if (range.at("max_val").is_number_integer()) found.high = whole(range.at("max_val"));
    return found;
  }

  TensorForm form_of(const std::string& name) const {
    const Json& meta = tensor_values_->at(name);
    TensorForm form{.type = type_of(whole(meta.at("dtype"))), .shape = {}};
    if (meta.at("sizes").size() > 64) throw Refusal("is damaged: a tensor in it has too many dimensions");
    for (const Json& size : meta.at("sizes")) form.shape.push_back(dimension(size));
    return form;
  }

  void hold(ProgramInput::Kind kind, const Json& spec, const char* name, bool persistent = true) {
    program_.held.push_back(
        {kind, name_of(spec.at(name)), refer(names_, spec.at("arg").at("name")).value, persistent});
  }

  void read_inputs(const Json& specs) {
    using Kind = ProgramInput::Kind;
    std::set<std::string> seen;
    for (const Json& item : specs) {
      const auto [kind, spec] = only_member(item);
      if (kind == "parameter") {
        hold(Kind::parameter, *spec, "parameter_name");
      } else if (kind == "buffer") {
        hold(Kind::buffer, *spec, "buffer_name", spec->at("persistent").get<bool>());
      } else if (kind == "tensor_constant") {
        hold(Kind::constant, *spec, "tensor_constant_name");
      } else if (kind == "user_input") {
        const auto [which, value] = only_member(spec->at("arg"));
        if (which == "as_none" || which == "as_int" || which == "as_float" || which == "as_bool" ||
            which == "as_string")
          continue;
        if (which != "as_tensor")
          throw Refusal("takes an input that is not a tensor (" + which +
                        "): wrap the model in a module that "
                        "takes tensors only, and export that");
        const std::string& name = name_of(value->at("name"));
        program_.inputs.push_back({name, refer(names_, value->at("name")).value, form_of(name)});
      } else if (kind != "constant_input") {
        throw Refusal("has an input of the kind " + in_quotes(kind) + ", which is not known here");
      }
      if (!program_.held.empty() && kind != "user_input" && kind != "constant_input" &&
          !seen.insert(program_.held.back().name).second)
        throw Refusal("is damaged: it takes " + in_quotes(program_.held.back().name) + " twice");
    }
  }

  // The names of what forward returns, as its structure has them: "logits", "0", "past.1".
  static void leaf_names(const Json& spec, const Json& named_tuples, const std::string& prefix,
                         std::vector<std::string>& names) {
    constexpr std::size_t most_outputs = 10'000, longest_part = 100;
    if (names.size() >= most_outputs)
      throw Refusal("returns more than " + std::to_string(most_outputs) + " values");
    const Json& children = spec.at("children_spec");
    if (spec.at("type").is_null()) return names.push_back(prefix);
    Json keys;
    if (spec.at("context").is_string()) keys = read_json_or_null(spec.at("context").get<std::string>());
    const auto type = spec.at("type").get<std::string>();
    if (named_tuples.is_object() && named_tuples.contains(type))
      keys = named_tuples.at(type).at("field_names");
    // Some classes keep a type beside the list of names.
    if (keys.is_array() && keys.size() != children.size())
      for (const Json& part : Json(keys))
        if (part.is_array() && part.size() == children.size()) keys = part;
    const bool named = keys.is_array() && keys.size() == children.size();
    for (std::size_t i = 0; i < children.size(); ++i) {
      const std::string own = named && keys[i].is_string() ? keys[i].get<std::string>() : std::to_string(i);
      leaf_names(children[i], named_tuples,
                 (prefix.empty() ? "" : prefix + ".") + own.substr(0, longest_part), names);
    }
  }

  static std::vector<std::string> output_names(const Json& module) {
    std::vector<std::string> names;
    const Json& calls = module.at("module_call_graph");
    if (calls.empty() || !calls[0].at("signature").is_object()) return names;
    const Json tree = read_json_or_null(calls[0].at("signature").at("out_spec").get<std::string>());
    const auto tuples = module.find("treespec_namedtuple_fields");
    if (tree.is_array() && tree.size() == 2)
      leaf_names(tree[1], tuples == module.end() ? Json() : *tuples, "", names);
    return names;
  }

  void read_outputs(const Json& module) {
    const std::vector<std::string> names = output_names(module);
    std::size_t position = 0;
    for (const Json& item : module.at("signature").at("output_specs")) {
      const auto [kind, spec] = only_member(item);
      if (kind == "user_output") {
        const std::size_t number = position++;
        const auto [which, value] = only_member(spec->at("arg"));
        if (which != "as_tensor") continue;
        const std::string& tensor = name_of(value->at("name"));
        const std::string name = number < names.size() && !names[number].empty() && names[number].size() < 300
                                     ? names[number]
                                     : std::to_string(number);
        program_.outputs.push_back({name, refer(names_, value->at("name")).value, form_of(tensor)});
      } else if (kind == "buffer_mutation") {
        program_.changes.push_back(
            {name_of(spec->at("buffer_name")), refer(names_, spec->at("arg").at("name")).value});
      } else if (kind == "user_input_mutation") {
        continue;  // the batch is not used after the pass
      } else {
        throw Refusal("has an output of the kind " + in_quotes(kind) +
                      "; export the model itself, without its loss and its gradients");
      }
    }
    if (program_.outputs.empty()) throw Refusal("returns no tensor");
  }

  const Json& json_;
  Program program_;
  std::size_t values_ = 0, nodes_ = 0;
  Names names_;
  const Json* tensor_values_ = nullptr;
};

void require_known_schema(const Json& json) {
  const std::int64_t major = whole(json.at("schema_version").at("major"));
  if (major == known_schema) return;
  const auto version = json.value("torch_version", std::string()).substr(0, 40);
  throw Refusal("has version " + std::to_string(major) + " of the format of torch.export" +
                (version.empty() ? "" : ", written by torch " + escaped_name(version)) +
                "; this program reads version " + std::to_string(known_schema) +
                ": export it with a version of torch between 2.9 and 2.13");
}

}  // namespace

std::string form_text(const TensorForm& form) {
  std::string text;
  for (const Dimension& dimension : form.shape)
    text += (text.empty() ? "" : ", ") +
            (dimension.size >= 0 ? std::to_string(dimension.size) : escaped_name(dimension.symbol));
  return std::string(c10::toString(form.type)) + " [" + text + "]";
}

std::string place_of(const Node& node) {
  std::string where = node.module.empty() ? "" : "module " + node.module;
  if (!node.line.empty()) where += (where.empty() ? "" : ", ") + node.line;
  return escaped_name(node.name.empty() ? node.target : node.name) +
         (where.empty() ? "" : " (" + escaped_name(where) + ")");
}

Program read_program(std::string_view text) {
  try {
    const Json json = read_json(text);
    require_known_schema(json);
    return Reader(json).read();
  } catch (const JsonError& error) {
    throw Refusal(std::string("cannot be read: ") + error.what());
  } catch (const Json::exception& error) {
    // The library's text begins with a number in brackets; what follows says which key is missing.
    const std::string_view why = error.what();
    throw Refusal("is damaged, or not written by torch.export: " +
                  escaped_name(std::string(why.substr(std::min(why.find("] ") + 2, why.size())))));
  }
}

}  // namespace runner::exported
