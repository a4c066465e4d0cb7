#include "components/chat/conversation.hpp"
#include "components/contract/data_error.hpp"
#include "components/tokenizers/code_points.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/folders.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/mapped_file.hpp"
#include "registry/files/read_json.hpp"

namespace runner {

namespace {

using Json = nlohmann::ordered_json;

std::string row_of(const std::filesystem::path& file, std::size_t row) {
  return escaped_name(file.string()) + ", row " + std::to_string(row);
}

Json parsed(std::string_view text, const std::string& place) {
  try {
    check_json_limits(text);
    return Json::parse(text);
  } catch (const JsonError& error) {
    throw DataError(place + " cannot be read: " + error.what() + ".");
  } catch (const Json::parse_error& error) {
    throw DataError(place + " cannot be read: it is not valid JSON (" + json_place(text, error.byte) + ").");
  } catch (const Json::exception&) {
    throw DataError(place + " cannot be read: it is not valid JSON.");
  }
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : file_(file) {}

  void add(const Json& row) {
    const std::size_t number = found.size() + 1;
    try {
      found.push_back(read_conversation(row));
    } catch (const DataError&) {
      throw;
    } catch (const std::runtime_error& error) {
      throw DataError(row_of(file_, number) + ", " + error.what() + ".");
    }
    found.back().row = number;
    found.back().file = file_.string();
  }

  std::vector<Conversation> found;

 private:
  const std::filesystem::path& file_;
};

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

}  // namespace

std::vector<Conversation> read_chats(const std::filesystem::path& file) {
  if (is_missing(file)) throw DataError("There is no file " + escaped_name(file.string()) + ".");
  try {
    const MappedFile mapped(file);
    std::string_view text = mapped.text();
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    check_utf8(text, file);
    Reader reader(file);
    if (const std::size_t first = text.find_first_not_of(" \t\r\n");
        first != std::string_view::npos && text[first] == '[') {
      for (const Json& row : parsed(text, escaped_name(file.string()))) reader.add(row);
    } else {
      while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (!is_blank(line)) reader.add(parsed(line, row_of(file, reader.found.size() + 1)));
      }
    }
    if (reader.found.empty()) throw DataError(escaped_name(file.string()) + " has no conversation.");
    return std::move(reader.found);
  } catch (const IoError& error) {
    throw DataError(error.what());
  }
}

}  // namespace runner
