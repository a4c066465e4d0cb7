#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace runner {

// Who asks. Nothing of it appears in a message or a file.
struct Credentials {
  std::string user, password;
  std::string token;  // sent as "Bearer"
};

// Where a server is, and who asks.
struct HttpAddress {
  std::string url;  // without user and password
  Credentials credentials;
};

// Of "https://user:password@host/path". Throws std::runtime_error that does not repeat the text: it may hold
// a password.
HttpAddress parse_http_address(const std::string& text);

struct HttpAnswer {
  long code = 0;
  std::string body;
  std::string location;  // where a redirect leads to
};

// Requests to one server, over one connection as long as it lasts. Throws TrackerUnavailable where there is
// no answer, and where the server says that it is busy or broken at the moment (408, 429, 5xx). Redirects are
// not followed: they turn a request that stores something into one that asks for a page. For one thread.
class HttpSession {
 public:
  HttpSession(std::string server, Credentials credentials);
  ~HttpSession();

  HttpAnswer get(const std::string& path);
  HttpAnswer post(const std::string& path, const std::string& json);
  HttpAnswer put(const std::string& path, const std::string& bytes);
  HttpAnswer put_file(const std::string& path, const std::filesystem::path& file);

  std::string escaped(const std::string& text) const;    // for a query or a path
  const std::string& server() const { return server_; }  // without a password

 private:
  struct Handle;
  HttpAnswer send(const std::string& path, std::uintmax_t bytes = 0);  // `bytes`: how many are uploaded

  std::string server_;
  Credentials credentials_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace runner
