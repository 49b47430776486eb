#include "base/number.hpp"

namespace thresher::detail {

namespace {

/// The end of [+-]digits[.digits][e[+-]digits], or nullptr where that is not what stands there.
/// Checked by hand since strtod would also take hexadecimal, "nan" and "inf".
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

}  // namespace

const char* parse_double_slowly(const char* p, double& out) {
  const char* const end = decimal_end(p);
  if (end == nullptr) return nullptr;
  if (*p == '+') ++p;
#if defined(__cpp_lib_to_chars)
  const auto [stop, status] = std::from_chars(p, end, out);
  if (status == std::errc::result_out_of_range) {
    // Too small is zero; too large is an infinity, which the caller refuses.
    out = std::strtod(std::string(p, end).c_str(), nullptr);
    return end;
  }
  return status == std::errc() && stop == end ? end : nullptr;
#else
  out = std::strtod(std::string(p, end).c_str(), nullptr);
  return end;
#endif
}

}  // namespace thresher::detail
