#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "registry/origin.hpp"

namespace runner {

// How references are written: "${other.key}", "${env:NAME}" and "${env:NAME:default}"; "$${" stands for "${"
// itself.
struct ReferenceText {
  struct Piece {
    bool is_reference = false;
    std::string text;  // of a reference: the text between the braces
  };
  std::vector<Piece> all;
  std::string problem;  // what is wrong with the form, if anything

  bool plain() const { return all.empty() || (all.size() == 1 && !all.front().is_reference); }
  bool whole() const { return all.size() == 1 && all.front().is_reference; }
};

ReferenceText split_references(std::string_view text);

// Where "${reference}" is written inside a text of that origin; the whole text if it cannot be found there.
Origin origin_of_reference(const std::string& reference, Origin text);

// The text as it has to be written in a recipe for every "${" in it to be literal.
std::string escape_references(std::string_view text);

}  // namespace runner
