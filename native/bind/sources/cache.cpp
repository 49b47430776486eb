// Rows written to cache files and read back.
#include <nanobind/stl/optional.h>

#include <csignal>
#include <span>
#ifdef SIGBUS
#include <unistd.h>
#endif

#include "base/checksum.hpp"
#include "bind/convert/arrays.hpp"
#include "bind/convert/names.hpp"
#include "sources/rows/compact_names.hpp"
#include "sources/rows/stored_rows.hpp"

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
    if (!sources::lies_within(words.data()[i], text.shape(0))) throw nb::value_error("a name lies outside its text");
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

#ifdef SIGBUS
extern "C" void report_bus_error(int) {
  constexpr char message[] =
      "thresher: a file was cut short while it was mapped into memory, or its disk failed. Run again when it is "
      "complete.\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message, sizeof message - 1);
  ::_exit(1);  // all that is left to do in a signal handler
}
#endif

/// End the process with a message, instead of a signal, when a mapped file ends before its map.
void report_bus_errors() {
#ifdef SIGBUS
  std::signal(SIGBUS, report_bus_error);
#endif
}

template <class T>
std::span<const T> span_of(const Array<const T>& array) {
  return {array.data(), array.shape(0)};
}

template <class T>
std::optional<std::span<const T>> span_of(const std::optional<Array<const T>>& array) {
  return array ? std::optional(span_of(*array)) : std::nullopt;
}

void check_rows(const Array<const std::int64_t>& indptr, const Array<const std::uint64_t>& keys,
                const std::optional<Array<const float>>& values, const std::optional<Array<const double>>& y,
                const std::optional<Array<const std::int64_t>>& y_indptr,
                const std::optional<Array<const float>>& weight, const Words& words, const Text& text,
                std::size_t prefixes, std::uint64_t last_key) {
  const sources::StoredRows rows{span_of(indptr), span_of(keys),  span_of(values), span_of(y), span_of(y_indptr),
                                 span_of(weight), span_of(words), span_of(text),   prefixes,   last_key};
  const char* fault = nullptr;
  {
    const nb::gil_scoped_release nogil;
    fault = sources::fault_of(rows);
  }
  if (fault != nullptr) throw nb::value_error(fault);
}

}  // namespace

void bind_cache(nb::module_& m) {
  m.def("report_bus_errors", &report_bus_errors);
  m.def("checksum", &checksum_of, nb::arg("bytes"), nb::arg("seed") = 0);
  m.def("compact_names", &compact_names, nb::arg("keys"), nb::arg("words"), nb::arg("text"));
  m.def("check_rows", &check_rows, nb::arg("indptr"), nb::arg("keys"), nb::arg("values").none(), nb::arg("y").none(),
        nb::arg("y_indptr").none(), nb::arg("weight").none(), nb::arg("words").none(), nb::arg("text").none(),
        nb::arg("prefixes"), nb::arg("last_key"));
}

}  // namespace thresher::bind
