#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace runner {

struct Download {
  std::string url;
  std::filesystem::path target;
  std::int64_t most_bytes = std::int64_t{64} << 30;  // a server that sends more is not listened to
  std::string sha256 = {};                           // of the whole file, in hexadecimal; empty: not compared
  std::chrono::milliseconds connect_timeout{5000};   // so that a machine without network learns of it soon
  std::chrono::seconds stall_timeout{20};            // gives up when this long next to nothing arrives
};

// Downloads a file over HTTP or HTTPS, through the proxy that the environment names, if any. An unfinished
// download is kept in <target>.part, and a later call continues it; the target appears only when it is
// complete. Shows a progress bar if stderr is a terminal. Throws IoError.
void download(const Download& request);

// As it may be shown and logged: a user name and password in it are left out.
std::string shown_url(const std::string& url);

}  // namespace runner
