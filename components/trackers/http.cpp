#include "components/trackers/http.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <limits>
#include <stdexcept>

#include "components/trackers/tracker.hpp"
#include "registry/base/ascii.hpp"

namespace runner {

namespace {

constexpr long connect_seconds = 5, whole_seconds = 30, slowest_bytes_per_second = 100, slow_seconds = 30;
constexpr std::uintmax_t least_bytes_per_second = 250'000;  // of an upload, on average

constexpr std::size_t largest_answer = 64u << 20;

std::size_t on_body(char* bytes, std::size_t, std::size_t count, void* user) {
  auto& body = *static_cast<std::string*>(user);
  if (body.size() + count > largest_answer) return 0;  // aborts the transfer
  body.append(bytes, count);
  return count;
}

std::size_t on_file(char* into, std::size_t size, std::size_t count, void* user) {
  return std::fread(into, size, count, static_cast<std::FILE*>(user));
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Requests end when both times have passed.
struct Deadline {
  const std::atomic<double>& of_session;
  double of_upload;
};

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& deadline = *static_cast<const Deadline*>(user);
  return now() > std::max(deadline.of_session.load(), deadline.of_upload) ? 1 : 0;
}

bool worth_another_try(long code) { return code == 408 || code == 429 || code >= 500; }

}  // namespace

long longest_request_seconds(std::uintmax_t upload_bytes) {
  return whole_seconds + static_cast<long>(upload_bytes / least_bytes_per_second);
}

struct HttpSession::Handle {
  Handle() : curl(curl_easy_init()), headers(curl_slist_append(nullptr, "Content-Type: application/json")) {
    if (!curl) throw std::runtime_error("libcurl could not be initialised.");
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
  }

  CURL* curl;
  curl_slist* headers;
};

namespace {

// An address in parts, as curl itself reads it.
class UrlParts {
 public:
  explicit UrlParts(const std::string& text) : parts_(curl_url(), &curl_url_cleanup) {
    const bool read =
        curl_url_set(parts_.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK;
    const std::string scheme = read ? get(CURLUPART_SCHEME, 0) : "";
    is_http = scheme == "http" || scheme == "https";
  }
  std::string get(CURLUPart part, unsigned flags) const {
    char* held = nullptr;
    const bool there = curl_url_get(parts_.get(), part, &held, flags) == CURLUE_OK;
    std::string value = there ? held : "";
    curl_free(held);
    return value;
  }
  void remove(CURLUPart part) { curl_url_set(parts_.get(), part, nullptr, 0); }

  bool is_http = false;

 private:
  std::unique_ptr<CURLU, void (*)(CURLU*)> parts_;
};

}  // namespace

HttpAddress parse_http_address(const std::string& text) {
  UrlParts parts(text);
  if (!parts.is_http)
    throw std::runtime_error(
        "The address of the server must look like http://host:5000. In a user name or a password, write "
        "\"%40\" for \"@\".");
  HttpAddress address;
  address.credentials.user = parts.get(CURLUPART_USER, CURLU_URLDECODE);
  address.credentials.password = parts.get(CURLUPART_PASSWORD, CURLU_URLDECODE);
  for (const CURLUPart part : {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT})
    parts.remove(part);
  address.url = parts.get(CURLUPART_URL, 0);
  return address;
}

std::string server_of(const std::string& address) {
  const UrlParts parts(address);
  if (!parts.is_http) return "";
  return ascii_lower(parts.get(CURLUPART_SCHEME, 0) + "://" + parts.get(CURLUPART_HOST, 0) + ":" +
                     parts.get(CURLUPART_PORT, CURLU_DEFAULT_PORT));
}

HttpSession::HttpSession(std::string server, Credentials credentials)
    : server_(std::move(server)),
      credentials_(std::move(credentials)),
      end_(std::numeric_limits<double>::infinity()),
      handle_(std::make_unique<Handle>()) {
  while (server_.ends_with('/')) server_.pop_back();
}

HttpSession::~HttpSession() = default;

void HttpSession::hurry(double seconds) { end_ = now() + seconds; }

HttpAnswer HttpSession::get(const std::string& path) {
  curl_easy_reset(handle_->curl);
  return send(path);
}

HttpAnswer HttpSession::post(const std::string& path, const std::string& json) {
  CURL* curl = handle_->curl;
  curl_easy_reset(curl);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, json.data());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(json.size()));
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, handle_->headers);
  return send(path);
}

HttpAnswer HttpSession::put(const std::string& path, const std::string& bytes) {
  CURL* curl = handle_->curl;
  curl_easy_reset(curl);
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "PUT");
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, bytes.data());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(bytes.size()));
  return send(path, bytes.size());
}

HttpAnswer HttpSession::put_file(const std::string& path, const std::filesystem::path& file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(file.c_str(), "rb"), &std::fclose);
  if (!in) throw std::runtime_error("Cannot read " + file.string() + ".");
  CURL* curl = handle_->curl;
  curl_easy_reset(curl);
  curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(curl, CURLOPT_READFUNCTION, &on_file);
  curl_easy_setopt(curl, CURLOPT_READDATA, in.get());
  const std::uintmax_t size = std::filesystem::file_size(file);
  curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(size));
  return send(path, size);
}

HttpAnswer HttpSession::send(const std::string& path, std::uintmax_t bytes) {
  CURL* curl = handle_->curl;
  HttpAnswer answer;
  // The time of an upload counts from its start.
  const Deadline deadline{end_,
                          now() + static_cast<double>(bytes) / static_cast<double>(least_bytes_per_second)};
  std::array<char, CURL_ERROR_SIZE> text{};
  curl_easy_setopt(curl, CURLOPT_URL, (server_ + path).c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);  // other threads are running
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, connect_seconds);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, longest_request_seconds(bytes));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, slowest_bytes_per_second);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, slow_seconds);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "runner/" RUNNER_VERSION);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &deadline);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, text.data());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
  if (!credentials_.token.empty()) {
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, credentials_.token.c_str());
  } else if (!credentials_.user.empty()) {
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(curl, CURLOPT_USERNAME, credentials_.user.c_str());
    curl_easy_setopt(curl, CURLOPT_PASSWORD, credentials_.password.c_str());
  }
  const CURLcode code = curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.code);
  const char* location = nullptr;
  curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &location);
  if (location) answer.location = location;
  if (code == CURLE_WRITE_ERROR)
    throw std::runtime_error(server_ + " sent a response of more than 64 MB; is it an MLflow server?");
  if (code == CURLE_ABORTED_BY_CALLBACK)
    throw TrackerUnavailable(server_ + " has not answered before the run ended.");
  if (code != CURLE_OK) {
    throw TrackerUnavailable(server_ + " does not answer: " +
                             (text[0] ? std::string(text.data()) : std::string(curl_easy_strerror(code))) +
                             ".");
  }
  if (worth_another_try(answer.code))
    throw TrackerUnavailable(server_ + " answered " + std::to_string(answer.code) + ".");
  return answer;
}

std::string HttpSession::escaped(const std::string& text) const {
  char* made = curl_easy_escape(handle_->curl, text.data(), static_cast<int>(text.size()));
  std::string escaped = made ? made : "";
  curl_free(made);
  return escaped;
}

}  // namespace runner
