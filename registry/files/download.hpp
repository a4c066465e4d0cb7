#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace runner {

struct Download {
  std::string url;
  std::filesystem::path target;
  std::int64_t most_bytes = std::int64_t{64} << 30;  // a download is aborted if the server sends more
  std::string sha256 = {};                           // of the whole file, in hexadecimal; empty: not verified
  std::chrono::milliseconds connect_timeout{5000};   // short, so that a machine without network fails soon
  std::chrono::seconds stall_timeout{20};            // gives up if almost nothing arrives for this long
};

// Downloads a file over HTTP or HTTPS, through the proxy that the environment names, if any. An unfinished
// download is kept in <target>.part, and a later call continues it; the target appears only when it is
// complete. Shows a progress bar if stderr is a terminal. Throws IoError.
void download(const Download& request);

// The URL as it may be shown and logged: without a user name and password.
std::string shown_url(const std::string& url);

}  // namespace runner
