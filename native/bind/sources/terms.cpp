// Derived features.
#include <nanobind/stl/optional.h>

#include <stdexcept>

#include "bind/convert/columns.hpp"
#include "sources/rows/terms.hpp"

namespace thresher::bind {

namespace {

using namespace thresher::sources;

std::vector<Term> terms_of(const Array<const std::int64_t>& indptr, const Array<const std::int64_t>& parts,
                           const Array<const std::uint8_t>& kinds, const Array<const double>& u,
                           const Array<const double>& v, const Keys& keys) {
  const std::size_t n = keys.shape(0);
  if (indptr.shape(0) != n + 1 || kinds.shape(0) != n || u.shape(0) != n || v.shape(0) != n)
    throw nb::value_error("kinds, u, v and parts must have one entry per term");
  std::vector<Term> terms(n);
  for (std::size_t t = 0; t < n; ++t) {
    const std::int64_t begin = indptr.data()[t];
    const std::int64_t end = indptr.data()[t + 1];
    if (begin < 0 || end < begin || static_cast<std::size_t>(end) > parts.shape(0))
      throw nb::value_error("parts out of range");
    if (kinds.data()[t] >= KernelMap::kinds) throw nb::value_error("unknown kernel map");
    terms[t].key = keys.data()[t];
    terms[t].map = {static_cast<KernelMap::Kind>(kinds.data()[t]), u.data()[t], v.data()[t]};
    for (std::int64_t i = begin; i < end; ++i) {
      if (parts.data()[i] < 0 || parts.data()[i] > 0xffffffffLL) throw nb::value_error("parts out of range");
      terms[t].parts.push_back(static_cast<std::uint32_t>(parts.data()[i]));
    }
  }
  return terms;
}

}  // namespace

void bind_terms(nb::module_& m) {
  nb::class_<TermFormer>(m, "TermFormer")
      .def(
          "__init__",
          [](TermFormer* self, std::size_t features, const Array<const std::int64_t>& indptr,
             const Array<const std::int64_t>& parts, const Array<const std::uint8_t>& kinds,
             const Array<const double>& u, const Array<const double>& v,
             const Keys& keys) { new (self) TermFormer(features, terms_of(indptr, parts, kinds, u, v, keys)); },
          nb::arg("features"), nb::arg("indptr"), nb::arg("parts"), nb::arg("kinds"), nb::arg("u"), nb::arg("v"),
          nb::arg("keys"))
      .def(
          "form",
          [](TermFormer& former, const Array<const std::int64_t>& indptr, const Array<const std::int64_t>& features,
             const std::optional<Array<const float>>& values) {
            const std::size_t n = indptr.shape(0) - 1;
            TermFormer::Rows out;
            former.form(indptr.data(), features.data(), values ? values->data() : nullptr, n, out);
            return nb::make_tuple(to_numpy(std::move(out.indptr)), to_numpy(std::move(out.keys)),
                                  to_numpy(std::move(out.values)));
          },
          nb::arg("indptr"), nb::arg("features"), nb::arg("values").none());
}

}  // namespace thresher::bind
