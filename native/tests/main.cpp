// Runs every test and closes with one line: how many checks passed and failed.
#include <exception>

#include "tests/check.hpp"

int main() {
  for (const check::Test* test = check::Test::first(); test != nullptr; test = test->next) {
    const long failed_before = check::tally().failed;
    try {
      test->run();
    } catch (const std::exception& error) {
      check::note(false, test->name, 0, std::string("ended by an exception: ") + error.what());
    }
    if (check::tally().failed != failed_before) std::printf("FAILED %s\n", test->name);
  }
  std::printf("%ld passed, %ld failed\n", check::tally().passed, check::tally().failed);
  return check::tally().failed == 0 ? 0 : 1;
}
