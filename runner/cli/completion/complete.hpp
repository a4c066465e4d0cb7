#pragma once

#include <string>
#include <vector>

#include "runner/cli/command.hpp"

namespace runner::cli {

struct Candidate {
  std::string text;
  std::string doc = {};
};

// Completions of the last of the words after "runner". Never fails: if nothing is known, there are none.
std::vector<Candidate> candidates(std::vector<std::string> words, const Session& session);

// Completions of an override, given the recipe and the overrides before it.
std::vector<Candidate> override_candidates(const std::string& recipe,
                                           const std::vector<std::string>& overrides, const std::string& word,
                                           const Session& session);

// Recipe files and folders, or all files, whose path begins with the word.
std::vector<Candidate> file_candidates(const std::string& word, bool recipes_only);

}  // namespace runner::cli
