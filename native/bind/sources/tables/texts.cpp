// Texts to rows of n-grams.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/convert/counts.hpp"
#include "bind/convert/parsed.hpp"
#include "bind/sources/tables/cells.hpp"
#include "sources/tables/ngrams.hpp"

namespace thresher::bind {

using namespace sources;

namespace {

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

}  // namespace

void bind_texts(nb::module_& m) {
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
  with_row_options([&m](auto... options) {
    m.def("texts_to_rows", &texts_to_rows, nb::arg("form"), nb::arg("characters"), nb::arg("documents"),
          nb::arg("words").none() = nb::none(), options...);
  });
}

}  // namespace thresher::bind
