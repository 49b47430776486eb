#include "bind/online/make_loop.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "online/budgeted/dual_averaging.hpp"
#include "online/budgeted/groups/group_dual_averaging.hpp"
#include "online/budgeted/groups/group_mirror_descent.hpp"
#include "online/budgeted/sketched_averaging.hpp"
#include "online/budgeted/soft_threshold.hpp"
#include "online/budgeted/spill_to_sketch.hpp"
#include "online/budgeted/truncated.hpp"
#include "online/stores/active_table.hpp"
#include "online/stores/estimate_table.hpp"
#include "online/stores/hashed_weights.hpp"

namespace thresher::bind {

namespace {

using namespace thresher::online;

/// The keyword arguments of Python.
class Settings {
 public:
  explicit Settings(const nb::kwargs& given) : given_(given) {}

  template <class T>
  [[nodiscard]] T get(const char* name) const {
    if (!given_.contains(name)) throw nb::key_error(name);
    return nb::cast<T>(given_[name]);
  }
  template <class T>
  [[nodiscard]] T get(const char* name, T fallback) const {
    return given_.contains(name) ? nb::cast<T>(given_[name]) : fallback;
  }

 private:
  const nb::kwargs& given_;
};

BudgetRule budget_rule(const Settings& s) {
  BudgetRule rule;
  rule.eta = s.get("eta", rule.eta);
  rule.lambda = s.get("lam", rule.lambda);
  rule.delta = s.get("smoothing", rule.delta);
  rule.naive = s.get("naive", rule.naive);
  rule.names = {s.get("keep_names", false), s.get<std::size_t>("name_cap"), s.get<std::size_t>("most_name_bytes", 0)};
  return rule;
}

struct StoreSettings {
  std::string kind;
  std::size_t k;
  std::size_t name_cap;
  double lazy;
  std::size_t lanes;
  bool split;
  std::uint32_t rows;
  std::uint32_t width;
  std::uint64_t seed;
  bool identity;
  bool adaptive;
  BudgetRule budget;
  std::size_t most_bytes;
  std::optional<GroupRule> groups;
};

template <class Cells>
std::unique_ptr<Store> active(const StoreSettings& s, Cells cells) {
  if (s.lanes == 1)
    return std::make_unique<ActiveTable<Cells, true>>(s.k, s.name_cap, s.lazy, 1, false, std::move(cells));
  return std::make_unique<ActiveTable<Cells, false>>(s.k, s.name_cap, s.lazy, s.lanes, s.split, std::move(cells));
}

std::unique_ptr<Store> truncated(StoreSettings& s, Truncation how) {
  s.budget.names.keep = false;  // only features of the current row are admitted
  return std::make_unique<Truncated>(how, s.k, s.name_cap, s.lanes, s.split, s.budget, s.most_bytes);
}

std::unique_ptr<Store> thresholded(const StoreSettings& s, Threshold how) {
  return std::make_unique<SoftThreshold>(how, s.lanes, s.budget, s.most_bytes);
}

std::unique_ptr<Store> grouped(StoreSettings& s) {
  if (s.split) throw nb::value_error("groups are kept for all lanes together");
  GroupRule rule = std::move(*s.groups);
  if (s.kind == "b-arda")
    return std::make_unique<GroupDualAveraging>(s.k, s.name_cap, s.lanes, s.budget, std::move(rule), s.most_bytes);
  if (s.kind == "b-amd")
    return std::make_unique<GroupMirrorDescent>(s.k, s.name_cap, s.lanes, s.budget, std::move(rule), s.most_bytes);
  throw nb::value_error("this store does not support groups");
}

/// The group option: none, `True` for name prefixes, or (keys, group numbers, shares).
std::optional<GroupRule> group_rule(const nb::object& spec) {
  if (spec.is_none()) return std::nullopt;
  if (nb::isinstance<nb::bool_>(spec)) return GroupRule();
  const auto [keys, groups, shares] =
      nb::cast<std::tuple<Array<const std::uint64_t>, Array<const std::uint32_t>, std::vector<double>>>(spec);
  if (groups.shape(0) != keys.shape(0)) throw nb::value_error("groups must have one entry per key");
  return GroupRule(keys.data(), groups.data(), keys.shape(0), shares);
}

std::unique_ptr<Store> make_store(StoreSettings s) {
  if (s.groups) return grouped(s);
  if (s.kind == "b-arda" && s.lanes == 1)
    return std::make_unique<DualAveraging<true>>(s.k, s.name_cap, 1, false, s.budget, s.most_bytes);
  if (s.kind == "b-arda")
    return std::make_unique<DualAveraging<false>>(s.k, s.name_cap, s.lanes, s.split, s.budget, s.most_bytes);
  if (s.kind == "b-amd") return truncated(s, Truncation::mirror);
  if (s.kind == "ofs") return truncated(s, Truncation::descent);
  if (s.kind == "sofs") return truncated(s, Truncation::confidence);
  if (s.kind == "l1-arda") return thresholded(s, Threshold::dual);
  if (s.kind == "ada-fobos") return thresholded(s, Threshold::mirror);
  if (s.kind == "forget") return s.adaptive ? active(s, NullSketch<true>()) : active(s, NullSketch<false>());
  const SketchHash hash(s.rows, s.width, s.seed, s.identity);
  if (s.kind == "b-arda-spill") {
    if (s.rows != 1 || s.most_bytes == 0) throw nb::value_error("the sketch of b-arda needs rows=1 and most_bytes > 0");
    return std::make_unique<SpillToSketch>(s.k, s.name_cap, s.lanes, s.split, s.budget, s.most_bytes, hash);
  }
  if (s.kind == "b-arda-sketch") {
    if (s.rows != 1) throw nb::value_error("the sketch of b-arda has one row");
    return std::make_unique<SketchedAveraging>(s.k, s.name_cap, s.lanes, s.split, s.budget, hash);
  }
  if (s.kind == "estimates")
    return std::make_unique<EstimateTable>(s.k, s.name_cap, s.lazy, s.lanes, s.split, CountSketch(hash, s.lanes));
  if (s.kind == "exact")
    return s.adaptive ? active(s, EvidenceSketch(hash, s.lanes)) : active(s, CountSketch(hash, s.lanes));
  if (s.kind == "hashed") {
    if (s.adaptive) return std::make_unique<HashedWeights<EvidenceSketch>>(s.lanes, EvidenceSketch(hash, s.lanes));
    return std::make_unique<HashedWeights<CountSketch>>(s.lanes, CountSketch(hash, s.lanes));
  }
  throw nb::value_error("unknown store");
}

StepRule step_rule(const std::string& name) {
  if (name == "constant") return StepRule::constant;
  if (name == "root") return StepRule::root;
  if (name == "stable") return StepRule::stable;
  if (name == "adaptive") return StepRule::adaptive;
  if (name == "own") return StepRule::own;
  throw nb::value_error("unknown step rule");
}

}  // namespace

void make_loop(Loop* self, const nb::kwargs& given) {
  const Settings s(given);
  const auto lanes = s.get<std::size_t>("lanes");
  const OutputKind kind = output_kind(s.get<std::string>("outputs"));
  if (lanes < 1 || (kind == OutputKind::one && lanes != 1))
    throw nb::value_error("the number of lanes does not fit the kind of outputs");
  StepSize step;
  step.rule = step_rule(s.get<std::string>("rule"));
  step.rate = s.get<double>("rate");
  auto store = make_store({s.get<std::string>("store"), s.get<std::size_t>("k"), s.get<std::size_t>("name_cap"),
                           s.get<double>("lazy"), lanes, s.get<bool>("split"), s.get<std::uint32_t>("rows"),
                           s.get<std::uint32_t>("width"), s.get<std::uint64_t>("seed"), s.get<bool>("identity"),
                           step.adaptive(), budget_rule(s), s.get<std::size_t>("most_bytes", 0),
                           group_rule(s.get<nb::object>("groups", nb::none()))});
  const LossKind loss = kind == OutputKind::softmax ? LossKind::logistic : loss_kind(s.get<std::string>("loss"));
  new (self) Loop(std::move(store), {kind, {loss, s.get<double>("delta")}, lanes, s.get("factor", 1.0)}, step,
                  {s.get<bool>("intercept"), s.get<std::size_t>("minibatch"), s.get<std::size_t>("gather"),
                   s.get<double>("l2"), s.get<double>("fade")});
}

}  // namespace thresher::bind
