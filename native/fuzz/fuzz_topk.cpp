// The top-k table against a map. The first byte is k and the cap of the names, then two bytes per put: a key and a
// weight, both from a small set so that ties, returns and evictions are common.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/containers/topk.hpp"
#include "base/hash.hpp"
#include "fuzz/require.hpp"
#include "tests/support/topk_oracle.hpp"

namespace {

std::uint64_t key_of(std::uint8_t choice) {
  if (choice < 64) return choice;                               // as in a LIBSVM file
  if (choice < 128) return ~std::uint64_t{0} - (choice - 64U);  // the other end
  return thresher::hash_key(choice, 0);                         // as in a VW file
}

double weight_of(std::uint8_t choice) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double odd[] = {infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), -0.0, 5e-324, -1e308,
                            1e-300,   0.1};
  if (choice < 8) return odd[choice];
  return (static_cast<double>(choice) - 128.0) / 8.0;
}

constexpr std::string_view names[] = {"",
                                      "a",
                                      "name",
                                      "a longer name",
                                      "\xc3\xa9t\xc3\xa9",
                                      "\xe2\x82\xac\xe2\x82\xac",
                                      "\xf0\x9f\x8c\xbe\xf0\x9f\x8c\xbe"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t k = 1 + data[0] % 32;
  const std::size_t name_cap = data[0] / 32;
  thresher::TopK table(k, name_cap);
  check::TopKOracle oracle(k, name_cap);
  for (std::size_t i = 1; i + 1 < size; i += 2) {
    const std::uint64_t key = key_of(data[i]);
    const double weight = weight_of(data[i + 1]);
    const std::string_view name = names[(data[i] + data[i + 1]) % std::size(names)];
    thresher::Evicted evicted;
    thresher::Evicted wanted;
    REQUIRE(check::put(table, key, weight, name, evicted) == oracle.put(key, weight, name, wanted));
    REQUIRE(evicted.happened == wanted.happened && evicted.key == wanted.key);
    REQUIRE(difference(table, oracle).empty());
  }
  return 0;
}
