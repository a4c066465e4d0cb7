#include "runner/runs/own_files.hpp"

#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/beneath.hpp"
#include "registry/files/folders.hpp"
#include "registry/files/lines.hpp"
#include "runner/plugins/trusted.hpp"
#include "runner/process/input_error.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

bool lies_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// Where a link leads that leaves the folder, although the user trusts no such place.
std::optional<fs::path> stray_goal(const fs::path& link, const fs::path& folder) {
  auto goal = goal_of(link);  // a circle leads nowhere
  if (!goal || lies_below(*goal, folder) || Trusted::of_process().leads_to(*goal)) return std::nullopt;
  return goal;
}

std::string complaint(const fs::path& link, const fs::path& goal) {
  const std::string place = shown_message(goal.string());
  return shown_message(link.string()) + " is a link that leaves the run folder, to " + place +
         "; if you put it there, say so once: runner trust path " + place;
}

}  // namespace

void require_own_files(const fs::path& run) {
  std::error_code problem;  // what cannot be examined is reported when it is opened
  const fs::path folder = fs::canonical(run, problem);
  if (problem) return;
  for (fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, problem),
       end;
       !problem && entry != end; entry.increment(problem)) {
    std::error_code unknown;
    const fs::path shown = run / entry->path().lexically_relative(folder);
    switch (entry->symlink_status(unknown).type()) {
      case fs::file_type::fifo: throw InputError(shown_message(shown.string()) + " is a pipe, not a file.");
      case fs::file_type::block:
      case fs::file_type::character:
        throw InputError(shown_message(shown.string()) + " is a device, not a file.");
      case fs::file_type::symlink:
        if (const auto goal = stray_goal(entry->path(), folder)) throw InputError(complaint(shown, *goal));
        break;
      default: break;
    }
  }
}

std::unique_ptr<OpenFile> open_record(const fs::path& file) {
  if (is_missing(file)) return nullptr;
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  try {
    std::error_code problem;
    if (fs::is_symlink(file, problem)) {
      if (const auto goal = stray_goal(file, fs::canonical(folder)))
        throw IoError(complaint(file, *goal) + ".");
      return std::make_unique<OpenFile>(fs::canonical(file));
    }
    return std::make_unique<OpenFile>(folder, file.filename());
  } catch (const std::runtime_error& error) {
    log::warning("{} It is not read.", shown_message(error.what()));
    return nullptr;
  }
}

void each_line(const fs::path& file, const std::function<void(std::string_view)>& take) {
  const auto opened = open_record(file);
  if (!opened) return;
  try {
    Lines lines(*opened);
    while (const auto line = lines.next()) take(*line);
  } catch (const IoError& error) {
    log::warning("{} The rest of it is not read.", error.what());
  }
}

std::string text_of_record(const fs::path& file) {
  constexpr std::size_t longest = std::size_t{16} << 20;
  const auto opened = open_record(file);
  if (!opened) return "";
  if (opened->size() > longest) {
    log::warning("{} has {} bytes; it is not read.", shown_message(file.string()), opened->size());
    return "";
  }
  std::string text(opened->size(), '\0');
  opened->read_at(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  return text;
}

}  // namespace runner
