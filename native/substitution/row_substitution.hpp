// Online Substitution for any smooth loss, feature by feature over the rows.
#pragma once

#include "solvers/row_loss.hpp"
#include "substitution/substitution.hpp"

namespace thresher::substitution {

using solvers::RowLoss;

/// Every feature moves the kept weights, so all slopes change, and with them every inner product of a gradient: each
/// feature needs two passes over the kept columns and one over the loss of all rows. Inner products with the kept
/// columns are computed only for a newcomer about to be taken. A newcomer costs its number of entries.
///
/// L_F holds for any margins, but most rows of a hinge loss are locally flat. Unless a step is set, it is as long as
/// the local curvature of the rows allows, provided that the objective does not rise.
class RowSubstitution final : public Substitution {
 public:
  /// One loss per output, with weights that sum to one; with an intercept, columns count as centred.
  RowSubstitution(KeptColumns kept, StepRule rule, double curvature, std::vector<RowLoss> losses,
                  std::vector<double> weights, bool centred);

  std::vector<Change> arrive(const ColumnBlock& block, const std::uint64_t* ids, ThreadPool& pool) override;
  [[nodiscard]] double objective(ThreadPool& pool) override;
  /// The intercepts and the margins, which were summed in the order received.
  [[nodiscard]] std::vector<double> extra_state() const override;
  void restore(const std::vector<double>& extra_state, ThreadPool& pool) override;

 private:
  /// Weights by their effect on the rows: margins, best intercepts, and the loss.
  struct Point {
    std::vector<double> margins;  // outputs x rows
    std::vector<double> slopes;
    std::vector<double> intercepts;
    double value = 0.0;
    double curvature = 0.0;  // the largest sum over the rows of an output

    Point(std::size_t outputs, std::size_t rows)
        : margins(outputs * rows), slopes(outputs * rows), intercepts(outputs) {}
  };
  /// An arriving feature: its column, and the gradients before it.
  struct Newcomer {
    const BlockColumn& column;
    Scaling scaling;
    std::vector<double> gradient;
    std::vector<double> own;
    std::vector<double> q;  // its products with the kept columns, computed on demand
  };
  /// The result of a step.
  struct Outcome {
    std::vector<double> moved;
    std::vector<double> newcomer;
    Weakest weakest;
    bool taken;
    bool rejected;
    bool down;  // the objective did not rise
  };
  static constexpr double least_share = 0.02;

  /// Slopes and loss at a point's margins: with the best intercepts, searched from `intercepts`; or with the current
  /// ones.
  void settle(Point& point, const std::vector<double>& intercepts, ThreadPool& pool) const;
  void evaluate(Point& point, ThreadPool& pool) const;
  void begin(ThreadPool& pool);
  [[nodiscard]] double curvature_share() const;
  [[nodiscard]] Outcome moved_by(Newcomer& now, double share, ThreadPool& pool);
  void receive(const BlockColumn& column, Scaling scaling, std::uint64_t id, ThreadPool& pool,
               std::vector<Change>& changes);

  double curvature_;
  std::vector<RowLoss> losses_;
  Point here_;
  Point trial_;
  bool begun_ = false;  // `here_` is up to date
};

}  // namespace thresher::substitution
