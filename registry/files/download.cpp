#include "registry/files/download.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/open_file.hpp"
#include "registry/files/part_file.hpp"
#include "registry/files/progress_bar.hpp"
#include "registry/files/sha256.hpp"

namespace runner {

namespace {

constexpr int most_cuts = 5;  // how often an interrupted transfer is continued
constexpr long most_redirects = 5, slowest_bytes_per_second = 512;
constexpr long http_partial = 206, http_bad_range = 416;

struct Transfer {
  CURL* curl = nullptr;
  PartFile* part = nullptr;
  ProgressBar* bar = nullptr;
  std::int64_t most = 0;     // bytes in total
  std::int64_t already = 0;  // bytes from before this request
  bool body_began = false;
  bool too_much = false;
  int write_error = 0;
};

long response_code(CURL* curl) {
  long code = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
  return code;
}

// A server without support for ranges sends everything again: then earlier bytes are discarded.
void begin_body(Transfer& transfer) {
  transfer.body_began = true;
  if (transfer.already == 0 || response_code(transfer.curl) == http_partial) return;
  transfer.part->clear();
  transfer.already = 0;
}

std::size_t on_data(char* bytes, std::size_t, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  try {
    if (!transfer.body_began) begin_body(transfer);
  } catch (const IoError&) {
    transfer.write_error = errno;
    return 0;
  }
  transfer.too_much = transfer.part->size() + static_cast<std::int64_t>(count) > transfer.most;
  if (transfer.too_much) return 0;
  if (transfer.part->append({reinterpret_cast<const std::uint8_t*>(bytes), count})) return count;
  transfer.write_error = errno;
  return 0;
}

int on_progress(void* user, curl_off_t total, curl_off_t done, curl_off_t, curl_off_t) {
  const auto& transfer = *static_cast<const Transfer*>(user);
  if (done > 0) transfer.bar->show(transfer.already + done, total > 0 ? transfer.already + total : 0);
  return 0;
}

struct Outcome {
  CURLcode code = CURLE_OK;
  long response = 0;
  std::string problem;  // in words, if the code is not CURLE_OK
};

Outcome fetch(const Download& request, PartFile& part, ProgressBar& bar) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> owner(curl_easy_init(), &curl_easy_cleanup);
  CURL* curl = owner.get();
  if (initialised != CURLE_OK || !curl) throw IoError("libcurl cannot be initialised on this machine.");

  Transfer transfer{curl, &part, &bar, request.most_bytes, part.size()};
  std::array<char, CURL_ERROR_SIZE> text{};
  const std::string range = std::to_string(part.size()) + "-";
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, most_redirects);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);  // other threads are running
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.count()));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, slowest_bytes_per_second);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.stall_timeout.count()));
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "runner/" RUNNER_VERSION);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, text.data());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &on_data);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(request.most_bytes));
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  if (part.size() > 0) curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());

  Outcome outcome{curl_easy_perform(curl), response_code(curl), {}};
  if (transfer.write_error != 0) {
    errno = transfer.write_error;
    throw IoError("Cannot write " + part.path().string() + ": " + last_system_error() + ".");
  }
  if (transfer.too_much || outcome.code == CURLE_FILESIZE_EXCEEDED) {
    part.clear();
    outcome.code = CURLE_FILESIZE_EXCEEDED;
    outcome.problem = "the server sends more than " + std::to_string(request.most_bytes) +
                      " bytes, the limit for this file";
  } else if (outcome.code == CURLE_HTTP_RETURNED_ERROR) {
    outcome.problem = "the server answered " + std::to_string(outcome.response);
  } else if (outcome.code != CURLE_OK) {
    outcome.problem = text[0] ? std::string(text.data()) : std::string(curl_easy_strerror(outcome.code));
  }
  return outcome;
}

bool cut_off(CURLcode code) {
  return code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING ||
         code == CURLE_OPERATION_TIMEDOUT || code == CURLE_HTTP2_STREAM;
}

// Continues until the file is complete. Throws if it cannot be.
void fetch_all(const Download& request, PartFile& part, ProgressBar& bar) {
  for (int cuts = 0;; ++cuts) {
    const std::int64_t before = part.size();
    const Outcome outcome = fetch(request, part, bar);
    if (outcome.code == CURLE_OK) return;
    // The server has no bytes after ours: the file is complete, or a different one; the checksum will show
    // which.
    if (outcome.response == http_bad_range && before > 0) return;
    if (cut_off(outcome.code) && part.size() > before && cuts < most_cuts) continue;
    throw IoError("Cannot download " + shown_url(request.url) + ": " + outcome.problem + ".");
  }
}

}  // namespace

void download(const Download& request) {
  PartFile part(request.target);
  ProgressBar bar(request.target.filename().string());
  const bool resumed = part.size() > 0;
  fetch_all(request, part, bar);
  const auto matches = [&] {
    return request.sha256.empty() || sha256_of_file(part.path()) == request.sha256;
  };
  bool good = matches();
  if (!good && resumed) {  // the earlier attempt may have received another version
    part.clear();
    fetch_all(request, part, bar);
    good = matches();
  }
  if (!good) {
    part.clear();
    throw IoError("The file from " + shown_url(request.url) +
                  " is not the expected one: its SHA-256 differs from " + request.sha256 +
                  ". It was deleted.");
  }
  part.become_target();
}

std::string shown_url(const std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return escaped_name(url);
  const std::size_t host = scheme + 3, path = std::min(url.find_first_of("/?#", host), url.size());
  const std::size_t at = url.rfind('@', path);
  if (at == std::string::npos || at < host) return escaped_name(url);
  return escaped_name(url.substr(0, host) + url.substr(at + 1));
}

}  // namespace runner
