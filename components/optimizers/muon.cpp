#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/addmm.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "components/contract/pattern.hpp"
#include "components/optimizers/adam_optimizer.hpp"

namespace runner {
namespace {

enum class MuonScale { original, match_rms_adamw };
constexpr auto describe(std::type_identity<MuonScale>) {
  return choices(choice("original", MuonScale::original, "times sqrt(max(1, rows / columns))"),
                 choice("match_rms_adamw", MuonScale::match_rms_adamw,
                        "times 0.2 sqrt(max(rows, columns)): takes adamw's learning rate and weight decay"));
}

struct Muon {
  double lr = 0.001;
  double weight_decay = 0.1;
  double momentum = 0.95;
  bool nesterov = true;
  std::vector<double> ns_coefficients = {3.4445, -4.775, 2.0315};
  double eps = 1e-7;
  std::int64_t ns_steps = 5;
  MuonScale adjust_lr = MuonScale::original;
  std::vector<std::string> adamw_for = {"*emb*", "*wte*", "*wpe*", "*head*", "fc", "classifier"};
  double adamw_lr = 0.001;
  std::vector<double> adamw_betas = {0.9, 0.999};
  double adamw_eps = 1e-8;
  double adamw_weight_decay = 0.01;
};

constexpr auto describe(std::type_identity<Muon>) {
  return fields(
      field("lr", &Muon::lr, "Peak learning rate of the matrices, before the schedule.", above(0)),
      field("weight_decay", &Muon::weight_decay, "Decoupled weight decay of the matrices.", at_least(0)),
      field("momentum", &Muon::momentum, "Decay of the running mean of the gradient.", within(0, 1)),
      field("nesterov", &Muon::nesterov, "Look-ahead momentum."),
      field("ns_coefficients", &Muon::ns_coefficients, "Coefficients of the Newton-Schulz polynomial."),
      field("eps", &Muon::eps, "Lowest norm that a matrix is divided by.", at_least(0)),
      field("ns_steps", &Muon::ns_steps, "Newton-Schulz iterations.", within(1, 99)),
      field("adjust_lr", &Muon::adjust_lr, "How the learning rate follows the shape of a matrix."),
      field("adamw_for", &Muon::adamw_for,
            "Matrices that AdamW updates, by pattern: embeddings and the head. AdamW always updates what is "
            "not a matrix.",
            fixed()),
      field("adamw_lr", &Muon::adamw_lr, "AdamW's peak learning rate; the schedule multiplies both.",
            above(0)),
      field("adamw_betas", &Muon::adamw_betas, "AdamW's decay of the running means.", at_least(0), below(1)),
      field("adamw_eps", &Muon::adamw_eps, "AdamW's epsilon, added to the denominator.", at_least(0)),
      field("adamw_weight_decay", &Muon::adamw_weight_decay, "AdamW's weight decay.", at_least(0)));
}

void check(const Muon& settings, Report& report) {
  if (settings.ns_coefficients.size() != 3) report.error("ns_coefficients", "takes three numbers");
  check_betas(settings.adamw_betas, report, "adamw_betas");
}

// Jordan et al. 2024: the momentum of a matrix, orthogonalised: all its singular values are brought near 1.
class MatrixOptimizer final : public FusedOptimizer {
 public:
  MatrixOptimizer(const Muon& settings, std::vector<ParameterGroup> groups)
      : FusedOptimizer(std::move(groups), {"momentum_buffer"}, settings.lr, settings.weight_decay),
        settings_(settings) {}

 private:
  void update(const Lists& lists, double lr, double weight_decay) override {
    const at::TensorList means = lists.slots[0];
    at::_foreach_lerp_(means, lists.gradients, 1 - settings_.momentum);
    const auto updates =
        settings_.nesterov ? at::_foreach_lerp(lists.gradients, means, settings_.momentum) : means.vec();
    at::_foreach_mul_(lists.parameters, 1 - lr * weight_decay);
    for (std::size_t i = 0; i < updates.size(); ++i)
      lists.parameters[i].add_(orthogonalised(updates[i]), -lr * scale(updates[i]));
  }

