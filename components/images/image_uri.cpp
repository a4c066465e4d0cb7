#include "components/images/image_uri.hpp"

#include <torch/utils.h>

#include <span>

#include "components/images/image_codec.hpp"

namespace runner {

namespace {

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k)
      word = word << 8 | (k < left ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) text += k <= left ? letters[word >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// To 0..1, [channels, height, width].
torch::Tensor to_pixels(const torch::Tensor& image, const DataSpec& data) {
  torch::Tensor pixels = image.to(torch::kCPU, torch::kFloat32).contiguous();
  const auto inside = [](const torch::Tensor& values) {
    return values.min().item<float>() >= -0.01f && values.max().item<float>() <= 1.01f;
  };
  if (inside(pixels)) return pixels;
  if (static_cast<std::int64_t>(data.mean.size()) == pixels.size(0)) {
    const auto of_channel = [](const std::vector<double>& values) {
      return torch::tensor(values, torch::kFloat32).view({-1, 1, 1});
    };
    return pixels * of_channel(data.deviation) + of_channel(data.mean);
  }
  const torch::Tensor low = pixels.min(), high = pixels.max();
  return (pixels - low) / (high - low).clamp_min(1e-12);
}

}  // namespace

std::string image_uri(const torch::Tensor& image, const DataSpec& data) {
  const torch::NoGradGuard no_grad;
  torch::Tensor pixels = to_pixels(image, data).nan_to_num();
  pixels = pixels.size(0) >= 3 ? pixels.narrow(0, 0, 3) : pixels.narrow(0, 0, 1).expand({3, -1, -1});
  const torch::Tensor bytes =
      pixels.mul(255).round().clamp(0, 255).to(torch::kUInt8).permute({1, 2, 0}).contiguous();
  const std::span rgb(bytes.const_data_ptr<std::uint8_t>(), static_cast<std::size_t>(bytes.numel()));
  return "data:image/png;base64," + base64(encode_png(rgb, {bytes.size(0), bytes.size(1)}));
}

}  // namespace runner
