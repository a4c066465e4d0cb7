// Run by ctest: inverts an image of one channel and two pixels.
#include <iostream>

#include "components/transforms/transform.hpp"
#include "registry/make_part.hpp"

int main() {
  using namespace runner;
  const Registry registry = Registry::of_linked();
  const auto transform = make_part<TransformKind>(registry, "my_transform", {{"p", 1.0}}).build({});
  const std::uint8_t pixels[] = {0, 200};
  Scratch scratch;
  Image image(ImageView::planar(pixels, 1, 1, 2), scratch);
  ExampleRandom random(1);
  transform->apply(image, random);
  const ImageView inverted = image.pixels();
  if (*inverted.at(0, 0, 0) != 255 || *inverted.at(0, 0, 1) != 55) {
    std::cerr << "the pixels became " << int{*inverted.at(0, 0, 0)} << " and " << int{*inverted.at(0, 0, 1)}
              << "\n";
    return 1;
  }
}
