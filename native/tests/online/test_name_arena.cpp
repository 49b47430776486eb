// Names of features: stored and read back, for any length, within the allowed bytes.
#include <string>
#include <vector>

#include "online/budgeted/name_arena.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random.hpp"

using check::Random;
using thresher::NameView;
using thresher::online::NameArena;

TEST(name_arena_round_trip) {
  Random random(1);
  NameArena names({true, 300});
  std::vector<std::string> all{""};  // number 0 is unused
  for (int i = 0; i < 20000; ++i) {
    const std::string prefix(random.below(4), 'p');
    const std::string text(random.below(10) == 0 ? random.below(600) : random.below(12),
                           static_cast<char>('a' + i % 26));
    if (random.below(5) == 0) all.emplace_back();  // a feature without a name
    all.push_back((prefix + text).substr(0, 300));
    names.append_name(all.size() - 1, NameView{prefix, text});
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i) wrong += static_cast<std::size_t>(names.at(i) != all[i]);
  CHECK_EQ(wrong, std::size_t{0});
  CHECK_EQ(std::string(names.at(all.size() + 5)), "");
}

TEST(names_beyond_the_bytes_allowed_are_left_out) {
  NameArena names({true, 100, 30});
  names.append_name(1, {{}, "0123456789"});
  names.append_name(2, {{}, "01234567890123456789"});
  names.append_name(4, {{}, "abc"});
  CHECK_EQ(std::string(names.at(1)), "0123456789");
  CHECK_EQ(std::string(names.at(2)), "");
  CHECK_EQ(std::string(names.at(3)), "");
  CHECK_EQ(std::string(names.at(4)), "abc");
  CHECK(names.bytes() <= 30);
  NameArena none({false, 100});
  none.append_name(1, {{}, "abc"});
  CHECK_EQ(std::string(none.at(1)), "");
  CHECK_EQ(none.bytes(), std::size_t{0});
}
