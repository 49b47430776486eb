// Online Substitution for any smooth loss, feature by feature over the rows.
#pragma once

#include "solvers/row_loss.hpp"
#include "substitution/substitution.hpp"

namespace thresher::working_set {

/// Every arrival moves the kept weights, so all slopes change, and with them every inner product that a gradient
/// needs: two looks at the kept columns and one at the loss of all rows cannot be saved here. Inner products with the kept
/// columns are only made for a newcomer that is about to be taken. A newcomer itself costs as much as it has numbers.
///
/// L_F holds for any margins, but most rows of a hinge are flat where they stand. Unless a step is given, it is as long
/// as the curvature that rows have here allows, if the objective does not rise for it.
class RowSubstitution final : public Substitution {
 public:
  /// One loss for each output, its weights summing to one; with a constant in it, columns count as centred.
  RowSubstitution(KeptColumns kept, StepRule rule, double curvature, std::vector<RowLoss> losses,
                  std::vector<double> weights, bool centred);

  std::vector<Change> arrive(const ArrivingBlock& block, const std::uint64_t* ids, Team& team) override;
  [[nodiscard]] double objective(Team& team) override;
  /// The constants, and the margins: summed in the order in which columns came.
  [[nodiscard]] std::vector<double> more() const override;
  void restore(const std::vector<double>& more, Team& team) override;

 private:
  /// Weights by what they do to the rows: their margins, the constants that suit them best, and the loss there.
  struct Point {
    std::vector<double> margins;  // outputs x rows
    std::vector<double> slopes;
    std::vector<double> shifts;
    double value = 0.0;
    double curvature = 0.0;  // the largest sum over the rows of an output

    Point(std::size_t outputs, std::size_t rows) : margins(outputs * rows), slopes(outputs * rows), shifts(outputs) {}
  };
  /// A feature that arrives: its column, and the gradients before it.
  struct Arriving {
    const ArrivingColumn& column;
    Scaling scaling;
    std::vector<double> gradient;
    std::vector<double> own;
    std::vector<double> q;  // its products with the kept, once they are wanted
  };
  /// What a step came to.
  struct Outcome {
    std::vector<double> moved;
    std::vector<double> newcomer;
    Weakest weakest;
    bool taken;
    bool refused;
    bool down;  // the objective did not rise
  };
  static constexpr double least_share = 0.02;

  /// Constants, slopes and loss at a point's margins: the best constants, looked for from `shifts` on; or as they are.
  void settle(Point& point, const std::vector<double>& shifts, Team& team) const;
  void evaluate(Point& point, Team& team) const;
  void begin(Team& team);
  [[nodiscard]] double curvature_share() const;
  [[nodiscard]] Outcome moved_by(Arriving& now, double share, Team& team);
  void receive(const ArrivingColumn& column, Scaling scaling, std::uint64_t id, Team& team, std::vector<Change>& changes);

  double curvature_;
  std::vector<RowLoss> losses_;
  Point here_;
  Point trial_;
  bool begun_ = false;  // what is known of `here_` is known
};

}  // namespace thresher::working_set
