#include "runner/runs/tracking/item.hpp"

#include <catch2/catch_all.hpp>

#include "registry/base/log.hpp"
#include "runner/runs/tracking/spool.hpp"
#include "tests/support/files.hpp"
#include "tests/support/no_descriptors.hpp"
#include "tests/support/quiet.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

TEST_CASE("an item comes back from the disk as it was, whatever it holds") {
  const double third = 1.0 / 3;
  const auto record = std::get<Record>(read_item(
      write_item(Record{7, third, 1e300, {{"\xff", INFINITY}, {"b", -0.0}, {"b", NAN}}, 1.5e9 + third})));
  CHECK(record.step == 7);
  CHECK(record.epoch == third);
  CHECK(record.wall_time == 1.5e9 + third);
  REQUIRE(record.values.size() == 3);
  CHECK(record.values[0] == std::pair<std::string, double>("\xff", INFINITY));
  CHECK(std::signbit(record.values[1].second));
  CHECK(std::isnan(record.values[2].second));

  const auto image =
      std::get<ImageItem>(read_item(write_item(ImageItem{"t", {std::string("\0\xff", 2), 3, 4}, 5})));
  CHECK(image.image.png == std::string("\0\xff", 2));
  CHECK((image.image.height == 3 && image.image.width == 4 && image.step == 5));
  const auto histogram = std::get<HistogramItem>(
      read_item(write_item(HistogramItem{"h", {-1, 2, 3, 4, 5, {0.5, 2}, {1, 2}}, 9})));
  CHECK(histogram.histogram.limits == std::vector<double>{0.5, 2});
  CHECK((histogram.histogram.sum_of_squares == 5 && histogram.step == 9));
  for (const Outcome how : {Outcome::finished, Outcome::stopped, Outcome::interrupted, Outcome::failed}) {
    const std::string bytes = write_item(RunEnd{how, "why", 1.5e9});
    CHECK(bytes.find(name_of(how)) != std::string::npos);  // not its number, which may change
    const auto end = std::get<RunEnd>(read_item(bytes));
    CHECK((end.outcome == how && end.message == "why" && end.wall_time == 1.5e9));
  }
  const auto artifact = std::get<ArtifactItem>(read_item(write_item(ArtifactItem{"a", "/x/y"})));
  CHECK((artifact.name == "a" && artifact.file == "/x/y"));
}

TEST_CASE("of the checkpoint's step, a spool keeps the records that were logged before the checkpoint") {
  RunFacts resumed;
  resumed.resumed_at = 6;
  resumed.resumed_epoch = 1.5;
  CHECK(is_kept(Record{5, 1.75}, resumed));
  CHECK(is_kept(Record{6, 1.5}, resumed));
  CHECK_FALSE(is_kept(Record{6, 1.75}, resumed));
  CHECK_FALSE(is_kept(Record{7, 1.5}, resumed));
  CHECK(is_kept(TextItem{"tag", "text", 6}, resumed));
}

TEST_CASE("of an earlier attempt, what was logged up to the checkpoint is kept, and nothing of its end") {
  RunFacts facts{"x", "/run", {}, {}};
  const std::vector<Item> logged{TextItem{"a", "b", 5}, ImageItem{"a", {"png", 1, 1}, 5},
                                 HistogramItem{"a", {}, 5}},
      of_the_end{ArtifactItem{"model", "model.safetensors"}, RunEnd{Outcome::finished, "", 1}};
  for (const auto* items : {&logged, &of_the_end}) {
    for (const Item& item : *items) CHECK(is_kept(item, facts));  // `runner track` sends all of it
  }
  facts.resumed_at = 5;
  for (const Item& item : logged) CHECK(is_kept(item, facts));
  for (const Item& item : of_the_end) CHECK_FALSE(is_kept(item, facts));
  facts.resumed_at = 4;
  for (const Item& item : logged) CHECK_FALSE(is_kept(item, facts));
}

TEST_CASE("a spool is taken up by the next process where the last one left it") {
  testing::TemporaryFolder folder;
  const auto append = [](Spool& spool, std::int64_t step) {
    const auto item = std::make_shared<const Item>(Record{step});
    spool.append({&item, 1});
  };
  const auto first_step = [](Spool& spool) { return std::get<Record>(*spool.front(1).at(0)).step; };
  {
    Spool spool(folder / "x.spool");
    CHECK(spool.size() == 0);
    for (int step = 1; step <= 10; ++step) append(spool, step);
    CHECK(spool.front(3).size() == 3);
    spool.remove_front();
  }
  {
    Spool spool(folder / "x.spool");
    CHECK(spool.size() == 7);
    CHECK(first_step(spool) == 4);
    RunFacts resumed;
    resumed.resumed_at = 6;
    spool.cut(resumed);
    CHECK(spool.size() == 3);
  }
  {
    Spool spool(folder / "x.spool");
    CHECK(spool.size() == 3);
    CHECK(first_step(spool) == 4);
    append(spool, 20);
    CHECK(spool.front(4).size() == 4);
    spool.remove_front();
    CHECK(std::filesystem::file_size(folder / "x.spool") == 0);
    append(spool, 30);
  }
  Spool spool(folder / "x.spool");
  CHECK(spool.size() == 1);
  CHECK(first_step(spool) == 30);
}

