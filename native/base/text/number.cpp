#include "base/text/number.hpp"

#include <locale>
#include <sstream>

namespace thresher::detail {

namespace {

/// The end of [+-]digits[.digits][e[+-]digits], or nullptr if `p` does not point to one. Checked here because strtod
/// would also accept hexadecimal, "nan" and "inf".
const char* decimal_end(const char* p) {
  p += (*p == '-' || *p == '+') ? 1 : 0;
  bool any = false;
  for (; is_digit(*p); ++p) any = true;
  if (*p == '.')
    for (++p; is_digit(*p); ++p) any = true;
  if (!any) return nullptr;
  if ((*p | 0x20) == 'e') {
    const char* q = p + 1;
    q += (*q == '-' || *q == '+') ? 1 : 0;
    if (!is_digit(*q)) return nullptr;
    while (is_digit(*q)) ++q;
    p = q;
  }
  return p;
}

/// Parse a decimal independently of the process locale. Underflow gives zero; overflow gives infinity, which callers
/// reject.
double read_in_c_locale(const char* p, const char* end) {
  std::istringstream text(std::string(p, end));
  text.imbue(std::locale::classic());
  double value = 0.0;
  text >> value;
  return std::fabs(value) == std::numeric_limits<double>::max() ? std::copysign(HUGE_VAL, value) : value;
}

}  // namespace

const char* parse_double_slowly(const char* p, double& out) {
  const char* const end = decimal_end(p);
  if (end == nullptr) return nullptr;
  if (*p == '+') ++p;
#if defined(__cpp_lib_to_chars)
  const auto [stop, status] = std::from_chars(p, end, out);
  if (status == std::errc::result_out_of_range) {
    out = read_in_c_locale(p, end);
    return end;
  }
  return status == std::errc() && stop == end ? end : nullptr;
#else
  out = read_in_c_locale(p, end);
  return end;
#endif
}

}  // namespace thresher::detail
