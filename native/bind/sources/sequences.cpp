// FASTA and FASTQ: the record scanner and its sinks.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bind/convert/arrays.hpp"
#include "bind/convert/counts.hpp"
#include "sources/sequences/genomes.hpp"
#include "sources/sequences/kmer_hits.hpp"
#include "sources/sequences/kmer_records.hpp"

namespace thresher::bind {

namespace {

using namespace sources;

const char* name_of(RecordScanner::Stop stop) {
  switch (stop) {
    case RecordScanner::Stop::full: return "full";
    case RecordScanner::Stop::bad: return "bad";
    case RecordScanner::Stop::past: return "past";
    case RecordScanner::Stop::more: break;
  }
  return "more";
}

using Place = std::tuple<std::uint64_t, std::int64_t, std::uint64_t>;
Place as_tuple(const RecordPosition& position) { return {position.offset, position.lines, position.skipped}; }

nb::dict as_dict(KmerRows&& rows) {
  nb::dict out;
  const bool valued = rows.values.size() != 0;
  out["indptr"] = to_numpy(std::move(rows.indptr));
  out["keys"] = to_numpy(std::move(rows.keys));
  out["values"] = valued ? to_numpy(std::move(rows.values)) : nb::none();
  out["left_out"] = rows.dropped;
  return out;
}

nb::list as_list(const std::vector<std::string>& ids) {
  nb::list out;
  for (const std::string& id : ids) out.append(nb::bytes(id.data(), id.size()));
  return out;
}

void bind_scanner(nb::module_& m) {
  nb::class_<RecordSink>(m, "RecordSink");
  nb::class_<RecordScanner>(m, "RecordScanner")
      .def(
          "__init__",
          [](RecordScanner* self, RecordSink& sink, const KmerForm& form, std::optional<bool> fastq, bool skip,
             std::uint64_t offset, std::int64_t lines, std::uint64_t skipped, bool seeking, std::uint64_t limit) {
            if (seeking && fastq.value_or(true))
              throw nb::value_error("FASTQ cannot be read from the middle: record starts are ambiguous");
            new (self) RecordScanner(sink, form.alphabet(), fastq, skip, {offset, lines, skipped}, seeking, limit);
          },
          nb::arg("sink"), nb::kw_only(), nb::arg("form"), nb::arg("fastq").none() = nb::none(),
          nb::arg("skip") = false, nb::arg("offset") = 0, nb::arg("lines") = 0, nb::arg("skipped") = 0,
          nb::arg("seeking") = false, nb::arg("limit") = ~std::uint64_t{0}, nb::keep_alive<1, 2>())
      .def(
          "feed",
          [](RecordScanner& scanner, const Array<const std::uint8_t>& block, std::size_t begin, std::size_t end) {
            if (begin > end || end > block.shape(0)) throw nb::value_error("out of the block");
            std::size_t used = 0;
            RecordScanner::Stop stop;
            {
              const nb::gil_scoped_release nogil;
              stop = scanner.feed(reinterpret_cast<const char*>(block.data()) + begin, end - begin, used);
            }
            return std::tuple(name_of(stop), used);
          },
          nb::arg("block"), nb::arg("begin"), nb::arg("end"))
      .def("finish", [](RecordScanner& scanner) { return name_of(scanner.finish()); })
      .def_prop_ro("place", [](const RecordScanner& scanner) { return as_tuple(scanner.position()); })
      .def_prop_ro("reached", [](const RecordScanner& scanner) { return as_tuple(scanner.reached()); })
      .def("take_faults", [](RecordScanner& scanner) {
        nb::list out;
        for (const RecordFault& fault : scanner.take_faults())
          out.append(nb::make_tuple(fault.line, fault.column, fault.what));
        return out;
      });
}

void bind_records(nb::module_& m) {
  nb::class_<KmerRecords, RecordSink>(m, "KmerRecords")
      .def(
          "__init__",
          [](KmerRecords* self, const KmerForm& form, const KeyIndex* labels, const KeyIndex* only, std::size_t rows,
             std::size_t features, std::uint64_t letters, bool labels_optional,
             bool ids) { new (self) KmerRecords(form, {rows, features, letters, labels, labels_optional, only, ids}); },
          nb::arg("form"), nb::arg("labels").none(), nb::arg("only").none(), nb::kw_only(), nb::arg("rows"),
          nb::arg("features") = KmerRecordOptions{}.most_features,
          nb::arg("letters") = KmerRecordOptions{}.most_letters, nb::arg("labels_optional") = false,
          nb::arg("ids") = false, nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
      .def("take", [](KmerRecords& records) {
        KmerRecords::Taken taken = records.take();
        nb::dict out = as_dict(std::move(taken.rows));
        out["line"] = to_numpy(std::move(taken.lines));
        out["label"] = to_numpy_or_none(std::move(taken.labels));
        out["id"] = as_list(taken.ids);
        return out;
      });
}

void bind_genomes(nb::module_& m) {
  nb::class_<Genomes, RecordSink>(m, "Genomes")
      .def(nb::init<bool, std::uint64_t, const KeyIndex*, bool>(), nb::arg("wildcards"), nb::arg("fragment"),
           nb::arg("labels").none(), nb::arg("labels_optional"), nb::keep_alive<1, 4>())
      .def_rw("file", &Genomes::file)
      .def_prop_ro("letters", &Genomes::total_letters)
      .def_prop_ro("nbytes", &Genomes::bytes)
      .def("__len__", [](const Genomes& genomes) { return genomes.contigs().size(); })
      .def(
          "contig",
          [](const Genomes& genomes, std::size_t i) {
            if (i >= genomes.contigs().size()) throw nb::index_error("no such record");
            const Contig& contig = genomes.contigs()[i];
            return nb::make_tuple(nb::bytes(contig.id.data(), contig.id.size()), contig.file, contig.length);
          },
          nb::arg("i"))
      .def("files_and_labels",
           [](const Genomes& genomes) {
             Buffer<std::int64_t> files;
             Buffer<std::int64_t> labels;
             for (const Contig& contig : genomes.contigs()) {
               files.push(contig.file);
               labels.push(contig.label);
             }
             return nb::make_tuple(to_numpy(std::move(files)), to_numpy(std::move(labels)));
           })
      .def(
          "draw",
          [](const Genomes& genomes, std::uint64_t number, std::uint64_t seed) {
            if (genomes.contigs().empty()) throw nb::value_error("there are no fragments to sample");
            const Fragment fragment = genomes.draw(number, seed);
            return std::tuple(fragment.contig, fragment.offset);
          },
          nb::arg("number"), nb::arg("seed"))
      .def(
          "draws",
          [](const Genomes& genomes, const Array<const std::uint64_t>& numbers, std::uint64_t seed) {
            if (genomes.contigs().empty()) throw nb::value_error("there are no fragments to sample");
            Buffer<std::int64_t> contigs;
            Buffer<std::int64_t> offsets;
            contigs.resize(numbers.shape(0));
            offsets.resize(numbers.shape(0));
            for (std::size_t i = 0; i < numbers.shape(0); ++i) {
              const Fragment fragment = genomes.draw(numbers.data()[i], seed);
              contigs[i] = static_cast<std::int64_t>(fragment.contig);
              offsets[i] = static_cast<std::int64_t>(fragment.offset);
            }
            return nb::make_tuple(to_numpy(std::move(contigs)), to_numpy(std::move(offsets)));
          },
          nb::arg("numbers"), nb::arg("seed"))
      .def(
          "rows",
          [](const Genomes& genomes, const Array<const std::uint64_t>& numbers, const KmerForm& form,
             const KeyIndex* only, std::uint64_t seed, std::size_t features) {
            if (genomes.contigs().empty()) throw nb::value_error("there are no fragments to sample");
            KmerRows rows;
            Buffer<std::int64_t> contigs;
            {
              const nb::gil_scoped_release nogil;
              fragment_rows(genomes, numbers.data(), numbers.shape(0), seed, form, only, features, rows, contigs);
            }
            nb::dict out = as_dict(std::move(rows));
            out["contig"] = to_numpy(std::move(contigs));
            return out;
          },
          nb::arg("numbers"), nb::arg("form"), nb::arg("only").none(), nb::arg("seed"), nb::arg("features"));
}

void bind_finder(nb::module_& m) {
  nb::class_<KmerFinder, RecordSink>(m, "KmerFinder")
      .def(nb::init<const KmerForm&, const KeyIndex&>(), nb::arg("form"), nb::arg("wanted"), nb::keep_alive<1, 3>())
      .def("take_ids", [](KmerFinder& finder) { return as_list(finder.take_ids()); })
      .def("take", [](KmerFinder& finder) {
        KmerHits hits = finder.take();
        return nb::make_tuple(to_numpy(std::move(hits.record)), to_numpy(std::move(hits.position)),
                              to_numpy(std::move(hits.key)), to_numpy(std::move(hits.length)),
                              to_numpy(std::move(hits.strand)));
      });
}

}  // namespace

void bind_sequences(nb::module_& m) {
  nb::class_<KmerForm>(m, "KmerForm")
      .def(
          "__init__",
          [](KmerForm* self, const std::vector<unsigned>& lengths, bool canonical, bool wildcards, bool positional,
             const std::string& counts, bool unit, bool protein) {
            KmerForm form{lengths, canonical, wildcards, positional, counts_of(counts), unit, protein};
            form.check();
            new (self) KmerForm(std::move(form));
          },
          nb::arg("lengths"), nb::kw_only(), nb::arg("canonical") = false, nb::arg("wildcards") = false,
          nb::arg("positional") = false, nb::arg("counts") = "binary", nb::arg("unit") = false,
          nb::arg("protein") = false)
      .def_prop_ro("letter_bits", &KmerForm::letter_bits);
  bind_scanner(m);
  bind_records(m);
  bind_genomes(m);
  bind_finder(m);
}

}  // namespace thresher::bind
