#include "components/support/weights/safetensors_header.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace runner::safetensors {

namespace {

using Json = nlohmann::json;

class HeaderReader {
 public:
  explicit HeaderReader(const PrivateMapping& file) : path_(file.path().string()) {
    const auto bytes = file.bytes();
    if (bytes.size() < sizeof(std::uint64_t)) fail("it is too short to be a safetensors file");
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    if (length > longest_header)
      fail("its header claims " + std::to_string(length) + " bytes; this is no safetensors file");
    if (length > bytes.size() - sizeof length) fail("it ends inside its header: the file is truncated");
    header_.data_begin = sizeof length + length;
    const auto* text = reinterpret_cast<const char*>(bytes.data()) + sizeof length;
    read(parse({text, length}));
    check_layout(bytes.size() - header_.data_begin);
  }

  Header take() { return std::move(header_); }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error("Cannot read " + path_ + ": " + why + ".");
  }
  [[noreturn]] void fail(const std::string& tensor, const std::string& why) const {
    fail("tensor " + in_quotes(tensor) + " " + why);
  }

  Json parse(std::string_view text) const {
    // JSON readers keep the last of two equal keys; here that would hide a tensor.
    std::vector<std::set<std::string>> keys;
    const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
      if (event == Json::parse_event_t::object_start) {
        keys.emplace_back();
        if (keys.size() > 2) fail("its header is nested too deep");
      }
      if (event == Json::parse_event_t::object_end) keys.pop_back();
      if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
        fail("the key " + parsed.dump() + " is in its header twice");
      }
      return true;
    };
    try {
      return Json::parse(text, watch);
    } catch (const Json::exception& error) {
      fail(std::string("its header is not valid JSON (") + error.what() + ")");
    }
  }

  void read(const Json& header) {
    if (!header.is_object()) fail("its header is not a JSON object");
    for (const auto& [name, value] : header.items()) {
      if (name == "__metadata__") {
        if (!value.is_object()) fail("its metadata is not a table of strings");
        for (const auto& [key, text] : value.items()) {
          if (!text.is_string()) fail("its metadata " + in_quotes(key) + " is not a string");
          header_.metadata[key] = text.get<std::string>();
        }
      } else {
        header_.entries.push_back(entry(name, value));
      }
    }
  }

  Entry entry(const std::string& name, const Json& value) const {
    if (!value.is_object()) fail(name, "has no description");
    const auto member = [&](const char* key) {
      const auto found = value.find(key);
      if (found == value.end()) fail(name, std::string("has no \"") + key + "\" in the header");
      return *found;
    };
    const Json type = member("dtype"), shape = member("shape"), offsets = member("data_offsets");
    if (value.size() != 3) fail(name, "has keys in the header that no safetensors file has");
    if (!type.is_string()) fail(name, "has a \"dtype\" that is not a string");
    const auto known = std::ranges::find(type_names, type.get<std::string>(), &TypeName::name);
    if (known == type_names.end()) fail(name, "has the type " + type.dump() + ", which is not supported");
    if (!shape.is_array()) fail(name, "has a \"shape\" that is not a list");
    if (shape.size() > 64) fail(name, "has " + std::to_string(shape.size()) + " dimensions");
    if (!offsets.is_array() || offsets.size() != 2 || !is_offset(offsets[0]) || !is_offset(offsets[1])) {
      fail(name, "has \"data_offsets\" that are not two positions");
    }
    Entry made{name, known->type, {}, offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>()};
    if (made.begin > made.end) fail(name, "ends before it begins");

    std::uint64_t size = torch::elementSize(made.type);
    for (const Json& extent : shape) {
      if (!is_offset(extent)) fail(name, "has an extent in its shape that is not a count: " + extent.dump());
      if (__builtin_mul_overflow(size, extent.get<std::uint64_t>(), &size))
        fail(name, "is larger than any memory");
      made.shape.push_back(extent.get<std::int64_t>());
    }
    if (size != made.end - made.begin) {
      fail(name, "should have " + std::to_string(size) +
                     " bytes by its shape and type, but its offsets give it " +
                     std::to_string(made.end - made.begin));
    }
    return made;
  }

  static bool is_offset(const Json& value) {
    return value.is_number_unsigned() &&
           value.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
  }

  void check_layout(std::uint64_t available) {
    std::ranges::sort(header_.entries, {},
                      [](const Entry& entry) { return std::tuple(entry.begin, entry.end); });
    std::uint64_t at = 0;
    const Entry* before = nullptr;
    for (const Entry& entry : header_.entries) {
      if (entry.begin < at) fail(entry.name, "overlaps " + in_quotes(before->name));
      if (entry.begin > at) fail(entry.name, "is preceded by bytes that belong to no tensor");
      if (entry.end > available)
        fail(entry.name, "reaches beyond the end of the file: the file is truncated");
      at = entry.end;
      before = &entry;
    }
    if (at != available) fail(std::to_string(available - at) + " bytes at its end belong to no tensor");
  }

  std::string path_;
  Header header_;
};

}  // namespace

std::string in_quotes(std::string_view name) {
  return Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Header read_header(const PrivateMapping& file) { return HeaderReader(file).take(); }

}  // namespace runner::safetensors
