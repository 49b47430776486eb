#include <map>
#include <string>
#include <vector>

#include "online/minibatch.hpp"
#include "tests/support/check.hpp"
#include "tests/support/random_rows.hpp"

using check::Data;
using check::Random;
using thresher::Row;
using thresher::online::Minibatch;

TEST(minibatch_sums_like_a_map_in_the_order_received) {
  Random random(1);
  for (const std::size_t lanes : {1, 3}) {
    Minibatch batch(lanes);
    for (int round = 0; round < 20; ++round) {  // repeated: `clear` must leave nothing behind
      const Data data = check::some_rows(random, 1 + random.below(60), 5000, true);
      const thresher::Rows rows = data.rows();
      std::map<std::uint64_t, std::vector<double>> sums;
      std::vector<std::uint64_t> order;
      for (std::size_t i = 0; i < data.y.size(); ++i) {
        const Row row = rows[i];
        std::vector<double> slopes;
        for (std::size_t c = 0; c < lanes; ++c) slopes.push_back(static_cast<double>(random.below(9)) - 4.0);
        batch.add(row, slopes.data());
        for (std::size_t j = 0; j < row.n; ++j) {
          auto& at = sums[row.keys[j]];
          if (at.empty()) {
            at.resize(lanes);
            order.push_back(row.keys[j]);
          }
          for (std::size_t c = 0; c < lanes; ++c) at[c] += slopes[c] * row.value(j);
        }
      }
      CHECK_EQ(batch.rows(), data.y.size());
      if (!CHECK(batch.keys() == order)) return;
      for (std::size_t i = 0; i < order.size(); ++i)
        for (std::size_t c = 0; c < lanes; ++c) CHECK_EQ(batch.sums()[i * lanes + c], sums[order[i]][c]);
      const Row whole = batch.row();
      CHECK_EQ(whole.n, order.size());
      if (whole.n > 0) CHECK_EQ(whole.value(whole.n - 1), 1.0);
      batch.forget();
      CHECK_EQ(batch.size(), 0U);
      CHECK_EQ(batch.rows(), 0U);
    }
  }
}

TEST(minibatch_names_outlive_their_text) {
  Minibatch batch(1);
  const double slope = 1.0;
  {
    std::vector<char> text{'o', 'n', 'e', 'x', 'y'};
    const std::uint64_t words[] = {thresher::PackedName::pack(0, 3, 0), thresher::PackedName::pack(3, 2, 1)};
    const std::uint64_t keys[] = {7, 9};
    thresher::NameTable names;
    names.words = words;
    names.text = text.data();
    names.prefixes = {"", "ns^"};
    batch.add({keys, nullptr, 2, &names, 0}, &slope);
  }
  const std::uint64_t more[] = {9, 11};
  batch.add({more, nullptr, 2, nullptr, 0}, &slope);  // a feature without a name keeps its earlier one
  CHECK_EQ(batch.name(0), "one");
  CHECK_EQ(batch.name(1), "ns^xy");
  CHECK_EQ(batch.name(2), "");
  const Row row = batch.row();
  CHECK_EQ(thresher::format_name(row.name(0), 99), "one");
  CHECK_EQ(thresher::format_name(row.name(1), 99), "ns^xy");
  CHECK_EQ(thresher::format_name(row.name(2), 99), "");
}

TEST(minibatch_restored) {
  Minibatch batch(2);
  for (std::uint64_t key = 0; key < 500; ++key) {
    const double sums[] = {static_cast<double>(key), -1.0};
    batch.restore(key * key, sums, {{}, "n"});
  }
  batch.set_rows(3);
  CHECK_EQ(batch.size(), 500U);
  CHECK_EQ(batch.rows(), 3U);
  CHECK_EQ(batch.sums()[2 * 499], 499.0);
  const std::uint64_t key = 499 * 499;
  const double slopes[] = {1.0, 2.0};
  batch.add({&key, nullptr, 1, nullptr, 0}, slopes);
  CHECK_EQ(batch.size(), 500U);
  CHECK_EQ(batch.sums()[2 * 499], 500.0);
  CHECK_EQ(batch.sums()[2 * 499 + 1], 1.0);
}
