#pragma once

#include <string>
#include <vector>

#include "components/datasets/dataset.hpp"

namespace runner {

// Tokens to text as they come. A character may take several tokens, and some tokenizers write a token
// differently at the beginning than after others, so what is new is what a few tokens say more than all but
// the last of them.
class TextStream {
 public:
  explicit TextStream(const Interpreter& interpreter) : interpreter_(interpreter) {}

  std::string add(std::int64_t token);  // what can be shown now: nothing while a character is not whole
  std::string rest();                   // what was held back

 private:
  std::string fresh(bool whole_only);

  const Interpreter& interpreter_;
  std::vector<std::int64_t> tokens_;
  std::size_t begin_ = 0,
              shown_ = 0;  // all before `shown_` is shown; those from `begin_` on are its surroundings
};

}  // namespace runner
