#include "runner/plugins/trusted.hpp"

#include <catch2/catch_all.hpp>

#include "runner/process/input_error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Configuration {
  Trusted trusted() const { return Trusted({{"XDG_CONFIG_HOME", folder.path().string()}}); }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE_METHOD(Configuration,
                 "a server is trusted by scheme, host and port, however its address is written") {
  trusted().add("server", "https://MLflow.example.org/some/path");
  const Trusted known = trusted();
  for (const char* same : {"https://mlflow.example.org", "https://mlflow.example.org:443/",
                           "HTTPS://MLFLOW.example.org/x?y", "https://user:password@mlflow.example.org"})
    CHECK(known.server(same));
  for (const char* other : {"http://mlflow.example.org", "https://mlflow.example.org:8443",
                            "https://mlflow.example.org.evil.net", "https://mlflow.example.org@evil.net",
                            "https://evil.net/#mlflow.example.org", "mlflow.example.org", ""})
    CHECK_FALSE(known.server(other));
}

TEST_CASE_METHOD(Configuration, "links may lead to a trusted path and below it, not beside it") {
  const TemporaryFolder disk;
  fs::create_directories(disk / "mine/deep");
  trusted().add("path", (disk / "mine").string());
  const Trusted known = trusted();
  CHECK(known.leads_to(disk / "mine"));
  CHECK(known.leads_to(disk / "mine/deep/new"));
  CHECK_FALSE(known.leads_to(disk / "mine/../other"));
  CHECK_FALSE(known.leads_to(disk / "mine-too"));
  fs::create_symlink(disk / "other", disk / "mine/link");
  CHECK_FALSE(known.leads_to(disk / "mine/link/file"));
}

TEST_CASE_METHOD(Configuration, "the list is the user's own, and each line of it means something") {
  CHECK_FALSE(trusted().variable("DATA"));
  trusted().add("variable", "DATA");
  trusted().add("variable", "DATA");
  CHECK(trusted().lines() == std::vector<std::string>{"variable DATA"});
  CHECK(trusted().variable("DATA"));
  CHECK_FALSE(trusted().file("DATA"));
  CHECK_THROWS_AS(trusted().add("variable", "A\nserver https://evil.net"), InputError);
  const fs::path list = folder / "runner/trusted";
  fs::permissions(list, fs::perms::others_write, fs::perm_options::add);
  CHECK_THROWS_WITH(trusted(), ContainsSubstring("everybody can write") && ContainsSubstring("chmod o-w"));
  fs::permissions(list, fs::perms::others_write, fs::perm_options::remove);
  write_file(list, "# a note\n\nservers https://x.org\n");
  CHECK_THROWS_WITH(trusted(), ContainsSubstring("servers https://x.org"));
  CHECK_THROWS_WITH(Trusted().add("variable", "DATA"), ContainsSubstring("set HOME"));
}
