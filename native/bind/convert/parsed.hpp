// Conversion of a parser's result.
#pragma once

#include "bind/convert/arrays.hpp"
#include "sources/rows/parsed_rows.hpp"

namespace thresher::bind {

inline nb::dict as_dict(sources::ParsedRows&& parsed, const sources::ParseOptions& options) {
  nb::dict out;
  out["indptr"] = to_numpy(std::move(parsed.indptr));
  out["keys"] = to_numpy(std::move(parsed.keys));
  out["values"] = parsed.all_ones() ? nb::none() : to_numpy(std::move(parsed.values));
  out["y"] = to_numpy(std::move(parsed.y));
  out["line"] = to_numpy(std::move(parsed.line));
  out["y_indptr"] = to_numpy_or_none(std::move(parsed.y_indptr));
  out["weight"] = to_numpy_or_none(std::move(parsed.weight));
  out["qid"] = to_numpy_or_none(std::move(parsed.qid));
  out["names"] = options.want_names ? to_numpy(std::move(parsed.names)) : nb::none();
  nb::list prefixes;
  for (const std::string& prefix : parsed.prefixes) prefixes.append(nb::bytes(prefix.data(), prefix.size()));
  out["prefixes"] = prefixes;
  out["consumed"] = parsed.consumed;
  out["lines"] = parsed.lines;
  out["skipped"] = parsed.skipped;
  nb::list faults;
  for (const sources::Fault& fault : parsed.faults) faults.append(nb::make_tuple(fault.at, fault.line, fault.what));
  out["faults"] = faults;
  return out;
}

}  // namespace thresher::bind
