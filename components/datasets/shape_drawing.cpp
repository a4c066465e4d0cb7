#include "components/datasets/shape_drawing.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace runner {

namespace {

constexpr int pixels = drawing_size * drawing_size;
constexpr float pi = std::numbers::pi_v<float>;

struct Point {
  float x, y;
};
using Colour = std::array<float, 3>;  // 0..1

float draw(ExampleRandom& random, float low, float high) {
  return static_cast<float>(random.uniform(low, high));
}
float length(Point p) { return std::sqrt(p.x * p.x + p.y * p.y); }
float box(Point p, float half_width, float half_height) {
  return std::max(std::abs(p.x) - half_width, std::abs(p.y) - half_height);
}

float triangle(Point p) {
  const float slope = 0.8660254f;  // sin 60
  return std::max(-p.y, std::abs(p.x) * slope + p.y * 0.5f) - 0.5f;
}

// The five tips are folded onto half of one, which is bounded by the line from the tip to the notch.
float star(Point p) {
  constexpr float half_tip = pi / 5, notch_radius = 0.42f;
  const float radius = length(p);
  const float angle = std::abs(std::remainder(std::atan2(p.y, p.x), 2 * half_tip));
  const Point folded{radius * std::cos(angle), radius * std::sin(angle)};
  const Point notch{notch_radius * std::cos(half_tip), notch_radius * std::sin(half_tip)};
  const Point along{notch.x - 1.0f, notch.y};
  return (along.y * (folded.x - 1.0f) - along.x * folded.y) / length(along);
}

float stripes(Point p) {
  constexpr float period = 0.62f;
  return std::max(length(p) - 0.95f, std::abs(std::remainder(p.x, period)) - period / 4);
}

// How far the point is outside the shape (negative: inside); the shape has a radius of about 1.
float distance(int shape, Point p) {
  switch (shape) {
    case 0: return length(p) - 0.85f;
    case 1: return std::abs(length(p) - 0.7f) - 0.2f;
    case 2: return box(p, 0.75f, 0.75f);
    case 3: return std::abs(box(p, 0.65f, 0.65f)) - 0.17f;
    case 4: return triangle(p);
    case 5: return std::min(box(p, 0.95f, 0.28f), box(p, 0.28f, 0.95f));
    case 6: return star(p);
    case 7: return box(p, 1.0f, 0.25f);
    case 8: return std::max(length(p) - 0.9f, 0.75f - length({p.x - 0.45f, p.y}));
    default: return stripes(p);
  }
}

class Canvas {
 public:
  // A colour that changes slowly from one side to the other.
  void shade(const Colour& colour, Point slope) {
    for (int y = 0; y < drawing_size; ++y) {
      for (int x = 0; x < drawing_size; ++x) {
        const float change =
            slope.x * (static_cast<float>(x) - 15.5f) + slope.y * (static_cast<float>(y) - 15.5f);
        for (int channel = 0; channel < 3; ++channel) at(channel, x, y) = colour[channel] + change;
      }
    }
  }

  // Colours every pixel by the share of it that is inside; `outside` returns the distance in pixels.
  template <class Distance>
  void paint(const Colour& colour, Distance outside) {
    for (int y = 0; y < drawing_size; ++y) {
      for (int x = 0; x < drawing_size; ++x) {
        const float covered =
            std::clamp(0.5f - outside(Point{static_cast<float>(x), static_cast<float>(y)}), 0.0f, 1.0f);
        if (covered == 0.0f) continue;
        for (int channel = 0; channel < 3; ++channel) {
          float& value = at(channel, x, y);
          value += covered * (colour[channel] - value);
        }
      }
    }
  }

  // Converts to bytes, with triangular noise: the sum of two random bytes for each value.
  void write(ExampleRandom& random, float noise, std::uint8_t* planes) const {
    std::uint64_t word = 0;
    for (int i = 0; i < 3 * pixels; ++i) {
      if (i % 4 == 0) word = random.bits();
      const auto sum = static_cast<float>((word & 255) + ((word >> 8) & 255));
      word >>= 16;
      const float value = values_[i] * 255.0f + (sum - 255.0f) * noise;
      planes[i] = static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f));
    }
  }

 private:
  float& at(int channel, int x, int y) {
    return values_[static_cast<std::size_t>(channel * pixels + y * drawing_size + x)];
  }

  std::array<float, std::size_t{3} * pixels> values_;
};

Colour any_colour(ExampleRandom& random) {
  return {draw(random, 0, 1), draw(random, 0, 1), draw(random, 0, 1)};
}

Colour colour_unlike(const Colour& other, ExampleRandom& random) {
  constexpr float least_difference = 1.0f;  // summed over the channels
  for (int attempt = 0; attempt < 16; ++attempt) {
    const Colour colour = any_colour(random);
    float difference = 0;
    for (int channel = 0; channel < 3; ++channel) difference += std::abs(colour[channel] - other[channel]);
    if (difference > least_difference) return colour;
  }
  Colour opposite;
  for (int channel = 0; channel < 3; ++channel) opposite[channel] = other[channel] > 0.5f ? 0.0f : 1.0f;
  return opposite;
}

void paint_stroke(Canvas& canvas, ExampleRandom& random) {
  const Point start{draw(random, 0, drawing_size), draw(random, 0, drawing_size)};
  const float angle = draw(random, 0, 2 * pi), reach = draw(random, 5, 14),
              half_width = draw(random, 0.4f, 1.0f);
  const Point along{std::cos(angle), std::sin(angle)};
  canvas.paint(any_colour(random), [&](Point p) {
    const Point from_start{p.x - start.x, p.y - start.y};
    const float travelled = std::clamp(from_start.x * along.x + from_start.y * along.y, 0.0f, reach);
    return length({from_start.x - travelled * along.x, from_start.y - travelled * along.y}) - half_width;
  });
}

}  // namespace

void draw_shape(int shape, ExampleRandom& random, std::uint8_t* planes) {
  Canvas canvas;
  const Colour background = any_colour(random);
  canvas.shade(background, {draw(random, -0.008f, 0.008f), draw(random, -0.008f, 0.008f)});
  for (std::int64_t strokes = random.below(3); strokes > 0; --strokes) paint_stroke(canvas, random);

  const float radius = draw(random, 8.0f, 13.0f), angle = draw(random, 0, 2 * pi);
  const float margin = 0.95f * radius;
  const Point centre{draw(random, margin, drawing_size - 1 - margin),
                     draw(random, margin, drawing_size - 1 - margin)};
  const float cosine = std::cos(angle) / radius, sine = std::sin(angle) / radius;
  canvas.paint(colour_unlike(background, random), [&](Point p) {
    const Point moved{p.x - centre.x, p.y - centre.y};
    return radius * distance(shape, {cosine * moved.x + sine * moved.y, cosine * moved.y - sine * moved.x});
  });
  canvas.write(random, draw(random, 0.03f, 0.16f), planes);
}

}  // namespace runner
