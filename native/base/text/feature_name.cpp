#include "base/text/feature_name.hpp"

#include <algorithm>
#include <vector>

namespace thresher {

namespace {

// UTF-8 bytes, independent of the source encoding: " × ", and superscript 2 and 3.
constexpr std::string_view times = " \xc3\x97 ";
constexpr std::string_view powers[] = {"", "\xc2\xb2", "\xc2\xb3"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The end of the digits from `at` on.
std::size_t digits_end(std::string_view s, std::size_t at) {
  while (at < s.size() && is_digit(s[at])) ++at;
  return at;
}

/// Drop an incomplete UTF-8 character at the end.
void drop_broken_end(std::string& s) {
  std::size_t first = s.size();
  while (first > 0 && (static_cast<unsigned char>(s[first - 1]) & 0xc0) == 0x80) --first;
  // `first - 1` is the last lead byte.
  if (first == 0) return;
  const auto lead = static_cast<unsigned char>(s[first - 1]);
  const std::size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if (s.size() - (first - 1) < need) s.resize(first - 1);
}

void cut(std::string& s, std::size_t cap) {
  if (s.size() <= cap) return;
  s.resize(cap);
  drop_broken_end(s);
}

/// `prefix + text` in at most `cap` bytes.
std::string concatenate(const NameView& name, std::size_t cap) {
  std::string out;
  out.reserve(std::min(cap, name.prefix.size() + name.text.size()));
  out.append(name.prefix.substr(0, cap));
  out.append(name.text.substr(0, cap - out.size()));
  // A text of the maximal packed length was probably cut already.
  if (out.size() < name.prefix.size() + name.text.size() || name.text.size() >= PackedName::longest)
    drop_broken_end(out);
  return out;
}

/// A parent of a product and its exponent.
struct Factor {
  std::size_t parent;
  std::string name;
  std::size_t times;
};

/// The distinct factors of a product in natural order.
std::vector<Factor> factors_of(const NameView& name) {
  std::vector<Factor> factors;
  for (unsigned place = 0; place < ProductName::most_parts; ++place) {
    const std::size_t parent = ProductName::parent(name.product, place);
    if (parent == 0) continue;
    const auto same = std::find_if(factors.begin(), factors.end(), [&](const Factor& f) { return f.parent == parent; });
    if (same != factors.end())
      ++same->times;
    else
      factors.push_back(
          {parent, concatenate(name.table->packed(name.table->parents[parent - 1]), std::string::npos), 1});
  }
  std::sort(factors.begin(), factors.end(),
            [](const Factor& a, const Factor& b) { return natural_less(a.name, b.name); });
  return factors;
}

/// Cut the longest factors until all fit into `room` bytes.
void cut_longest(std::vector<Factor>& factors, std::size_t room) {
  std::vector<Factor*> shortest_first;
  for (Factor& factor : factors) shortest_first.push_back(&factor);
  std::stable_sort(shortest_first.begin(), shortest_first.end(),
                   [](const Factor* a, const Factor* b) { return a->name.size() < b->name.size(); });
  std::size_t left = shortest_first.size();
  for (Factor* factor : shortest_first) {
    cut(factor->name, room / left--);
    room -= factor->name.size();
  }
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::size_t a_end = digits_end(a, i);
      const std::size_t b_end = digits_end(b, j);
      while (i < a_end && a[i] == '0') ++i;
      while (j < b_end && b[j] == '0') ++j;
      const std::string_view x = a.substr(i, a_end - i);
      const std::string_view y = b.substr(j, b_end - j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      i = a_end;
      j = b_end;
    } else {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i;
      ++j;
    }
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return a < b;  // they differ at most in leading zeros
}

std::string format_name(const NameView& name, std::size_t cap) {
  if (name.product == 0) return concatenate(name, cap);
  std::vector<Factor> factors = factors_of(name);
  std::size_t signs = times.size() * (factors.size() - 1);
  for (const Factor& factor : factors) signs += powers[factor.times - 1].size();
  cut_longest(factors, cap > signs ? cap - signs : 0);
  std::string out;
  for (const Factor& factor : factors) {
    if (&factor != factors.data()) out += times;
    out += factor.name;
    out += powers[factor.times - 1];
  }
  cut(out, cap);
  return out;
}

}  // namespace thresher
