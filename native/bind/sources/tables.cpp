// Tables and texts: Arrow buffers to rows of features.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "bind/convert/arrays.hpp"
#include "bind/convert/counts.hpp"
#include "bind/convert/parsed.hpp"
#include "sources/tables/csv_fields.hpp"
#include "sources/tables/csv_rows.hpp"
#include "sources/tables/ngrams.hpp"
#include "sources/tables/table_rows.hpp"

namespace thresher::bind {

namespace {

using namespace sources;

template <class T>
using Maybe = std::optional<Array<const T>>;
using Bytes = Array<const std::uint8_t>;

/// Cells together with the arrays they refer to.
struct CellsWithOwners {
  Cells cells;
  Maybe<std::uint8_t> validity;
  Maybe<double> numbers;
  Maybe<std::int32_t> narrow;
  Maybe<std::int64_t> wide;
  Maybe<std::uint8_t> text;
  std::shared_ptr<CellsWithOwners> values;
  std::shared_ptr<CellsWithOwners> amounts;
};

/// Raise unless offsets are ascending and within `size`.
void check_offsets(const Offsets& offsets, std::size_t n, std::size_t size) {
  std::int64_t before = 0;
  for (std::size_t i = 0; i <= n; ++i) {
    const std::int64_t at = offsets[i];
    if (at < before) throw nb::value_error("offsets must not fall");
    before = at;
  }
  if (static_cast<std::size_t>(before) > size) throw nb::value_error("offsets out of range");
}

Offsets offsets_of(const CellsWithOwners& held, std::size_t n) {
  if ((held.narrow ? held.narrow->shape(0) : held.wide->shape(0)) < n + 1) throw nb::value_error("too few offsets");
  return {held.narrow ? held.narrow->data() : nullptr, held.wide ? held.wide->data() : nullptr};
}

void check_validity(CellsWithOwners& held, std::size_t n, const Maybe<std::uint8_t>& validity, std::size_t first_bit) {
  held.cells.n = n;
  held.validity = validity;
  held.cells.first_bit = first_bit;
  if (!validity) return;
  if (8 * validity->shape(0) < first_bit + n) throw nb::value_error("the validity bitmap is too short");
  held.cells.validity = validity->data();
}

std::shared_ptr<CellsWithOwners> number_cells(std::size_t n, const Array<const double>& numbers,
                                              const Maybe<std::uint8_t>& validity, std::size_t first_bit) {
  auto held = std::make_shared<CellsWithOwners>();
  check_validity(*held, n, validity, first_bit);
  if (numbers.shape(0) < n) throw nb::value_error("too few numbers");
  held->numbers = numbers;
  held->cells.numbers = numbers.data();
  return held;
}

template <class T>
void take_offsets(CellsWithOwners& held, const Array<const T>& offsets) {
  if constexpr (sizeof(T) == 4)
    held.narrow = offsets;
  else
    held.wide = offsets;
}

template <class T>
std::shared_ptr<CellsWithOwners> text_cells(std::size_t n, const Array<const T>& offsets, const Bytes& text,
                                            const Maybe<std::uint8_t>& validity, std::size_t first_bit,
                                            std::uint64_t name_start) {
  auto held = std::make_shared<CellsWithOwners>();
  check_validity(*held, n, validity, first_bit);
  take_offsets(*held, offsets);
  held->cells.texts = offsets_of(*held, n);
  check_offsets(held->cells.texts, n, text.shape(0));
  if (name_start + text.shape(0) > PackedName::farthest) throw nb::value_error("names reach over 4 GB of text at most");
  held->text = text;
  held->cells.text = reinterpret_cast<const char*>(text.data());
  held->cells.text_size = text.shape(0);
  held->cells.name_start = name_start;
  return held;
}

template <class T>
std::shared_ptr<CellsWithOwners> list_cells(std::size_t n, const Array<const T>& offsets,
                                            const std::shared_ptr<CellsWithOwners>& values,
                                            const Maybe<std::uint8_t>& validity, std::size_t first_bit,
                                            const std::shared_ptr<CellsWithOwners>& amounts) {
  auto held = std::make_shared<CellsWithOwners>();
  check_validity(*held, n, validity, first_bit);
  take_offsets(*held, offsets);
  held->cells.lists = offsets_of(*held, n);
  check_offsets(held->cells.lists, n, values->cells.n);
  if (values->cells.lists.present()) throw nb::value_error("no lists in lists");
  if (amounts && (amounts->cells.n < values->cells.n || amounts->cells.numbers == nullptr))
    throw nb::value_error("too few amounts for the values of a map");
  held->values = values;
  held->amounts = amounts;
  held->cells.values = &values->cells;
  held->cells.amounts = amounts ? &amounts->cells : nullptr;
  return held;
}

using Held = std::shared_ptr<CellsWithOwners>;

void bind_cells(nb::module_& m) {
  nb::class_<CellsWithOwners>(m, "Cells");
  m.def("number_cells", &number_cells, nb::arg("n"), nb::arg("numbers"), nb::arg("validity").none() = nb::none(),
        nb::arg("first_bit") = 0);
  const auto def_texts = [&m](auto* function) {
    m.def("text_cells", function, nb::arg("n"), nb::arg("offsets").noconvert(), nb::arg("text"),
          nb::arg("validity").none() = nb::none(), nb::arg("first_bit") = 0, nb::arg("name_start") = 0);
  };
  def_texts(&text_cells<std::int32_t>);
  def_texts(&text_cells<std::int64_t>);
  const auto def_lists = [&m](auto* function) {
    m.def("list_cells", function, nb::arg("n"), nb::arg("offsets").noconvert(), nb::arg("values"),
          nb::arg("validity").none() = nb::none(), nb::arg("first_bit") = 0, nb::arg("amounts").none() = nb::none());
  };
  def_lists(&list_cells<std::int32_t>);
  def_lists(&list_cells<std::int64_t>);
}

void bind_rules(nb::module_& m) {
  nb::class_<ColumnRule>(m, "ColumnRule")
      .def(nb::init<>())
      .def(nb::init<const ColumnRule&>())
      .def_rw("category", &ColumnRule::category)
      .def_rw("key", &ColumnRule::key)
      .def_rw("word", &ColumnRule::word)
      .def_rw("seed", &ColumnRule::seed)
      .def_rw("prefix", &ColumnRule::prefix)
      .def_rw("missing_counts", &ColumnRule::missing_counts)
      .def_rw("missing_key", &ColumnRule::missing_key)
      .def_rw("missing_word", &ColumnRule::missing_word)
      .def("set_bins",
           [](ColumnRule& rule, std::vector<double> edges, std::vector<std::uint64_t> keys,
              std::vector<std::uint64_t> words) {
             if (keys.size() != edges.size() + 1 || words.size() != keys.size())
               throw nb::value_error("one bin more than edges is needed");
             rule.bins = std::make_shared<NumberBins>(NumberBins{std::move(edges), std::move(keys), std::move(words)});
           })
      .def("set_time",
           [](ColumnRule& rule, const std::array<std::uint64_t, TimeRule::fields>& seeds,
              const std::array<std::uint64_t, TimeRule::fields>& prefixes, const std::array<std::uint64_t, 7>& keys,
              const std::array<std::uint64_t, 7>& words) {
             rule.time = std::make_shared<const TimeRule>(TimeRule{seeds, prefixes, keys, words});
           })
      .def("set_places", [](ColumnRule& rule, std::vector<std::uint64_t> keys, std::vector<std::uint64_t> words) {
        if (words.size() != keys.size()) throw nb::value_error("names must have one entry per position");
        rule.places = std::make_shared<ListPlaces>(ListPlaces{std::move(keys), std::move(words)});
      });
}

RowLabels labels_of(const Held& target, bool target_is_text, bool labels_optional, const Held& weight, std::size_t n) {
  if ((target && target->cells.n < n) || (weight && weight->cells.n < n)) throw nb::value_error("too few labels");
  if ((target && target->cells.lists.present()) || (weight && weight->cells.lists.present()))
    throw nb::value_error("a list cannot be a label");
  return {target ? &target->cells : nullptr, target_is_text, labels_optional, weight ? &weight->cells : nullptr};
}

/// Raise unless a rule can be applied to such cells.
void check_rule(const ColumnRule& rule, const Cells& cells) {
  const Cells& inner = cells.lists.present() ? *cells.values : cells;
  if (rule.category && inner.numbers != nullptr) throw nb::value_error("categories are texts");
  if (rule.time && (cells.lists.present() || cells.numbers != nullptr)) throw nb::value_error("times are texts");
  if (cells.amounts != nullptr && !rule.category) throw nb::value_error("a map has texts for keys");
  if (cells.lists.present() && !rule.category)
    for (std::size_t i = 0; i < cells.n; ++i)
      if (static_cast<std::size_t>(cells.lists[i + 1] - cells.lists[i]) > (rule.places ? rule.places->keys.size() : 0))
        throw nb::value_error("keys must have one entry per position of a list");
}

nb::dict columns_to_rows(const std::vector<const ColumnRule*>& rules, const std::vector<Held>& columns, std::size_t n,
                         const Held& target, bool target_is_text, const Held& weight, std::size_t rows, bool skip,
                         bool labels_optional, bool want_names, const KeyIndex* only, std::size_t features) {
  if (rules.size() != columns.size()) throw nb::value_error("rules must have one entry per column");
  std::vector<TableColumn> table;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!columns[c] || rules[c] == nullptr || columns[c]->cells.n < n) throw nb::value_error("too few cells");
    check_rule(*rules[c], columns[c]->cells);
    table.push_back({rules[c], &columns[c]->cells});
  }
  const ParseOptions options{rows, skip, labels_optional, false, want_names, only, features};
  const RowLabels labels = labels_of(target, target_is_text, labels_optional, weight, n);
  ParsedRows parsed;
  {
    const nb::gil_scoped_release nogil;
    table_rows(table, n, labels, options, parsed);
  }
  return as_dict(std::move(parsed), options);
}

