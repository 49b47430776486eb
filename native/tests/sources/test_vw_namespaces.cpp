#include <map>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "sources/lines/vw_namespaces.hpp"
#include "tests/support/check.hpp"
#include "tests/support/padded_text.hpp"
#include "tests/support/random.hpp"

using check::PaddedText;
using check::Random;
using thresher::hash_bytes;
using thresher::sources::Namespace;
using thresher::sources::Namespaces;

namespace {

/// Looks up names in turn and checks every result against a map.
class Asked {
 public:
  void ask(const std::string& name, char fill) {
    const PaddedText text(name, fill);
    Namespace got;
    CHECK(namespaces_.find({text.data(), name.size()}, got));
    const auto [known, fresh] = numbers_.try_emplace(name, numbers_.size() + 1);
    const std::string prefix = name + '^';
    CHECK_EQ(got.prefix, known->second);
    CHECK_EQ(got.seed, hash_bytes(prefix.data(), prefix.size()));
    CHECK_EQ(prefixes_.size(), numbers_.size() + 1);
    CHECK_EQ(prefixes_[got.prefix], prefix);
  }

 private:
  std::vector<std::string> prefixes_{std::string()};
  Namespaces namespaces_{prefixes_};
  std::map<std::string, std::size_t> numbers_;
};

}  // namespace

TEST(namespaces_of_every_length) {
  // Names that are prefixes of each other, and names that differ in one byte anywhere.
  Asked asked;
  for (int turn = 0; turn < 2; ++turn)
    for (std::size_t n = 1; n < 30; ++n) {
      asked.ask(std::string(n, 'n'), turn == 0 ? '7' : 'n');
      for (std::size_t at = 0; at < n; ++at) {
        std::string other(n, 'n');
        other[at] = '\xff';
        asked.ask(other, 'n');
      }
    }
}

TEST(namespaces_many_in_any_order) {
  Random random(5);
  Asked asked;
  for (int i = 0; i < 20000; ++i) {
    const std::string number = std::to_string(random.below(1 + static_cast<std::uint64_t>(i) / 4));
    asked.ask(random.chance(3) ? "namespace_" + number : number, '0');
  }
}
