#include "components/weights/safetensors_header.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "registry/base/wording.hpp"
#include "registry/files/read_json.hpp"

namespace runner::safetensors {

namespace {

using Json = nlohmann::json;

struct HeaderProblem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void fail(const std::string& why) { throw HeaderProblem(why); }
[[noreturn]] void fail(std::string_view tensor, const std::string& why) {
  fail("tensor " + in_quotes(tensor) + " " + why);
}

// Collects the header while it is parsed. No tree of JSON values is built, so the memory is a small multiple
// of the header's size, and deep nesting is refused at once.
class HeaderEvents final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderEvents(std::string_view text) : text_(text) {}

  Header header;

  bool null() override { return other("null"); }
  bool boolean(bool value) override { return other(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return number(std::to_string(value), std::nullopt); }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
    return number(std::to_string(value), value <= largest ? std::optional(value) : std::nullopt);
  }
  bool number_float(number_float_t, const string_t& written) override {
    return number(written, std::nullopt);
  }
  bool binary(binary_t&) override { return other("binary"); }

  bool string(string_t& value) override {
    if (place_ == Place::metadata) {
      if (header.metadata.size() >= most_metadata)
        fail("its metadata has more than " + std::to_string(most_metadata) + " entries");
      if (!header.metadata.emplace(key_, std::move(value)).second) twice(key_);
      return true;
    }
    if (place_ != Place::tensor || key_ != "dtype") return other(in_quotes(value));
    const auto known = std::ranges::find(type_names, value, &TypeName::name);
    if (known == type_names.end())
      fail(entry_.name, "has the type " + in_quotes(value) + ", which is not supported");
    entry_.type = known->type;
    return true;
  }

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::outside: place_ = Place::header; return true;
      case Place::header:
        place_ = key_ == "__metadata__" ? Place::metadata : Place::tensor;
        if (place_ == Place::metadata && has_metadata_) twice(key_);
        if (place_ == Place::metadata) has_metadata_ = true;
        entry_ = {std::exchange(key_, {}), torch::kUInt8, {}, 0, 0};
        offsets_ = 0;
        seen_ = {};
        return true;
      default: fail("its header is nested too deep");
    }
  }

  bool key(string_t& name) override {
    key_ = std::move(name);
    if (place_ != Place::tensor) return true;
    const auto known = std::ranges::find(members, key_);
    if (known == members.end()) fail(entry_.name, "has keys in the header that no safetensors file has");
    if (std::exchange(seen_[static_cast<std::size_t>(known - members.begin())], true)) twice(key_);
    return true;
  }

  bool end_object() override {
    if (place_ == Place::header) {
      place_ = Place::outside;
      return true;
    }
    if (place_ == Place::tensor) finish_entry();
    place_ = Place::header;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::outside) fail("its header is not a JSON object");
    if (place_ == Place::tensor && key_ == "shape") {
      place_ = Place::shape;
    } else if (place_ == Place::tensor && key_ == "data_offsets") {
      place_ = Place::offsets;
    } else if (place_ == Place::shape || place_ == Place::offsets) {
      fail("its header is nested too deep");
    } else {
      return other("a list");
    }
    return true;
  }

  bool end_array() override {
    if (place_ == Place::offsets && offsets_ != 2) not_two();
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception&) override {
    fail("its header is not valid JSON (" + json_place(text_, byte) + ")");
  }

 private:
  enum class Place { outside, header, metadata, tensor, shape, offsets };
  static constexpr std::array<std::string_view, 3> members{"dtype", "shape", "data_offsets"};

  [[noreturn]] void twice(const std::string& name) const {
    fail("the key " + in_quotes(name) + " is in its header twice");
  }
  [[noreturn]] void not_two() const { fail(entry_.name, "has \"data_offsets\" that are not two positions"); }

  // A value at a place where it is not allowed.
  bool other(const std::string& written) {
    switch (place_) {
      case Place::outside: fail("its header is not a JSON object");
      case Place::header:
        if (key_ == "__metadata__") fail("its metadata is not a table of strings");
        fail(key_, "has no description");
      case Place::metadata: fail("its metadata " + in_quotes(key_) + " is not a string");
      case Place::tensor: break;
      case Place::shape: fail(entry_.name, "has an extent in its shape that is not a count: " + written);
      case Place::offsets: not_two();
    }
    if (key_ == "dtype") fail(entry_.name, "has a \"dtype\" that is not a string");
    if (key_ == "shape") fail(entry_.name, "has a \"shape\" that is not a list");
    not_two();
  }

  bool number(const std::string& written, std::optional<std::uint64_t> count) {
    if (place_ != Place::shape && place_ != Place::offsets) return other(written);
    if (!count) return other(escaped_name(written));
    if (place_ == Place::offsets) {
      if (offsets_ > 1) not_two();
      (offsets_++ == 0 ? entry_.begin : entry_.end) = *count;
      return true;
    }
    if (entry_.shape.size() == 64) fail(entry_.name, "has more than 64 dimensions");
    entry_.shape.push_back(static_cast<std::int64_t>(*count));
    return true;
  }

  void finish_entry() {
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!seen_[i]) fail(entry_.name, "has no " + in_quotes(members[i]) + " in the header");
    }
    if (entry_.begin > entry_.end) fail(entry_.name, "ends before it begins");
    const std::uint64_t size = size_of_entry();
    if (size != entry_.end - entry_.begin) {
      fail(entry_.name, "should have " + std::to_string(size) +
                            " bytes by its shape and type, but its offsets give it " +
                            std::to_string(entry_.end - entry_.begin));
    }
    if (header.entries.size() >= most_tensors)
      fail("it holds more than " + std::to_string(most_tensors) + " tensors");
    header.entries.push_back(std::move(entry_));
  }

  std::uint64_t size_of_entry() const {
    auto size = static_cast<std::int64_t>(torch::elementSize(entry_.type));
    bool empty = false;
    for (const std::int64_t extent : entry_.shape) {
      empty = empty || extent == 0;
      // An empty tensor has strides, too, which are products of its other extents.
      if (__builtin_mul_overflow(size, std::max<std::int64_t>(extent, 1), &size))
        fail(entry_.name, "is larger than any memory");
    }
    return empty ? 0 : static_cast<std::uint64_t>(size);
  }

  std::string_view text_;
  Place place_ = Place::outside;
  std::string key_;
  Entry entry_{"", torch::kUInt8, {}, 0, 0};
  std::array<bool, members.size()> seen_{};
  int offsets_ = 0;
  bool has_metadata_ = false;
};