/// CSV fields together with the block they refer to.
struct FieldsWithOwner {
  Bytes block;
  CsvFields fields;
};

CsvMarks marks_of(int delimiter, int quote) { return {static_cast<char>(delimiter), static_cast<char>(quote)}; }

const char* checked_text(const Bytes& block, std::size_t begin, std::size_t end) {
  if (begin > end || end > block.shape(0)) throw nb::value_error("out of the block");
  return reinterpret_cast<const char*>(block.data()) + begin;
}

NullTexts null_texts(const std::vector<nb::bytes>& nulls) {
  std::vector<std::string> texts;
  for (const nb::bytes& null : nulls) texts.emplace_back(null.c_str(), null.size());
  return NullTexts(std::move(texts));
}

void make_fields(FieldsWithOwner* self, const Bytes& block, std::size_t begin, std::size_t end, int delimiter,
                 int quote, const Array<const std::int32_t>& places, std::size_t width,
                 const std::vector<nb::bytes>& nulls) {
  const char* const text = checked_text(block, begin, end);
  if (end - begin >= CsvFields::longest_text) throw nb::value_error("the text is too long");
  std::vector<bool> filled(width);
  for (std::size_t c = 0; c < places.shape(0); ++c) {
    if (places.data()[c] < 0) continue;
    const auto place = static_cast<std::size_t>(places.data()[c]);
    if (place >= width || filled[place]) throw nb::value_error("a place needs one column");
    filled[place] = true;
  }
  if (std::find(filled.begin(), filled.end(), false) != filled.end()) throw nb::value_error("a place has no column");
  const NullTexts missing = null_texts(nulls);
  const auto split = [&] {
    const nb::gil_scoped_release nogil;
    return CsvFields(text, end - begin, block.shape(0) - begin, marks_of(delimiter, quote),
                     {places.data(), places.shape(0), width}, missing);
  };
  new (self) FieldsWithOwner{block, split()};
}

