// Runs every test (or those whose name contains one of the arguments) and prints how many checks passed and failed.
#include <cstring>
#include <exception>

#include "tests/support/check.hpp"

namespace {

bool chosen(const char* name, int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strstr(name, argv[i]) != nullptr) return true;
  return argc < 2;
}

}  // namespace

int main(int argc, char** argv) {
  for (const check::Test* test = check::Test::first(); test != nullptr; test = test->next) {
    if (!chosen(test->name, argc, argv)) continue;
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
