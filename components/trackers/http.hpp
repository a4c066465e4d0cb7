#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace runner {

// Never appear in a message or a file.
struct Credentials {
  std::string user, password;
  std::string token;  // sent as "Bearer"
};

struct HttpAddress {
  std::string url;  // without user and password
  Credentials credentials;
};

// Parses "https://user:password@host/path". The text may contain a password, so the std::runtime_error that
// this throws does not repeat it.
HttpAddress parse_http_address(const std::string& text);

// "https://example.org:443": two addresses with the same scheme, host and port are the same server. Empty if
// the text is not the address of one.
std::string server_of(const std::string& address);

struct HttpAnswer {
  long code = 0;
  std::string body;
  std::string location;  // the target of a redirect
};

// Every request ends, even if the server accepts only a byte now and then; a slow connection gets time to
// upload a large file.
long longest_request_seconds(std::uintmax_t upload_bytes);

// Requests to one server, over one connection while it stays open. Throws TrackerUnavailable if there is no
// response, or if the server reports a temporary problem (408, 429, 5xx). Redirects are not followed: they
// would turn a POST into a GET. Not thread-safe.
class HttpSession {
 public:
  HttpSession(std::string server, Credentials credentials);
  ~HttpSession();

  HttpAnswer get(const std::string& path);
  HttpAnswer post(const std::string& path, const std::string& json);
  HttpAnswer put(const std::string& path, const std::string& bytes);
  HttpAnswer put_file(const std::string& path, const std::filesystem::path& file);

  // From any thread: requests end after that, except that an upload gets the time that a slow connection
  // needs.
  void hurry(double seconds);

  std::string escaped(const std::string& text) const;    // for a query or a path
  const std::string& server() const { return server_; }  // without a password

 private:
  struct Handle;
  HttpAnswer send(const std::string& path, std::uintmax_t bytes = 0);  // `bytes`: size of the upload

  std::string server_;
  Credentials credentials_;
  std::atomic<double> end_;  // when requests have to end, on the steady clock; infinite: as they like
  std::unique_ptr<Handle> handle_;
};

}  // namespace runner