/// One column in Arrow layout: (validity bits, offsets, text).
nb::tuple field_column(const FieldsWithOwner& held, std::size_t place) {
  const CsvFields& fields = held.fields;
  if (place >= fields.width()) throw nb::index_error("no such place");
  Buffer<std::uint8_t> validity;
  Buffer<std::int64_t> offsets;
  Buffer<std::uint8_t> text;
  validity.assign(fields.rows() / 8 + 1, 0);
  offsets.push(0);
  for (std::size_t row = 0; row < fields.rows(); ++row) {
    if (!fields.missing(row, place)) {
      validity[row / 8] = static_cast<std::uint8_t>(validity[row / 8] | 1U << (row % 8));
      const std::string_view found = fields.text(row, place);
      const std::size_t at = text.size();
      text.resize(at + found.size());
      if (!found.empty()) std::memcpy(text.data() + at, found.data(), found.size());
    }
    offsets.push(static_cast<std::int64_t>(text.size()));
  }
  return nb::make_tuple(to_numpy(std::move(validity)), to_numpy(std::move(offsets)), to_numpy(std::move(text)));
}

nb::dict fields_to_rows(const std::vector<const ColumnRule*>& rules, const FieldsWithOwner& held, std::size_t n,
                        std::uint64_t name_start, const Held& target, bool target_is_text, const Held& weight,
                        std::size_t rows, bool skip, bool labels_optional, bool want_names, const KeyIndex* only,
                        std::size_t features) {
  if (n > held.fields.rows() || rules.size() > held.fields.width()) throw nb::value_error("too few fields");
  for (const ColumnRule* const rule : rules)
    if (rule == nullptr) throw nb::value_error("a rule for each column is needed");
  const ParseOptions options{rows, skip, labels_optional, false, want_names, only, features};
  const RowLabels labels = labels_of(target, target_is_text, labels_optional, weight, n);
  ParsedRows parsed;
  CellNames names{name_start, {}};
  {
    const nb::gil_scoped_release nogil;
    field_rows(rules, held.fields, n, labels, options, names, parsed);
  }
  nb::dict out = as_dict(std::move(parsed), options);
  out["text"] = names.text.size() == 0 ? nb::none() : to_numpy(std::move(names.text)).attr("view")("uint8");
  return out;
}

