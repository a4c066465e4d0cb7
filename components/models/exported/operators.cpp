#include "components/models/exported/operators.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "components/models/exported/archive.hpp"
#include "registry/base/wording.hpp"

namespace runner::exported {

namespace {

constexpr std::string_view operators = "torch.ops.";

// These do more than compute: they read files, print, or change what a tensor is made of under others that
// share its memory.
constexpr std::array with_effects = std::to_array<std::string_view>({"from_file",
                                                                     "set_",
                                                                     "set_data",
                                                                     "resize_",
                                                                     "resize_as_",
                                                                     "resize_as_sparse_",
                                                                     "sparse_resize_",
                                                                     "sparse_resize_and_clear_",
                                                                     "record_stream",
                                                                     "rename_",
                                                                     "requires_grad_",
                                                                     "retain_grad",
                                                                     "pin_memory",
                                                                     "is_pinned",
                                                                     "data",
                                                                     "align_to",
                                                                     "refine_names",
                                                                     "resize",
                                                                     "set",
                                                                     "manual_seed",
                                                                     "item_"});

// Operators whose names begin with an underscore are internal: those that exported models use.
constexpr std::array internal =
    std::to_array<std::string_view>({"_adaptive_avg_pool2d",
                                     "_adaptive_avg_pool3d",
                                     "_assert_async",
                                     "_assert_scalar",
                                     "_batch_norm_impl_index",
                                     "_batch_norm_no_update",
                                     "_batch_norm_with_update",
                                     "_cdist_forward",
                                     "_conj",
                                     "_conj_physical",
                                     "_convolution",
                                     "_ctc_loss",
                                     "_efficient_attention_forward",
                                     "_embedding_bag",
                                     "_euclidean_dist",
                                     "_fft_c2c",
                                     "_fft_c2r",
                                     "_fft_r2c",
                                     "_flash_attention_forward",
                                     "_fused_rms_norm",
                                     "_grouped_mm",
                                     "_is_all_true",
                                     "_is_any_true",
                                     "_linalg_check_errors",
                                     "_linalg_det",
                                     "_linalg_eigh",
                                     "_linalg_eigvals",
                                     "_linalg_slogdet",
                                     "_linalg_solve_ex",
                                     "_linalg_svd",
                                     "_local_scalar_dense",
                                     "_log_softmax",
                                     "_masked_softmax",
                                     "_native_batch_norm_legit",
                                     "_native_batch_norm_legit_functional",
                                     "_native_batch_norm_legit_no_training",
                                     "_native_multi_head_attention",
                                     "_neg_view",
                                     "_pack_padded_sequence",
                                     "_pad_circular",
                                     "_pad_enum",
                                     "_pad_packed_sequence",
                                     "_prelu_kernel",
                                     "_reshape_alias",
                                     "_safe_softmax",
                                     "_scaled_dot_product_attention_math",
                                     "_scaled_dot_product_efficient_attention",
                                     "_scaled_dot_product_flash_attention",
                                     "_scaled_dot_product_flash_attention_for_cpu",
                                     "_shape_as_tensor",
                                     "_softmax",
                                     "_stack",
                                     "_sym_acos",
                                     "_to_copy",
                                     "_transformer_encoder_layer_fwd",
                                     "_trilinear",
                                     "_unique2",
                                     "_unsafe_index",
                                     "_unsafe_index_put",
                                     "_unsafe_view",
                                     "_upsample_bicubic2d_aa",
                                     "_upsample_bilinear2d_aa",
                                     "_upsample_nearest_exact1d",
                                     "_upsample_nearest_exact2d",
                                     "_upsample_nearest_exact3d",
                                     "_weight_norm",
                                     "_weight_norm_interface",
                                     "_weight_norm_differentiable_backward"});

bool among(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

// An operator with an "out" argument changes the size of a tensor that it is given.
bool writes_into_out(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(schema.arguments(),
                             [](const c10::Argument& argument) { return argument.is_out(); });
}

using Values = std::vector<c10::IValue>;

double real(const c10::IValue& value) {
  if (value.isBool()) return value.toBool() ? 1 : 0;
  return value.isInt() ? static_cast<double>(value.toInt()) : value.toDouble();
}
std::int64_t whole(const c10::IValue& value) {
  return value.isBool() ? static_cast<std::int64_t>(value.toBool()) : value.toInt();
}
bool truth(const c10::IValue& value) { return value.isBool() ? value.toBool() : real(value) != 0; }
bool both_whole(const Values& values) { return !values.at(0).isDouble() && !values.at(1).isDouble(); }

[[noreturn]] void fail(const char* why) { throw std::runtime_error(why); }

std::int64_t checked(bool overflowed, std::int64_t result) {
  if (overflowed) fail("a size does not fit into 64 bits");
  return result;
}
std::int64_t divide_down(std::int64_t a, std::int64_t b) {
  if (b == 0) fail("a size is divided by zero");
  if (b == -1) return checked(__builtin_sub_overflow(std::int64_t{0}, a, &a), a);
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
std::int64_t rounded(double value) {
  if (!(std::abs(value) < 9e18)) fail("a number is too large for a size");
  return static_cast<std::int64_t>(value);
}

template <class Compare>
c10::IValue compare(const Values& v, const Compare& holds) {
  return both_whole(v) ? holds(whole(v.at(0)), whole(v.at(1))) : holds(real(v.at(0)), real(v.at(1)));
}

c10::IValue add(const Values& v) {
  if (!both_whole(v)) return real(v.at(0)) + real(v.at(1));
  std::int64_t sum = 0;
  return checked(__builtin_add_overflow(whole(v.at(0)), whole(v.at(1)), &sum), sum);
}
c10::IValue subtract(const Values& v) {
  if (!both_whole(v)) return real(v.at(0)) - real(v.at(1));
  std::int64_t difference = 0;
  return checked(__builtin_sub_overflow(whole(v.at(0)), whole(v.at(1)), &difference), difference);
}
c10::IValue multiply(const Values& v) {
  if (!both_whole(v)) return real(v.at(0)) * real(v.at(1));
  std::int64_t product = 0;
  return checked(__builtin_mul_overflow(whole(v.at(0)), whole(v.at(1)), &product), product);
}
c10::IValue divide(const Values& v) { return real(v.at(0)) / real(v.at(1)); }
c10::IValue floor_divide(const Values& v) {
  if (!both_whole(v)) return std::floor(real(v.at(0)) / real(v.at(1)));
  return divide_down(whole(v.at(0)), whole(v.at(1)));
}
c10::IValue remainder(const Values& v) {
  if (!both_whole(v)) fail("a remainder is taken of a number that is not whole");
  const std::int64_t a = whole(v.at(0)), b = whole(v.at(1));
  if (b == -1) return std::int64_t{0};
  return a - divide_down(a, b) * b;
}
c10::IValue power(const Values& v) {
  const double result = std::pow(real(v.at(0)), real(v.at(1)));
  if (both_whole(v) && real(v.at(1)) >= 0) return rounded(result);
  return result;
}
c10::IValue negate(const Values& v) {
  if (v.at(0).isDouble()) return -v.at(0).toDouble();
  return subtract({std::int64_t{0}, v.at(0)});
}
c10::IValue largest(const Values& v) { return compare(v, std::greater()).toBool() ? v.at(0) : v.at(1); }
c10::IValue smallest(const Values& v) { return compare(v, std::less()).toBool() ? v.at(0) : v.at(1); }
c10::IValue sum(const Values& v) {
  c10::IValue total = std::int64_t{0};
  for (const c10::IValue& value : v) total = add({total, value});
  return total;
}
c10::IValue item_of(const Values& v) {
  const auto items = v.at(0).toListRef();
  std::int64_t index = whole(v.at(1));
  if (index < 0) index += std::ssize(items);
  if (index < 0 || index >= std::ssize(items)) fail("a list has no such item");
  return items[static_cast<std::size_t>(index)];
}

const std::unordered_map<std::string_view, Arithmetic>& arithmetic() {
  static const std::unordered_map<std::string_view, Arithmetic> all{
      {"_operator.add", add},
      {"_operator.sub", subtract},
      {"_operator.mul", multiply},
      {"_operator.truediv", divide},
      {"_operator.floordiv", floor_divide},
      {"_operator.mod", remainder},
      {"_operator.pow", power},
      {"_operator.neg", negate},
      {"_operator.pos", [](const Values& v) { return v.at(0); }},
      {"_operator.getitem", item_of},
      {"_operator.ge", [](const Values& v) { return compare(v, std::greater_equal()); }},
      {"_operator.gt", [](const Values& v) { return compare(v, std::greater()); }},
      {"_operator.le", [](const Values& v) { return compare(v, std::less_equal()); }},
      {"_operator.lt", [](const Values& v) { return compare(v, std::less()); }},
      {"_operator.eq", [](const Values& v) { return compare(v, std::equal_to()); }},
      {"_operator.ne", [](const Values& v) { return compare(v, std::not_equal_to()); }},
      {"_operator.and_", [](const Values& v) { return c10::IValue(truth(v.at(0)) && truth(v.at(1))); }},
      {"_operator.or_", [](const Values& v) { return c10::IValue(truth(v.at(0)) || truth(v.at(1))); }},
      {"_operator.not_", [](const Values& v) { return c10::IValue(!truth(v.at(0))); }},
      {"torch.sym_not", [](const Values& v) { return c10::IValue(!truth(v.at(0))); }},
      {"torch.sym_max", largest},
      {"torch.sym_min", smallest},
      {"torch.sym_sum", sum},
      {"torch.sym_ite", [](const Values& v) { return truth(v.at(0)) ? v.at(1) : v.at(2); }},
      {"torch.sym_float", [](const Values& v) { return c10::IValue(real(v.at(0))); }},
      {"torch.sym_int", [](const Values& v) { return c10::IValue(rounded(real(v.at(0)))); }},
      {"torch._sym_sqrt", [](const Values& v) { return c10::IValue(std::sqrt(real(v.at(0)))); }},
      {"math.ceil", [](const Values& v) { return c10::IValue(rounded(std::ceil(real(v.at(0))))); }},
      {"math.floor", [](const Values& v) { return c10::IValue(rounded(std::floor(real(v.at(0))))); }},
      {"math.trunc", [](const Values& v) { return c10::IValue(rounded(std::trunc(real(v.at(0))))); }},
      {"math.sqrt", [](const Values& v) { return c10::IValue(std::sqrt(real(v.at(0)))); }},
      {"_operator.round",
       [](const Values& v) { return c10::IValue(rounded(std::nearbyint(real(v.at(0))))); }},
      {"round", [](const Values& v) { return c10::IValue(rounded(std::nearbyint(real(v.at(0))))); }},
  };
  return all;
}

}  // namespace

std::string_view operator_name(std::string_view target) {
  return target.starts_with(operators) ? target.substr(operators.size()) : std::string_view();
}

c10::OperatorHandle find_operator(const Node& node) {
  const std::string_view full = operator_name(node.target);
  const std::size_t first = full.find('.'), last = full.rfind('.');
  constexpr std::string_view higher_order = "higher_order.";
  if (full.starts_with(higher_order))
    throw Refusal("has the control flow " + in_quotes(full.substr(higher_order.size())) + " at " +
                  place_of(node) + ", which is not supported: write that part of the model without it");
  if (full.empty() || first == full.npos || first == last)
    throw Refusal("calls " + in_quotes(node.target) + ", which is not an operator of PyTorch, at " +
                  place_of(node));
  const std::string library(full.substr(0, first)), name(full.substr(first + 1, last - first - 1));
  if (library != "aten")
    throw Refusal("calls the operator " + in_quotes(library + "::" + name) + " at " + place_of(node) +
                  "; only PyTorch's own operators run here. Replace that layer by one that uses these");
  const bool hidden = name.starts_with("_") && !name.starts_with("__") && !among(internal, name);
  if (hidden || among(with_effects, name))
    throw Refusal("calls the operator " + in_quotes("aten::" + name) + " at " + place_of(node) +
                  ", which may do more than compute with tensors");
  std::string overload(full.substr(last + 1));
  if (overload == "default") overload = "";
  const auto found = c10::Dispatcher::singleton().findSchema({"aten::" + name, overload});
  if (!found)
    throw Refusal("calls the operator " +
                  in_quotes("aten::" + name + (overload.empty() ? "" : "." + overload)) + " at " +
                  place_of(node) + ", which this version of LibTorch does not have");
  if (writes_into_out(found->schema()))
    throw Refusal("calls " + in_quotes("aten::" + name) + " with an `out` argument at " + place_of(node) +
                  "; write that line without it");
  return *found;
}

bool only_checks(const Node& node) {
  constexpr std::array checks = std::to_array<std::string_view>(
      {"aten._assert_tensor_metadata.default", "aten.sym_constrain_range.default",
       "aten.sym_constrain_range_for_size.default", "aten._functional_sym_constrain_range.default"});
  return among(checks, operator_name(node.target));
}

Arithmetic find_arithmetic(std::string_view target) {
  const auto found = arithmetic().find(target);
  return found == arithmetic().end() ? nullptr : found->second;
}

}  // namespace runner::exported
