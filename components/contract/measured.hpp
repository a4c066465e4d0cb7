#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "registry/field.hpp"

namespace runner {

// Which direction of a measurement is better, as recipes write it.
enum class Better { max, min };
constexpr auto describe(std::type_identity<Better>) {
  return choices(choice("max", Better::max, "higher is better"),
                 choice("min", Better::min, "lower is better"));
}

// A measurement that an evaluation reports: "accuracy", or "eval/accuracy" where the weights are named too.
struct Measured {
  std::string name;                   // one that ends in "*" stands for all that begin like it
  std::optional<Better> better = {};  // none: only the person knows
};

// What a part of the recipe decides by, and what the recipe says about its direction.
struct Watched {
  std::string metric;
  std::optional<Better> mode = {};
};

const Measured* find_measured(const std::vector<Measured>& measured, const std::string& name);

// What is wrong with it: a direction that contradicts, or is not known; a measurement that nobody makes. It
// reads on from "decides by "; empty: nothing is wrong.
std::string problem_of(const Watched& watched, const std::vector<Measured>& measured);

// Of a measurement with which nothing is wrong; throws std::runtime_error, beginning with `who`, otherwise.
Better direction_of(const Watched& watched, const std::vector<Measured>& measured, const std::string& who);

}  // namespace runner
