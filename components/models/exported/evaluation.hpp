#pragma once

#include "components/models/exported/program.hpp"

namespace runner::exported {

// A program holds the mode of its layers as constants: dropout(x, 0.1, train=True). This is the same program
// in the other mode: dropout and batch norm as in evaluation, random parts of attention and of recurrent
// layers off. Throws Refusal if the program has random numbers that belong to no such layer.
Program for_evaluation(Program program);

// Whether the program was exported in evaluation mode although it has layers that act differently in
// training.
bool exported_for_evaluation(const Program& program);

}  // namespace runner::exported
