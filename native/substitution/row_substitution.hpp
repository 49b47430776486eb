// Online Substitution for any smooth loss, feature by feature over the rows.
#pragma once

#include "solvers/row_loss.hpp"
#include "substitution/substitution.hpp"

namespace thresher::substitution {

using solvers::RowLoss;

/// A step of the kept weights changes all slopes, and with them every inner product of a gradient: it needs two passes
/// over the kept columns and some over the loss of all rows. Inner products with the kept columns are computed only for
/// a newcomer about to be taken. A newcomer costs its number of entries.
///
/// In Algorithm 1 every arrival makes such a step. If `arrivals` share one, arrivals that are too weak to enter only
/// wait; the kept weights make the steps of all of them together as soon as that many wait, or one enters or fails the
/// decrease check.
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
  /// The arrivals that wait for a step, the intercepts, and the margins, which were summed in the order received.
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
  /// An arriving feature: its column and its gradient.
  struct Newcomer {
    const BlockColumn& column;
    Scaling scaling;
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
  [[nodiscard]] double penalty(const std::vector<double>& weights) const;
  [[nodiscard]] double curvature_share() const;
  void anchor(double share, ThreadPool& pool);
  [[nodiscard]] bool enters(const Newcomer& now, double share, std::size_t steps) const;
  [[nodiscard]] std::pair<std::vector<double>, std::vector<double>> step_from(const Newcomer& now, double eta,
                                                                              std::size_t steps) const;
  [[nodiscard]] Outcome moved_by(Newcomer& now, double share, std::size_t steps, ThreadPool& pool);
  void receive(const BlockColumn& column, Scaling scaling, std::uint64_t id, ThreadPool& pool,
               std::vector<Change>& changes);

  double curvature_;
  std::vector<RowLoss> losses_;
  Point here_;
  Point trial_;
  bool begun_ = false;            // `here_` is up to date
  std::size_t waiting_ = 0;       // arrivals whose step of the kept weights is still to be made
  bool anchored_ = false;         // the following two are up to date
  std::vector<double> gradient_;  // of the kept weights
  double least_ = 0.0;            // no kept weight is smaller after the steps of up to `arrivals`
};

}  // namespace thresher::substitution
