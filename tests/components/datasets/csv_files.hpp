#pragma once

#include <catch2/catch_all.hpp>

#include "tests/support/datasets.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner::testing {

inline const std::string people =
    "age,city,weight,buys\n"
    "20,Rome,50,no\n"
    "40,Oslo,70,yes\n"
    ",Rome,NA,yes\n"
    "60,?,60,no\n";

// A training set and a validation set in two CSV files, and the settings that read them.
struct CsvFiles {
  TemporaryFolder folder;
  Settings settings = {{"train", (folder / "train.csv").string()},
                       {"eval", (folder / "eval.csv").string()},
                       {"target", "buys"}};

  CsvFiles() { write(people, "age,city,weight,buys\n30,Paris,65,yes\n"); }
  void write(const std::string& train, const std::string& eval) {
    write_file(folder / "train.csv", train);
    write_file(folder / "eval.csv", eval);
  }
  Settings with(Settings more) const {
    Settings all = settings;
    for (auto& [key, value] : more) {
      std::erase_if(all, [&, name = key](const auto& setting) { return setting.first == name; });
      all.emplace_back(key, value);
    }
    return all;
  }
  Settings split(Settings more = {}) const {
    Settings all = with(more);
    std::erase_if(all, [](const auto& setting) { return setting.first == "eval"; });
    return all;
  }
  void refuses(const std::string& train, const std::string& why, Settings more = {}) {
    write(train, people);
    CHECK_THROWS_WITH(open("csv", with(std::move(more))), Catch::Matchers::ContainsSubstring(why));
  }
};

}  // namespace runner::testing
