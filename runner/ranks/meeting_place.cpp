#include "runner/ranks/meeting_place.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "registry/files/atomic_file.hpp"
#include "registry/files/folders.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

constexpr auto file_name = "store";

std::string safe(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char c) { return !std::isalnum(c) && c != '.' && c != '-'; }, '_');
  return name;
}

}  // namespace

MeetingPlace::MeetingPlace(const std::string& job)
    : folder_(temporary_folder() / ("runner-" + std::to_string(getuid()) + "-" + safe(job))) {
  struct stat status{};
  const bool made = mkdir(folder_.c_str(), S_IRWXU) == 0;
  if (!made && errno != EEXIST)
    throw std::runtime_error("cannot make " + folder_.string() + ": " +
                             std::system_category().message(errno));
  if (lstat(folder_.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != getuid() ||
      (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    throw std::runtime_error(folder_.string() + " is not a folder of this user alone; remove it");
}

void MeetingPlace::announce(const Store& store) const {
  AtomicFile out(folder_ / file_name);  // others see it only when it is complete
  out.write(to_string(store.address) + "\n" + store.secret);
  out.commit();
}

std::optional<MeetingPlace::Store> MeetingPlace::find() const {
  std::ifstream in(folder_ / file_name, std::ios::binary);
  std::string address;
  if (!std::getline(in, address)) return {};
  return Store{parse_address(address), {std::istreambuf_iterator<char>(in), {}}};
}

void MeetingPlace::remove() const {
  std::error_code ignored;  // it is below the temporary folder anyway
  fs::remove_all(folder_, ignored);
}

std::string read_secret_file(const fs::path& file) {
  struct stat status{};
  if (stat(file.c_str(), &status) != 0)
    throw std::runtime_error("cannot read the secret file " + file.string() + ": " +
                             std::system_category().message(errno));
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    throw std::runtime_error("others can read the secret file " + file.string() + "; run: chmod 600 " +
                             file.string());
  // It goes to every rank through a pipe, which must hold all of it.
  constexpr std::size_t least = 16, most = 4096;
  if (status.st_size > static_cast<off_t>(most))
    throw std::runtime_error("the secret file " + file.string() +
                             " is too long; make one with: openssl rand -hex 32 > FILE");
  std::ifstream in(file, std::ios::binary);
  std::string secret{std::istreambuf_iterator<char>(in), {}};
  if (secret.size() < least)
    throw std::runtime_error("the secret file " + file.string() +
                             " is too short; make one with: openssl rand -hex 32 > FILE");
  return secret;
}

}  // namespace runner
