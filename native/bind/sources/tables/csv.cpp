// CSV text to fields, columns and rows of features.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "bind/convert/parsed.hpp"
#include "bind/sources/tables/cells.hpp"
#include "sources/tables/csv_fields.hpp"
#include "sources/tables/csv_rows.hpp"

namespace thresher::bind {

using namespace sources;

namespace {

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

}  // namespace

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
  with_row_options([&m](auto... options) {
    m.def("fields_to_rows", &fields_to_rows, nb::arg("rules"), nb::arg("fields"), nb::arg("n"), nb::arg("name_start"),
          options...);
  });
}

}  // namespace thresher::bind
