#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "components/contract/example_random.hpp"

namespace runner {

inline constexpr int drawing_size = 32;  // pixels a side
inline constexpr int drawing_bytes = 3 * drawing_size * drawing_size;

inline constexpr std::array<std::string_view, 10> shape_names = {
    "disc", "ring", "square", "frame", "triangle", "plus", "star", "bar", "crescent", "stripes"};

// Draws the shape at a random place, in a random size, rotation and colour, over a shaded background with a
// few strokes, and adds noise. `planes` are red, green and blue. Neither colour nor place says anything about
// the shape, so a linear model learns next to nothing from the pixels.
void draw_shape(int shape, ExampleRandom& random, std::uint8_t* planes);

}  // namespace runner
