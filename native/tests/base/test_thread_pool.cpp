#include <atomic>
#include <stdexcept>
#include <vector>

#include "base/threads/thread_pool.hpp"
#include "tests/support/check.hpp"

using thresher::Team;

TEST(team_does_every_part_once) {
  for (const unsigned threads : {1U, 2U, 4U}) {
    Team team(threads);
    CHECK_EQ(team.size(), threads);
    for (const std::size_t parts : {0, 1, 2, 7, 1000}) {
      std::vector<int> done(parts, 0);
      team.run(parts, [&](std::size_t part) { ++done[part]; });
      bool once = true;
      for (const int count : done) once = once && count == 1;
      CHECK(once);
    }
  }
}

TEST(team_hands_on_what_a_part_throws_and_goes_on_after_it) {
  for (const unsigned threads : {1U, 3U}) {
    Team team(threads);
    bool caught = false;
    try {
      team.run(100, [](std::size_t part) {
        if (part == 41) throw std::out_of_range("41");
      });
    } catch (const std::out_of_range&) {
      caught = true;
    }
    CHECK(caught);
    std::atomic<int> count{0};
    team.run(10, [&](std::size_t) { ++count; });
    CHECK_EQ(count.load(), 10);
  }
}

TEST(team_stops_when_asked) {
  std::atomic<int> count{0};
  Team team(2, [&] { return count > 5; });
  bool stopped = false;
  try {
    team.run(100000, [&](std::size_t) { ++count; });
  } catch (const thresher::Stopped&) {
    stopped = true;
  }
  CHECK(stopped);
  CHECK(count < 100000);
}
