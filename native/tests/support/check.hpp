// Checks for the native tests: each one counts, a failed one prints its location, and the run continues.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

namespace check {

struct Tally {
  long passed = 0;
  long failed = 0;
};

inline Tally& tally() {
  static Tally the_tally;
  return the_tally;
}

/// A test that registers itself in the list that `main` runs.
struct Test {
  Test(const char* name, void (*run)()) : name(name), run(run), next(first()) { first() = this; }
  static Test*& first() {
    static Test* head = nullptr;
    return head;
  }

  const char* name;
  void (*run)();
  Test* next;
};

template <class T>
  requires std::is_arithmetic_v<T>
std::string show(const T& value) {
  char text[64];
  if constexpr (std::is_floating_point_v<T>) {
    std::snprintf(text, sizeof text, "%.17g", static_cast<double>(value));
    return text;
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value));
    return text;
  } else {
    std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(value));
    return text;
  }
}

inline bool note(bool good, const char* file, int line, const std::string& what) {
  ++(good ? tally().passed : tally().failed);
  // A broken loop would fail a million times: print the first few only.
  if (!good && tally().failed <= 50) std::printf("%s:%d: %s\n", file, line, what.c_str());
  return good;
}

template <class A, class B>
  requires std::is_arithmetic_v<A>
bool equal(const A& a, const B& b, const char* file, int line, const char* what) {
  if (a == b) [[likely]] {
    ++tally().passed;
    return true;
  }
  return note(false, file, line, std::string(what) + ": " + show(a) + " is not " + show(b));
}
/// For texts: one function instead of one per literal length, which compiles slowly.
inline bool equal(const std::string& a, std::string_view b, const char* file, int line, const char* what) {
  if (a == b) {
    ++tally().passed;
    return true;
  }
  return note(false, file, line, std::string(what) + ": \"" + a + "\" is not \"" + std::string(b) + '"');
}

}  // namespace check

#define TEST(name)                                      \
  static void name();                                   \
  static const check::Test name##_on_list(#name, name); \
  static void name()

#define CHECK(condition) \
  ((condition) ? (++check::tally().passed, true) : check::note(false, __FILE__, __LINE__, #condition))

#define CHECK_EQ(a, b) check::equal((a), (b), __FILE__, __LINE__, #a " == " #b)

/// `expression` must throw an `Exception`.
#define CHECK_THROWS(expression, Exception)                                        \
  do {                                                                             \
    bool thrown = false;                                                           \
    try {                                                                          \
      expression;                                                                  \
    } catch (const Exception&) {                                                   \
      thrown = true;                                                               \
    }                                                                              \
    check::note(thrown, __FILE__, __LINE__, #expression " throws no " #Exception); \
  } while (false)
