#include "sources/rows/terms.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace thresher::sources {

TermFormer::TermFormer(std::size_t features, std::vector<Term> terms)
    : terms_(std::move(terms)), begins_(features + 1), present_(features) {
  for (const Term& term : terms_) {
    if (term.parts.empty() || term.parts.back() >= features || !std::is_sorted(term.parts.begin(), term.parts.end()))
      throw std::invalid_argument("a term refers to a feature that does not exist");
    ++begins_[term.parts.front() + 1];
  }
  for (std::size_t f = 0; f < features; ++f) begins_[f + 1] += begins_[f];
  std::stable_sort(terms_.begin(), terms_.end(),
                   [](const Term& a, const Term& b) { return a.parts.front() < b.parts.front(); });
}

double TermFormer::value(const Term& term) const {
  if (term.parts.size() == 1) return term.map(present_[term.parts.front()]);
  double product = 1.0;
  for (const std::uint32_t part : term.parts) product *= static_cast<double>(present_[part]);
  return product;
}

void TermFormer::form(const std::int64_t* indptr, const std::int64_t* features, const float* values, std::size_t n,
                      Rows& out) {
  out.indptr.push(0);
  for (std::size_t i = 0; i < n; ++i) {
    touched_.clear();
    for (std::int64_t j = indptr[i]; j < indptr[i + 1]; ++j) {
      const auto feature = static_cast<std::uint32_t>(features[j]);
      present_[feature] += values == nullptr ? 1.0F : values[j];
      touched_.push_back(feature);
    }
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const std::uint32_t feature : touched_)
      for (std::size_t t = begins_[feature]; t < begins_[feature + 1]; ++t) {
        const auto x = static_cast<float>(value(terms_[t]));
        if (x == 0.0F) continue;
        out.keys.push(terms_[t].key);
        out.values.push(x);
      }
    for (const std::uint32_t feature : touched_) present_[feature] = 0.0F;
    out.indptr.push(static_cast<std::int64_t>(out.keys.size()));
  }
}

}  // namespace thresher::sources