nb::dict texts_to_rows(const NgramForm& form, const UnicodeClasses& characters, const Held& documents,
                       const Held& words, const Held& target, bool target_is_text, const Held& weight, std::size_t rows,
                       bool skip, bool labels_optional, bool want_names, const KeyIndex* only, std::size_t features) {
  const std::size_t n = documents->cells.n;
  if (!documents->cells.texts.present()) throw nb::value_error("texts are needed");
  if (words && (words->cells.n < n || !words->cells.lists.present() || !words->cells.values->texts.present()))
    throw nb::value_error("words must have one list per text");
  const ParseOptions options{rows, skip, labels_optional, false, want_names, only, features};
  const RowLabels labels = labels_of(target, target_is_text, labels_optional, weight, n);
  ParsedRows parsed;
  NgramMaker maker(form, characters);
  {
    const nb::gil_scoped_release nogil;
    text_rows(documents->cells, words ? &words->cells : nullptr, labels, options, maker, parsed);
  }
  nb::dict out = as_dict(std::move(parsed), options);
  if (want_names) out["text"] = to_numpy(Buffer<char>(std::move(maker.text()))).attr("view")("uint8");
  return out;
}

template <class... Arguments>
void bind_texts(nb::module_& m, Arguments... options) {
  nb::class_<UnicodeClasses>(m, "Characters")
      .def("__init__", [](UnicodeClasses* self, const Bytes& kinds, const Array<const std::uint32_t>& from,
                          const Array<const std::uint32_t>& to) {
        if (from.shape(0) != to.shape(0)) throw nb::value_error("lower must have one entry per cased character");
        std::vector<std::pair<std::uint32_t, std::uint32_t>> lower;
        for (std::size_t i = 0; i < from.shape(0); ++i) lower.emplace_back(from.data()[i], to.data()[i]);
        new (self)
            UnicodeClasses(std::vector<std::uint8_t>(kinds.data(), kinds.data() + kinds.shape(0)), std::move(lower));
      });
  nb::class_<NgramForm>(m, "NgramForm")
      .def(
          "__init__",
          [](NgramForm* self, unsigned words_from, unsigned words_to, unsigned chars_from, unsigned chars_to,
             bool chars_in_words, bool lower, const std::string& counts, bool unit, std::uint64_t words_seed,
             std::uint64_t words_prefix, std::uint64_t chars_seed, std::uint64_t chars_prefix, const KeyIndex* stop) {
            const NgramForm form{words_from, words_to,          chars_from, chars_to,   chars_in_words,
                                 lower,      counts_of(counts), unit,       words_seed, words_prefix,
                                 chars_seed, chars_prefix,      stop};
            form.check();
            new (self) NgramForm(form);
          },
          nb::kw_only(), nb::arg("words_from"), nb::arg("words_to"), nb::arg("chars_from") = 0, nb::arg("chars_to") = 0,
          nb::arg("chars_in_words") = false, nb::arg("lower") = true, nb::arg("counts") = "count",
          nb::arg("unit") = false, nb::arg("words_seed") = 0, nb::arg("words_prefix") = 0, nb::arg("chars_seed") = 0,
          nb::arg("chars_prefix") = 0, nb::arg("stop").none() = nb::none(), nb::keep_alive<1, 14>());
  m.def("texts_to_rows", &texts_to_rows, nb::arg("form"), nb::arg("characters"), nb::arg("documents"),
        nb::arg("words").none() = nb::none(), options...);
}

