#include "runner/toml/read_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "registry/base/suggest.hpp"

namespace runner {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> similar_files(const fs::path& path) {
  constexpr int most_entries = 1000;  // a folder of a million images is not searched for a recipe
  std::vector<std::string> names;
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  fs::directory_iterator entries(folder, error);
  if (error) return {"there is no folder " + folder.string() + " either"};
  for (int i = 0; i < most_entries && entries != fs::directory_iterator(); ++i) {
    if (entries->path().extension() == ".toml") names.push_back(entries->path().stem().string());
    entries.increment(error);
    if (error) break;
  }
  const auto meant = nearest(path.stem().string(), names);  // all end in .toml, which says nothing
  if (!meant) return {};
  return {"did you mean " + (path.parent_path() / (*meant + ".toml")).string() + "?"};
}

// Problems that show before the content is parsed as TOML.
std::string_view problem_of(std::string_view text) {
  if (text.size() > largest_recipe) return "is larger than 8 MB: that is not a recipe";
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) return "is UTF-16 text: save it as UTF-8";
  if (text.find('\0') != std::string_view::npos) return "is a binary file, not a recipe";
  return "";
}

// One byte more than the limit is enough to detect a file that is too large, even an endless device.
std::string read_text(std::istream& stream) {
  std::string text(largest_recipe + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  text.shrink_to_fit();
  return text;
}

// A recipe is read more than once, but this can be read only once.
const std::string& standard_input() {
  static const std::string text = read_text(std::cin);
  return text;
}

}  // namespace

std::shared_ptr<const Source> read_recipe_file(const fs::path& path, const Origin& mentioned,
                                               Diagnostics& diagnostics) {
  auto source = std::make_shared<Source>();
  source->name = path.string();
  const auto fail = [&](std::string_view what, std::vector<std::string> hints = {}) {
    if (mentioned.is_default()) {
      diagnostics.error(Origin{source}, std::string(what), std::move(hints));
    } else {
      diagnostics.error(mentioned, source->name + " " + std::string(what), std::move(hints));
    }
    return nullptr;
  };
  const auto checked = [&]() -> std::shared_ptr<const Source> {
    if (const std::string_view problem = problem_of(source->text); !problem.empty()) return fail(problem);
    if (source->text.starts_with("\xEF\xBB\xBF"))
      source->text.erase(0, 3);  // a byte-order mark is not content
    return source;
  };
  if (path == "-" && mentioned.is_default()) {
    source->name = "standard input";
    source->text = standard_input();
    return checked();
  }
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return fail("does not exist", similar_files(path));
  if (status.type() == fs::file_type::directory) {
    std::vector<std::string> hints;
    if (fs::is_regular_file(path / "recipe.toml", error))
      hints.push_back("did you mean " + (path / "recipe.toml").string() + "?");
    return fail("is a folder, not a recipe", std::move(hints));
  }
  // Reading from a named pipe would wait for a writer.
  if (status.type() != fs::file_type::regular && fs::status_known(status))
    return fail("is not a regular file; save the recipe in one");
  // In /proc, a file without a size may keep its reader waiting.
  if (fs::file_size(path, error) == 0 && !error) return checked();
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(std::string("cannot be read: ") + std::strerror(errno ? errno : error.value()));
  source->text = read_text(file);
  if (file.bad()) return fail(std::string("cannot be read: ") + std::strerror(errno));
  return checked();
}

}  // namespace runner
