// Rows written to cache files and read back.
#include "base/checksum.hpp"
#include "bind/convert/arrays.hpp"
#include "bind/convert/names.hpp"
#include "sources/rows/compact_names.hpp"

namespace thresher::bind {

namespace {

std::uint64_t checksum_of(const Array<const std::uint8_t>& bytes, std::uint64_t seed) {
  const nb::gil_scoped_release nogil;
  return checksum(reinterpret_cast<const char*>(bytes.data()), bytes.shape(0), seed);
}

/// (words, text) of the same names without duplicates; None if that would take more text than now.
nb::object compact_names(const Array<const std::uint64_t>& keys, const Array<const std::uint64_t>& words,
                         const Array<const std::uint8_t>& text) {
  const std::size_t n = keys.shape(0);
  if (words.shape(0) != n) throw nb::value_error("one name a key is needed");
  if (n > 0xfffffffeU || text.shape(0) > PackedName::farthest) throw nb::value_error("too many names");
  for (std::size_t i = 0; i < n; ++i)
    if (PackedName::start(words.data()[i]) + PackedName::length(words.data()[i]) > text.shape(0))
      throw nb::value_error("a name lies outside its text");
  sources::CompactNames out;
  bool smaller = false;
  {
    const nb::gil_scoped_release nogil;
    smaller = sources::compact_names(keys.data(), words.data(), n, reinterpret_cast<const char*>(text.data()),
                                     text.shape(0), out);
  }
  if (!smaller) return nb::none();
  return nb::make_tuple(to_numpy(std::move(out.words)), to_numpy(std::move(out.text)));
}

}  // namespace

void bind_cache(nb::module_& m) {
  m.def("checksum", &checksum_of, nb::arg("bytes"), nb::arg("seed") = 0);
  m.def("compact_names", &compact_names, nb::arg("keys"), nb::arg("words"), nb::arg("text"));
}

}  // namespace thresher::bind
