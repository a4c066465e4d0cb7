#!/usr/bin/env bash
# A member forgotten in `describe`, listed twice, or under the name of another, must not compile.
set -u
cd "$(dirname "$0")/../.."
compiler=${CXX:-c++}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# compiles NAME yes|no 'fields(..)': whether an aggregate described that way compiles.
compiles() {
  cat > "$folder/$1.cpp" <<CODE
#include "registry/field.hpp"
#include <map>
#include <optional>
#include <string>
#include <vector>
namespace runner {
struct Inner { int x = 1, y = 2; };
struct P {
  double lr = 0.1;
  double decay = 0;
  std::string name = "n";
  std::optional<std::string> note;
  std::vector<int> sizes;
  std::map<std::string, double> weights;
  Inner inner;
};
constexpr auto describe(std::type_identity<P>) { return $3; }
constexpr auto described = described_fields<P>();
}
CODE
  if output=$("$compiler" -std=c++20 -fsyntax-only -I. "$folder/$1.cpp" 2>&1); then result=yes; else result=no; fi
  if [ "$result" != "$2" ]; then
    echo "FAILED: $1 compiles: $result, expected $2"; echo "$output" | head -20; failed=1
  elif [ "$result" = no ] && ! grep -q 'describe() must list' <<<"$output"; then
    echo "FAILED: $1 fails for another reason"; echo "$output" | head -20; failed=1
  fi
}

lr='field("lr", &P::lr, "")' decay='field("decay", &P::decay, "")' name='field("name", &P::name, "")'
note='field("note", &P::note, "")' sizes='field("sizes", &P::sizes, "")' weights='field("weights", &P::weights, "")'
inner='field("inner", &P::inner, "")'

compiles complete yes "fields($lr, $decay, $name, $note, $sizes, $weights, $inner)"
compiles first_forgotten no "fields($decay, $name, $note, $sizes, $weights, $inner)"
compiles optional_forgotten no "fields($lr, $decay, $name, $sizes, $weights, $inner)"
compiles list_forgotten no "fields($lr, $decay, $name, $note, $weights, $inner)"
compiles last_forgotten no "fields($lr, $decay, $name, $note, $sizes, $weights)"
compiles twice_instead no "fields($lr, field(\"decay\", &P::lr, \"\"), $name, $note, $sizes, $weights, $inner)"
compiles same_name no "fields($lr, field(\"lr\", &P::decay, \"\"), $name, $note, $sizes, $weights, $inner)"
exit $failed