TEST_CASE("a spool that was emptied by a killed process loses nothing that comes later") {
  testing::TemporaryFolder folder;
  const auto append = [](Spool& spool, std::int64_t step) {
    const auto item = std::make_shared<const Item>(Record{step});
    spool.append({&item, 1});
  };
  {
    Spool spool(folder / "x.spool");
    append(spool, 1);
    append(spool, 2);
    spool.front(1);
    spool.remove_front();
  }
  std::filesystem::resize_file(folder / "x.spool", 0);  // killed between the two steps of emptying it
  {
    Spool spool(folder / "x.spool");
    for (int step = 3; step <= 6; ++step) append(spool, step);
  }
  Spool spool(folder / "x.spool");
  CHECK(spool.size() == 4);
  CHECK(std::get<Record>(*spool.front(1).at(0)).step == 3);
}

// Items 1 to `last` of the same size; all but `left` of them have been processed.
void fill(const std::filesystem::path& file, std::int64_t last, std::size_t left) {
  Spool spool(file);
  for (std::int64_t step = 1; step <= last; ++step) {
    const auto item = std::make_shared<const Item>(Record{step});
    spool.append({&item, 1});
  }
  spool.front(spool.size() - left);
  spool.remove_front();
}

std::vector<std::int64_t> steps_in(Spool& spool) {
  std::vector<std::int64_t> steps;
  for (const auto& item : spool.front(spool.size())) steps.push_back(std::get<Record>(*item).step);
  return steps;
}

TEST_CASE("a number that was left by a spool that is gone does not skip items of the next one") {
  testing::TemporaryFolder folder;
  const auto file = folder / "x.spool";
  fill(file, 3, 1);
  const auto size = std::filesystem::file_size(file) / 3;

  SECTION("the file was removed") {
    std::filesystem::remove(file);
    {
      Spool spool(file);
      CHECK_FALSE(std::filesystem::exists(file.string() + ".sent"));
      for (std::int64_t step = 4; step <= 7; ++step) {
        const auto item = std::make_shared<const Item>(Record{step});
        spool.append({&item, 1});
      }
    }
    Spool spool(file);
    CHECK(steps_in(spool) == std::vector<std::int64_t>{4, 5, 6, 7});
  }
  SECTION("the number points into an item") {
    testing::write_file(file.string() + ".sent", std::to_string(size + 3));
    Spool spool(file);
    CHECK(steps_in(spool) == std::vector<std::int64_t>{1, 2, 3});
  }
  SECTION("the number is right, and the item there is torn") {
    std::filesystem::resize_file(file, 3 * size - 1);
    Spool spool(file);
    CHECK(spool.size() == 0);
    CHECK(std::filesystem::file_size(file) == 2 * size);
  }
}

TEST_CASE("a spool that is never empty does not keep what was sent") {
  testing::TemporaryFolder folder;
  const auto file = folder / "x.spool";
  const auto put = [](Spool& spool, std::int64_t step) {
    const auto item = std::make_shared<const Item>(Record{step});
    spool.append({&item, 1});
  };
  constexpr std::uint64_t longest_sent = 1000;
  std::uint64_t longest = 0;
  {
    Spool spool(file, longest_sent);
    put(spool, 1);
    for (std::int64_t step = 2; step <= 500; ++step) {
      put(spool, step);
      CHECK(std::get<Record>(*spool.front(1).at(0)).step == step - 1);
      spool.remove_front();
      longest = std::max(longest, static_cast<std::uint64_t>(std::filesystem::file_size(file)));
    }
    put(spool, 501);
  }
  CHECK(longest < 2 * longest_sent);
  Spool spool(file);
  CHECK(steps_in(spool) == std::vector<std::int64_t>{500, 501});
}

TEST_CASE("a spool that cannot be read is not emptied") {
  testing::TemporaryFolder folder;
  const auto file = folder / "x.spool";
  const auto item = std::make_shared<const Item>(Record{1});
  Spool(file).append({&item, 1});
  const std::string before = testing::read_text(file);
  bool refused = false;
  {
    const testing::NoDescriptors none;
    try {
      Spool spool(file);
    } catch (const std::runtime_error&) {
      refused = true;
    }
  }
  CHECK(refused);
  CHECK(testing::read_text(file) == before);
}

TEST_CASE("items after a damaged one are kept in another file, and a warning says so") {
  testing::TemporaryFolder folder;
  const testing::Quiet quiet;
  const auto file = folder / "x.spool";
  {
    Spool spool(file);
    for (int step = 1; step <= 3; ++step) {
      const auto item = std::make_shared<const Item>(Record{step});
      spool.append({&item, 1});
    }
  }
  std::string text = testing::read_text(file);
  char& byte = text[text.size() / 2];  // in the second of three items of the same size
  byte = byte == 'x' ? 'y' : 'x';
  testing::write_file(file, text);
  CHECK(Spool(file).size() == 1);
  CHECK(testing::read_text(folder / "x.spool.damaged") == text);
  REQUIRE(log::warnings().size() == 1);
  CHECK(log::warnings()[0].find("x.spool is damaged") != std::string::npos);
  CHECK(Spool(file).size() == 1);
  CHECK(log::warnings().size() == 1);
}

}  // namespace
}  // namespace runner
