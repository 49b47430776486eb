// The columns of a solver: in memory, or made again a part of the rows at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "columns/design.hpp"

namespace thresher::working_set {

/// One column. What is not in memory is known by its id to whoever makes it.
struct SolverColumn {
  const float* values = nullptr;        // null: made again whenever it is looked at
  std::shared_ptr<const void> owner;    // of the values
  bool lent = false;                    // the owner holds other columns too
  std::uint64_t id = 0;
  double factor = 1.0;
  double spread = 0.0;         // Σ c (x - mean)²: how far the slope can be from that at another dual point
  std::ptrdiff_t member = -1;  // its place in the curvature

  /// The values in memory of its own.
  void own(std::size_t rows);
  /// Out of memory, to be made again.
  void leave();
};

/// Some rows of the columns that are not in memory: numbers [begin, end) of all rows, or of those asked for.
struct MadeRows {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<const float*> values;  // by column; null for those in memory
};

/// Looks at columns, at all rows or at some. Where all of them are in memory that is one part; otherwise it is as many
/// as `Maker` makes of it, and results must not depend on that.
class ColumnParts {
 public:
  /// Gives its values of the columns of these ids, rows of them in order, each part beginning at a multiple of `stripe`:
  /// `take(first, columns x rows numbers, rows, numbers between two columns)`. Of these rows only, where there are any.
  using Take = std::function<void(std::size_t, const float*, std::size_t, std::size_t)>;
  using Maker = std::function<void(const std::vector<std::uint64_t>&, const std::vector<std::uint32_t>*, const Take&)>;

  explicit ColumnParts(std::size_t rows) : rows_(rows) {}
  void make_by(Maker maker) { maker_ = std::move(maker); }

  /// Do `body` for the parts of all rows.
  void look(const std::vector<const SolverColumn*>& some, const std::function<void(const MadeRows&)>& body) const {
    parts(some, nullptr, rows_, body);
  }
  /// Of these rows.
  void look(const std::vector<const SolverColumn*>& some, const std::vector<std::uint32_t>& rows,
            const std::function<void(const MadeRows&)>& body) const {
    parts(some, &rows, rows.size(), body);
  }

 private:
  void parts(const std::vector<const SolverColumn*>& some, const std::vector<std::uint32_t>* rows, std::size_t count,
             const std::function<void(const MadeRows&)>& body) const;

  std::size_t rows_;
  Maker maker_;
};

}  // namespace thresher::working_set
