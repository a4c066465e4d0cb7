#include "runner/engine/strategies/pack_state.hpp"

#include <torch/serialize.h>

namespace runner {

namespace {

c10::IValue to_value(const State& state) {
  const auto dict_of = [](const auto& entries, const auto& convert) {
    c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
    for (const auto& [name, entry] : entries) dict.insert(name, convert(entry));
    return c10::IValue(dict);
  };
  const auto as_is = [](const auto& entry) { return c10::IValue(entry); };
  const auto in_main_memory = [](const torch::Tensor& tensor) { return c10::IValue(tensor.detach().cpu()); };
  return c10::ivalue::Tuple::create({dict_of(state.tensors, in_main_memory), dict_of(state.integers, as_is),
                                     dict_of(state.numbers, as_is), dict_of(state.texts, as_is),
                                     dict_of(state.parts, [](const State& part) { return to_value(part); })});
}

State to_state(const c10::IValue& value) {
  const auto& fields = value.toTupleRef().elements();
  State state;
  for (const auto& entry : fields.at(0).toGenericDict())
    state.tensors[entry.key().toStringRef()] = entry.value().toTensor();
  for (const auto& entry : fields.at(1).toGenericDict())
    state.integers[entry.key().toStringRef()] = entry.value().toInt();
  for (const auto& entry : fields.at(2).toGenericDict())
    state.numbers[entry.key().toStringRef()] = entry.value().toDouble();
  for (const auto& entry : fields.at(3).toGenericDict())
    state.texts[entry.key().toStringRef()] = entry.value().toStringRef();
  for (const auto& entry : fields.at(4).toGenericDict())
    state.parts[entry.key().toStringRef()] = to_state(entry.value());
  return state;
}

}  // namespace

std::string pack(const State& state) {
  const std::vector<char> bytes = torch::pickle_save(to_value(state));
  return {bytes.begin(), bytes.end()};
}

State unpack(const std::string& bytes) { return to_state(torch::pickle_load({bytes.begin(), bytes.end()})); }

}  // namespace runner