void bind_csv(nb::module_& m) {
  m.def(
      "csv_rows",
      [](const Bytes& block, std::size_t begin, std::size_t end, int delimiter, int quote, std::size_t rows) {
        CsvRows out = csv_rows(checked_text(block, begin, end), end - begin, marks_of(delimiter, quote), rows);
        return nb::make_tuple(to_numpy(std::move(out.starts)), to_numpy(std::move(out.lines)), out.size,
                              out.size_lines);
      },
      nb::arg("block"), nb::arg("begin"), nb::arg("end"), nb::arg("delimiter"), nb::arg("quote"), nb::arg("rows"));
  m.def(
      "after_last_row",
      [](const Bytes& block, std::size_t end, int delimiter, int quote) {
        return after_last_row(checked_text(block, 0, end), end, marks_of(delimiter, quote));
      },
      nb::arg("block"), nb::arg("end"), nb::arg("delimiter"), nb::arg("quote"));
  m.def(
      "csv_slice",
      [](const Bytes& block, std::size_t begin, std::size_t end, int delimiter, int quote, std::size_t columns,
         std::size_t first, std::size_t last) {
        std::size_t rows = 0;
        Buffer<char> out = csv_slice(checked_text(block, begin, end), end - begin, marks_of(delimiter, quote), columns,
                                     first, last, rows);
        return nb::make_tuple(to_numpy(std::move(out)).attr("view")("uint8"), rows);
      },
      nb::arg("block"), nb::arg("begin"), nb::arg("end"), nb::arg("delimiter"), nb::arg("quote"), nb::arg("columns"),
      nb::arg("first"), nb::arg("last"));
  m.def(
      "number_columns",
      [](const Bytes& block, std::size_t begin, std::size_t end, int delimiter, int quote, std::size_t columns,
         const std::vector<nb::bytes>& nulls) {
        return to_numpy(number_columns(checked_text(block, begin, end), end - begin, marks_of(delimiter, quote),
                                       columns, null_texts(nulls)));
      },
      nb::arg("block"), nb::arg("begin"), nb::arg("end"), nb::arg("delimiter"), nb::arg("quote"), nb::arg("columns"),
      nb::arg("nulls"));
  nb::class_<FieldsWithOwner>(m, "CsvFields")
      .def("__init__", &make_fields, nb::arg("block"), nb::arg("begin"), nb::arg("end"), nb::arg("delimiter"),
           nb::arg("quote"), nb::arg("places"), nb::arg("width"), nb::arg("nulls"))
      .def_prop_ro("rows", [](const FieldsWithOwner& held) { return held.fields.rows(); })
      .def_prop_ro("bad_rows",
                   [](const FieldsWithOwner& held) {
                     nb::list out;
                     for (const CsvFields::BadRow& bad : held.fields.bad())
                       out.append(nb::make_tuple(bad.row, bad.fields));
                     return out;
                   })
      .def("column", &field_column, nb::arg("place"));
}

}  // namespace

void bind_tables(nb::module_& m) {
  bind_cells(m);
  bind_rules(m);
  bind_csv(m);
  const auto with_options = [&m](auto&& define) {
    define(nb::kw_only(), nb::arg("target").none() = nb::none(), nb::arg("target_is_text") = false,
           nb::arg("weight").none() = nb::none(), nb::arg("rows"), nb::arg("skip") = false,
           nb::arg("labels_optional") = false, nb::arg("want_names") = false, nb::arg("only").none() = nb::none(),
           nb::arg("features") = ParseOptions{}.most_features);
  };
  with_options([&m](auto... options) {
    m.def("columns_to_rows", &columns_to_rows, nb::arg("rules"), nb::arg("columns"), nb::arg("n"), options...);
    m.def("fields_to_rows", &fields_to_rows, nb::arg("rules"), nb::arg("fields"), nb::arg("n"), nb::arg("name_start"),
          options...);
    bind_texts(m, options...);
  });
}

}  // namespace thresher::bind
