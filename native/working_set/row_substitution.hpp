// Online Substitution for any smooth loss, feature by feature over the rows.
#pragma once

#include "working_set/row_loss.hpp"
#include "working_set/substitution.hpp"

namespace thresher::working_set {

/// Every arrival moves the kept weights, so all slopes change, and with them every inner product that a gradient
/// needs: two looks at the kept columns for a feature cannot be saved here. Inner products with the kept columns are
/// only made for a newcomer that is about to be taken.
///
/// L_F holds for any margins, but most rows of a hinge are flat where they stand. Unless a step is given, it is as long
/// as the curvature that rows have here allows, if the objective does not rise for it.
class RowSubstitution final : public Substitution {
 public:
  /// One loss for each output, its weights summing to one; with a constant in it, columns count as centred.
  RowSubstitution(KeptColumns kept, StepRule rule, double curvature, std::vector<RowLoss> losses,
                  std::vector<double> weights, bool centred);

  std::vector<Change> arrive(const float* block, const std::uint64_t* ids, std::size_t n, Team& team) override;
  [[nodiscard]] double objective(Team& team) override { return value_of(margins_, shifts_, team); }
  /// The constants, and the margins: summed in the order in which columns came.
  [[nodiscard]] std::vector<double> more() const override;
  void restore(const std::vector<double>& more, Team& team) override;

 private:
  /// A feature that arrives: its column, and the loss, constants and gradients before it.
  struct Arriving {
    const float* column;
    Scaling scaling;
    double value;
    std::vector<double> shifts;
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

  [[nodiscard]] double curvature_share(const std::vector<double>& shifts, Team& team);
  [[nodiscard]] Outcome moved_by(Arriving& now, double share, Team& team);
  void receive(const float* column, Scaling scaling, std::uint64_t id, Team& team, std::vector<Change>& changes);
  [[nodiscard]] double value_of(const std::vector<double>& margins, std::vector<double>& shifts, Team& team) const;

  double curvature_;
  std::vector<RowLoss> losses_;
  std::vector<double> shifts_;
  std::vector<double> margins_;  // outputs x rows
  std::vector<double> slopes_;
  std::vector<double> trial_;
};

}  // namespace thresher::working_set
