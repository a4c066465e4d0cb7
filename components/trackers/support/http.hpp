#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace runner {

// Who asks. Nothing of it appears in a message or a file.
struct Credentials {
  std::string user, password;
  std::string token;  // sent as "Bearer"
};

struct HttpAnswer {
  long code = 0;
  std::string body;
};

// Requests to one server, over one connection as long as it lasts. Throws TrackerUnavailable where there is
// no answer, and where the server says that it is busy or broken at the moment (408, 429, 5xx). For one
// thread.
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
  HttpAnswer send(const std::string& path);

  std::string server_;
  Credentials credentials_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace runner
