// Products of features, and their names.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <charconv>

#include "bind/convert/arrays.hpp"
#include "bind/convert/names.hpp"
#include "sources/rows/feature_products.hpp"
#include "sources/rows/name_groups.hpp"
#include "sources/rows/name_patterns.hpp"

namespace thresher::bind {

namespace {

using sources::ProductFormer;
using sources::ProductRows;
using sources::ProductRule;
using Groups = std::optional<Array<const std::int64_t>>;

/// A rule from lists of two or three group numbers.
void make_rule(ProductRule* self, std::size_t groups, const std::vector<std::vector<std::int64_t>>& combinations,
               bool squares) {
  ProductRule rule{groups, {}, squares};
  for (std::vector<std::int64_t> given : combinations) {
    if (given.size() < 2 || given.size() > 3) throw nb::value_error("products are of two or three features");
    std::sort(given.begin(), given.end());
    if (given.front() < 0 || given.back() >= static_cast<std::int64_t>(groups)) throw nb::value_error("no such group");
    ProductRule::Combination& made = rule.combinations.emplace_back();
    made.parts = given.size();
    std::copy(given.begin(), given.end(), made.groups.begin());
  }
  new (self) ProductRule(std::move(rule));
}

/// Check the groups of the features.
const std::int64_t* checked(const ProductRule& rule, const Groups& groups, std::size_t n) {
  if (!groups) {
    if (rule.groups != 1) throw nb::value_error("a group for each feature is needed");
    return nullptr;
  }
  if (groups->shape(0) != n) throw nb::value_error("a group for each feature is needed");
  for (std::size_t i = 0; i < n; ++i)
    if (groups->data()[i] >= static_cast<std::int64_t>(rule.groups)) throw nb::value_error("no such group");
  return groups->data();
}

nb::object count(const ProductRule& rule, const Array<const std::int64_t>& indptr, const Groups& groups) {
  const std::size_t n = indptr.shape(0) == 0 ? 0 : static_cast<std::size_t>(indptr.data()[indptr.shape(0) - 1]);
  if (indptr.shape(0) == 0 || !std::is_sorted(indptr.data(), indptr.data() + indptr.shape(0)) || indptr.data()[0] != 0)
    throw nb::value_error("indptr must start at 0 and never fall");
  const std::int64_t* of = checked(rule, groups, n);
  Buffer<std::uint64_t> counts;
  counts.resize(indptr.shape(0) - 1);
  ProductFormer(rule, nullptr, false).count({indptr.data(), nullptr, nullptr, counts.size(), {}}, of, counts.data());
  return to_numpy(std::move(counts));
}

/// (indptr, keys, values, names, overflowing row or -1) of the rows with their products; about `features` in all.
nb::tuple form(const ProductRule& rule, const Array<const std::int64_t>& indptr, const Array<const std::uint64_t>& keys,
               const std::optional<Array<const float>>& values, const Groups& groups, const KeyIndex* only,
               bool want_names, std::size_t features) {
  const Rows rows = rows_of(indptr, keys, values);
  if (want_names && keys.shape(0) > ProductName::most_parents) throw nb::value_error("too many features to number");
  const std::int64_t* of = checked(rule, groups, keys.shape(0));
  ProductRows out;
  std::int64_t bad = ProductFormer::all_well;
  {
    const nb::gil_scoped_release nogil;
    if (only == nullptr) {
      out.keys.reserve(features);
      if (values) out.values.reserve(features);
      if (want_names) out.names.reserve(features);
    }
    bad = ProductFormer(rule, only, want_names).form(rows, of, out);
  }
  return nb::make_tuple(to_numpy(std::move(out.indptr)), to_numpy(std::move(out.keys)),
                        out.valued ? to_numpy(std::move(out.values)) : nb::none(),
                        want_names ? to_numpy(std::move(out.names)) : nb::none(), bad);
}

nb::object name_groups(const Array<const std::uint64_t>& words, const Array<const std::uint8_t>& text,
                       const std::vector<nb::bytes>& prefixes, const std::vector<nb::bytes>& wanted) {
  const NameTable table = name_table(words.shape(0), words, text, prefixes, {});
  std::vector<std::string> names;
  for (const nb::bytes& name : wanted) names.emplace_back(name.c_str(), name.size());
  Buffer<std::int64_t> groups;
  groups.resize(words.shape(0));
  {
    const nb::gil_scoped_release nogil;
    sources::name_groups(table, words.shape(0), names, groups.data());
  }
  return to_numpy(std::move(groups));
}

/// (which names match a pattern, which patterns matched); a pattern is a list of `NamePattern` tokens.
nb::tuple match_names(const Array<const std::uint64_t>& words, const Array<const std::uint8_t>& text,
                      const std::vector<nb::bytes>& prefixes, std::vector<std::vector<std::uint16_t>> patterns) {
  const NameTable table = name_table(words.shape(0), words, text, prefixes, {});
  std::vector<sources::NamePattern> compiled;
  for (std::vector<std::uint16_t>& tokens : patterns) compiled.emplace_back(std::move(tokens));
  Buffer<std::uint8_t> flags;
  Buffer<std::uint8_t> found;
  flags.resize(words.shape(0));
  found.assign(compiled.size(), 0);
  {
    const nb::gil_scoped_release nogil;
    sources::match_names(table, words.shape(0), compiled, flags.data(), found.data());
  }
  return nb::make_tuple(to_numpy(std::move(flags)), to_numpy(std::move(found)));
}

/// Keys as decimal names: (words, text), with prefix number `prefix`.
nb::tuple spelled_keys(const Array<const std::uint64_t>& keys, std::uint64_t prefix) {
  if (keys.shape(0) > (1U << 24) || prefix >= PackedName::most_prefixes) throw nb::value_error("too many names");
  constexpr std::size_t longest = 20;
  Buffer<std::uint64_t> words;
  Buffer<std::uint8_t> text;
  words.resize(keys.shape(0));
  text.resize(keys.shape(0) * longest);
  char* const begin = reinterpret_cast<char*>(text.data());
  char* at = begin;
  for (std::size_t i = 0; i < keys.shape(0); ++i) {
    char* const end = std::to_chars(at, at + longest, keys.data()[i]).ptr;
    words[i] = PackedName::pack(static_cast<std::uint64_t>(at - begin), static_cast<std::uint64_t>(end - at), prefix);
    at = end;
  }
  text.resize(static_cast<std::size_t>(at - begin));
  return nb::make_tuple(to_numpy(std::move(words)), to_numpy(std::move(text)));
}

nb::list spelled_names(const Array<const std::uint64_t>& words, const Array<const std::uint8_t>& text,
                       const std::vector<nb::bytes>& prefixes, const Words& parents, std::size_t longest) {
  const NameTable table = name_table(words.shape(0), words, text, prefixes, parents);
  nb::list out;
  for (std::size_t i = 0; i < words.shape(0); ++i) {
    const std::string name = format_name(table.at(i), longest);
    out.append(nb::bytes(name.data(), name.size()));
  }
  return out;
}

}  // namespace

void bind_products(nb::module_& m) {
  m.attr("most_parents") = ProductName::most_parents;
  nb::class_<ProductRule>(m, "ProductRule")
      .def("__init__", &make_rule, nb::arg("groups"), nb::arg("combinations"), nb::arg("squares") = false)
      .def("count", &count, nb::arg("indptr"), nb::arg("groups").none() = nb::none())
      .def("form", &form, nb::arg("indptr"), nb::arg("keys"), nb::arg("values").none(),
           nb::arg("groups").none() = nb::none(), nb::arg("only").none() = nb::none(), nb::arg("want_names") = false,
           nb::arg("features") = 0);
  m.def("name_groups", &name_groups, nb::arg("words"), nb::arg("text"), nb::arg("prefixes"), nb::arg("wanted"));
  m.def("match_names", &match_names, nb::arg("words"), nb::arg("text"), nb::arg("prefixes"), nb::arg("patterns"));
  m.def("spelled_keys", &spelled_keys, nb::arg("keys"), nb::arg("prefix") = 0);
  m.def("spelled_names", &spelled_names, nb::arg("words"), nb::arg("text"), nb::arg("prefixes"),
        nb::arg("parents").none() = nb::none(), nb::arg("longest") = std::string::npos);
}

}  // namespace thresher::bind