// JSON readers keep the last of two equal keys; here that would hide a tensor.
void check_names(const std::vector<Entry>& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const Entry& entry : entries) names.push_back(entry.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) fail("the key " + in_quotes(*twice) + " is in its header twice");
}

void check_layout(std::vector<Entry>& entries, std::uint64_t available) {
  std::ranges::sort(entries, {}, [](const Entry& entry) { return std::tuple(entry.begin, entry.end); });
  std::uint64_t at = 0;
  const Entry* before = nullptr;
  for (const Entry& entry : entries) {
    if (entry.begin < at) fail(entry.name, "overlaps " + in_quotes(before->name));
    if (entry.begin > at) fail(entry.name, "is preceded by bytes that belong to no tensor");
    if (entry.end > available) fail(entry.name, "reaches beyond the end of the file: the file is truncated");
    at = entry.end;
    before = &entry;
  }
  if (at != available) fail(std::to_string(available - at) + " bytes at its end belong to no tensor");
}

Header read_from(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(std::uint64_t)) fail("it is too short to be a safetensors file");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > longest_header)
    fail("its header claims " + std::to_string(length) + " bytes; this is not a safetensors file");
  if (length > bytes.size() - sizeof length) fail("it ends inside its header: the file is truncated");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof length, length);
  HeaderEvents events(text);
  Json::sax_parse(text, &events);
  Header header = std::move(events.header);
  header.data_begin = sizeof length + length;
  check_names(header.entries);
  check_layout(header.entries, bytes.size() - header.data_begin);
  return header;
}

}  // namespace

Header read_header(const PrivateMapping& file) {
  try {
    return read_from(file.bytes());
  } catch (const HeaderProblem& problem) {
    throw std::runtime_error("Cannot read " + escaped_name(file.path().string()) + ": " + problem.what() +
                             ".");
  }
}

}  // namespace runner::safetensors
