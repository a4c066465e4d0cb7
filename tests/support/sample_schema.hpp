// A schema with every type of field and every rule, and a few components, for tests that need no real ones.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "registry/component.hpp"
#include "registry/registry.hpp"

namespace runner::sample {

struct Gadget {
  virtual ~Gadget() = default;
  std::string text;
};
struct GadgetInputs {};
struct GadgetCommon {
  bool strict = true;
  std::optional<int> level;
};
constexpr auto describe(std::type_identity<GadgetCommon>) {
  return fields(field("strict", &GadgetCommon::strict, "Be strict."),
                field("level", &GadgetCommon::level, "How high.", within(0, 9)));
}
inline void check(const GadgetCommon& common, Report& report) {
  if (!common.strict && common.level == 9) report.error("level", "9 is for strict gadgets");
}
struct GadgetKind {
  static constexpr std::string_view name = "gadget";
  static constexpr std::string_view summary = "Something to build.";
  using Product = Gadget;
  using Inputs = GadgetInputs;
  using Common = GadgetCommon;
};

struct Plain {};
constexpr auto describe(std::type_identity<Plain>) { return fields(); }
inline std::unique_ptr<Gadget> build_plain(const Plain&, const GadgetInputs&) {
  return std::make_unique<Gadget>();
}

struct Tuned {
  double lr = 0.1;
  double momentum = 0.9;
  bool nesterov = false;
  std::string token;
};
constexpr auto describe(std::type_identity<Tuned>) {
  return fields(field("lr", &Tuned::lr, "Peak learning rate.", above(0)),
                field("momentum", &Tuned::momentum, "Velocity decay.", within(0, 1)),
                field("nesterov", &Tuned::nesterov, "Look ahead."),
                field("token", &Tuned::token, "Opens the door.", secret()));
}
inline void check(const Tuned& p, Report& report) {
  if (p.nesterov && p.momentum == 0) report.error("nesterov", "needs momentum above 0");
}
inline std::unique_ptr<Gadget> build_tuned(const Tuned& p, const GadgetInputs&) {
  auto gadget = std::make_unique<Gadget>();
  gadget->text = "tuned " + std::to_string(p.lr);
  return gadget;
}

struct Nested {
  std::vector<Part<GadgetKind>> inner;
};
constexpr auto describe(std::type_identity<Nested>) {
  return fields(field("inner", &Nested::inner, "Gadgets inside this one."));
}
inline std::unique_ptr<Gadget> build_nested(const Nested& p, const GadgetInputs& inputs) {
  auto gadget = std::make_unique<Gadget>();
  for (const auto& part : p.inner) gadget->text += "(" + part.build(inputs)->text + ")";
  return gadget;
}

inline const Registration<GadgetKind> plain{"plain", "Nothing to set.", &build_plain};
inline const Registration<GadgetKind> tuned{"tuned", "Much to set.", &build_tuned};
inline const Registration<GadgetKind> nested{"nested", "Holds others.", &build_nested};

inline Registry registry() {
  return Registry({&plain.descriptor(), &tuned.descriptor(), &nested.descriptor()});
}

enum class Shape { round, square };
constexpr auto describe(std::type_identity<Shape>) {
  return choices(choice("round", Shape::round, "no corners"), choice("square", Shape::square));
}

struct Window {
  std::int64_t low = 0;
  std::int64_t high = 10;
};
constexpr auto describe(std::type_identity<Window>) {
  return fields(field("low", &Window::low, "Where it starts."),
                field("high", &Window::high, "Where it ends."));
}
inline void check(const Window& window, Report& report) {
  if (window.low > window.high) report.error("low", "must not be above high");
}

struct Everything {
  bool flag = false;
  int count = 3;
  std::uint8_t small = 7;
  std::int64_t whole = 0;
  double ratio = 0.5;
  float rough = 0.1F;
  std::string title = "untitled";
  std::string colour = "red";
  Shape shape = Shape::round;
  std::filesystem::path folder = "out";
  Duration every = epochs(1);
  Duration limit = seconds(7200);
  ByteSize buffer{25'000'000};
  std::optional<std::int64_t> maybe;
  std::optional<std::string> note;
  std::vector<std::int64_t> sizes = {1, 2};
  std::vector<std::string> tags;
  std::vector<std::vector<double>> matrix;
  Window window;
  std::optional<Window> span;
  std::vector<Window> windows;
  std::map<std::string, double> weights = {{"a", 1}};
  std::map<std::string, std::string> labels;
  Part<GadgetKind> gadget = "plain";
  std::vector<Part<GadgetKind>> gadgets;
  std::string token;
  std::int64_t fresh = 5;
};
constexpr auto describe(std::type_identity<Everything>) {
  return fields(
      field("flag", &Everything::flag, "A flag."),
      field("count", &Everything::count, "A count.", within(1, 100)),
      field("small", &Everything::small, "A small number."),
      field("whole", &Everything::whole, "Any whole number."),
      field("ratio", &Everything::ratio, "A share.", within(0, 1)),
      field("rough", &Everything::rough, "A float.", below(10)),
      field("title", &Everything::title, "A title.", non_empty()),
      field("colour", &Everything::colour, "A colour.", one_of({"red", "green", "blue"})),
      field("shape", &Everything::shape, "A shape."), field("folder", &Everything::folder, "A folder."),
      field("every", &Everything::every, "How often.", above(0)),
      field("limit", &Everything::limit, "How long.", in_units({"s"}), above(0)),
      field("buffer", &Everything::buffer, "How much.", at_least(1)),
      field("maybe", &Everything::maybe, "Perhaps."), field("note", &Everything::note, "A remark."),
      field("sizes", &Everything::sizes, "Sizes.", at_least(1), non_empty()),
      field("tags", &Everything::tags, "Tags."), field("matrix", &Everything::matrix, "Rows."),
      field("window", &Everything::window, "A window."), field("span", &Everything::span, "Another window."),
      field("windows", &Everything::windows, "More windows."),
      field("weights", &Everything::weights, "Weights by name.", at_least(0)),
      field("labels", &Everything::labels, "Labels by name."),
      field("gadget", &Everything::gadget, "A gadget."),
      field("gadgets", &Everything::gadgets, "More gadgets."),
      field("token", &Everything::token, "Opens the gate.", secret()),
      field("fresh", &Everything::fresh, "Has a new name.", renamed_from("stale")));
}

struct Demanding {
  std::int64_t must = 0;
  Part<GadgetKind> gadget;
};
constexpr auto describe(std::type_identity<Demanding>) {
  return fields(field("must", &Demanding::must, "Has to be there.", required()),
                field("gadget", &Demanding::gadget, "So has this.", required()));
}

}  // namespace runner::sample
