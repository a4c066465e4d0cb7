#include "components/tokenizers/generated_text.hpp"

#include <array>
#include <string_view>

#include "components/contract/example_random.hpp"

namespace runner {

namespace {

using Words = std::array<std::string_view, 8>;

constexpr Words people = {"Ada", "Bela", "Carl", "Dora", "Emil", "Frida", "Georg", "Hanna"};
constexpr Words things = {"boat", "house", "horse", "lantern", "river", "song", "story", "tree"};
constexpr Words qualities = {"bright", "old", "quiet", "red", "small", "strange", "tall", "young"};
constexpr Words deeds = {"finds", "follows", "hears", "likes", "paints", "remembers", "sees", "wants"};

template <std::size_t N>
std::string pick(ExampleRandom& random, const std::array<std::string_view, N>& words) {
  return std::string(words[static_cast<std::size_t>(random.below(N))]);
}

std::string thing(ExampleRandom& random) {
  const std::string quality = random.chance(0.5) ? pick(random, qualities) + " " : "";
  return "the " + quality + pick(random, things);
}

std::string sentence(ExampleRandom& random) {
  const std::string person = pick(random, people), deed = pick(random, deeds);
  std::string text = person + " " + deed + " " + thing(random);
  if (random.chance(0.3)) text += ", and " + pick(random, people) + " " + pick(random, deeds) + " it too";
  return text + (random.chance(0.1) ? "!" : ".");
}

}  // namespace

std::string generated_sentence(std::int64_t number, std::int64_t label, std::int64_t classes) {
  ExampleRandom random(
      example_seed(2, static_cast<std::uint64_t>(label), static_cast<std::uint64_t>(number)));
  // Usually an adjective that only this class has; if there are more classes than adjectives, its number.
  const auto own = [&] {
    const auto count = static_cast<std::int64_t>(qualities.size());
    if (classes > count) return "number-" + std::to_string(label);
    return std::string(qualities[static_cast<std::size_t>(label + classes * random.below(count / classes))]);
  };
  const std::string quality = random.chance(0.8) ? own() : pick(random, qualities);
  return pick(random, people) + " " + pick(random, deeds) + " the " + quality + " " + pick(random, things) +
         ".";
}

std::string generated_text() {
  constexpr std::size_t length = 200'000;
  ExampleRandom random(1);
  std::string text;
  while (text.size() < length) text += sentence(random) + (random.chance(0.3) ? "\n" : " ");
  return text;
}

}  // namespace runner