  double scale(const torch::Tensor& matrix) const {
    const auto rows = static_cast<double>(matrix.size(0)), columns = static_cast<double>(matrix.size(1));
    if (settings_.adjust_lr == MuonScale::original) return std::sqrt(std::max(1.0, rows / columns));
    return 0.2 * std::sqrt(std::max(rows, columns));
  }

  // Newton-Schulz iteration, in bfloat16 as in torch.optim, because the result need not be exact. On a CPU in
  // 32 bits, because bfloat16 products are slow there.
  torch::Tensor orthogonalised(const torch::Tensor& matrix) const {
    const auto& c = settings_.ns_coefficients;
    const bool tall = matrix.size(0) > matrix.size(1);
    torch::Tensor x = matrix.to(matrix.is_cpu() ? torch::kFloat32 : torch::kBFloat16);
    if (tall) x = x.t();
    x = x / x.norm().clamp_min(settings_.eps);
    for (std::int64_t i = 0; i < settings_.ns_steps; ++i) {
      const torch::Tensor gram = x.matmul(x.t());
      x = at::addmm(x, at::addmm(gram, gram, gram, c[1], c[2]), x, c[0]);
    }
    return tall ? x.t() : x;
  }

  Muon settings_;
};

class MuonOptimizer final : public Optimizer {
 public:
  MuonOptimizer(const Muon& settings, std::vector<ParameterGroup> matrices,
                std::vector<ParameterGroup> others)
      : matrices_(settings, std::move(matrices)),
        others_({settings.adamw_lr, settings.adamw_betas, settings.adamw_eps, settings.adamw_weight_decay,
                 /*amsgrad=*/false, /*decoupled=*/true},
                {std::move(others)}) {}

  double peak_lr() const override { return matrices_.peak_lr(); }

  void step(double lr_factor) override {
    matrices_.step(lr_factor);
    others_.step(lr_factor);
  }

  State save() const override {
    return {.parts = {{"matrices", matrices_.save()}, {"others", others_.save()}}};
  }

  void load(const State& state) override {
    StateReader saved(state);
    matrices_.load(saved.part("matrices"));
    others_.load(saved.part("others"));
    saved.finish();
  }

 private:
  MatrixOptimizer matrices_;
  AdamOptimizer others_;
};

void require_matching(const std::vector<std::string>& patterns, const OptimizerInputs& inputs) {
  std::vector<std::string> names = inputs.all_names;
  for (const ParameterGroup& group : inputs.groups)
    names.insert(names.end(), group.names.begin(), group.names.end());
  for (const std::string& pattern : patterns) {
    const auto selected = [&](const std::string& name) { return selects(pattern, name); };
    if (std::ranges::none_of(names, selected))
      throw std::runtime_error(nothing_selected("optimizer.adamw_for", pattern, names));
  }
}

std::unique_ptr<Optimizer> build(const Muon& settings, const OptimizerInputs& inputs) {
  if (settings.adamw_for != Muon{}.adamw_for) require_matching(settings.adamw_for, inputs);
  std::vector<ParameterGroup> matrices, others;
  for (const ParameterGroup& group : inputs.groups) {
    ParameterGroup parts[2];
    for (ParameterGroup& part : parts) part = {{}, {}, group.lr_multiplier, group.weight_decay};
    for (std::size_t i = 0; i < group.names.size(); ++i) {
      const auto named = [&](const std::string& pattern) { return selects(pattern, group.names[i]); };
      const bool other = group.parameters[i].dim() != 2 || std::ranges::any_of(settings.adamw_for, named);
      parts[other].names.push_back(group.names[i]);
      parts[other].parameters.push_back(group.parameters[i]);
    }
    if (!parts[0].names.empty()) matrices.push_back(std::move(parts[0]));
    if (!parts[1].names.empty()) others.push_back(std::move(parts[1]));
  }
  if (matrices.empty() && inputs.all_names.empty()) {  // other ranks may have matrices
    throw std::runtime_error(
        "muon updates matrices, and the model has none other than those of optimizer.adamw_for: use adamw.");
  }
  return std::make_unique<MuonOptimizer>(settings, std::move(matrices), std::move(others));
}

const Registration<OptimizerKind> registration{
    "muon", "Muon: orthogonalised momentum for weight matrices; AdamW for everything else.", &build};

}  // namespace
}  // namespace runner
