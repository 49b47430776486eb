#include "columns/solver_columns.hpp"

#include <algorithm>
#include <stdexcept>

namespace thresher::columns {

void SolverColumn::copy_values(std::size_t rows) {
  std::shared_ptr<float[]> copy(new float[rows]);
  std::copy_n(values, rows, copy.get());
  values = copy.get();
  owner = std::move(copy);
  borrowed = false;
}

void SolverColumn::release() {
  values = nullptr;
  owner.reset();
  borrowed = false;
}

void ColumnChunks::parts(const std::vector<const SolverColumn*>& some, const std::vector<std::uint32_t>* rows,
                         std::size_t count, const std::function<void(const ChunkRows&)>& body) const {
  if (count == 0) return;
  ChunkRows part{0, count, std::vector<const float*>(some.size(), nullptr)};
  std::vector<std::uint64_t> ids;
  std::vector<std::size_t> places;
  for (std::size_t j = 0; j < some.size(); ++j) {
    if (some[j] == nullptr || some[j]->values != nullptr) continue;  // null is the intercept
    ids.push_back(some[j]->id);
    places.push_back(j);
  }
  if (ids.empty()) {
    body(part);
    return;
  }
  if (!generator_) throw std::logic_error("columns outside memory need a generator");
  std::size_t seen = 0;
  generator_(ids, rows, [&](std::size_t first, const float* values, std::size_t n, std::size_t apart) {
    if (first != seen || (rows == nullptr && first % stripe != 0) || n > count - seen)
      throw std::invalid_argument("the generator must return all rows in order, in whole stripes");
    part.begin = first;
    part.end = seen = first + n;
    for (std::size_t k = 0; k < places.size(); ++k) part.values[places[k]] = values + k * apart;
    body(part);
  });
  if (seen != count) throw std::invalid_argument("the generator returned too few rows: the data has become shorter");
}

}  // namespace thresher::columns
