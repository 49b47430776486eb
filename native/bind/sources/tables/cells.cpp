// Arrow buffers as cells of columns.
#include "bind/sources/tables/cells.hpp"

namespace thresher::bind {

using namespace sources;

namespace {

/// Raise unless offsets are ascending and within `size`.
void check_offsets(const Offsets& offsets, std::size_t n, std::size_t size) {
  std::int64_t before = 0;
  for (std::size_t i = 0; i <= n; ++i) {
    const std::int64_t at = offsets[i];
    if (at < before) throw nb::value_error("offsets must not fall");
    before = at;
  }
  if (static_cast<std::size_t>(before) > size) throw nb::value_error("offsets out of range");
}

Offsets offsets_of(const CellsWithOwners& held, std::size_t n) {
  if ((held.narrow ? held.narrow->shape(0) : held.wide->shape(0)) < n + 1) throw nb::value_error("too few offsets");
  return {held.narrow ? held.narrow->data() : nullptr, held.wide ? held.wide->data() : nullptr};
}

void check_validity(CellsWithOwners& held, std::size_t n, const Maybe<std::uint8_t>& validity, std::size_t first_bit) {
  held.cells.n = n;
  held.validity = validity;
  held.cells.first_bit = first_bit;
  if (!validity) return;
  if (8 * validity->shape(0) < first_bit + n) throw nb::value_error("the validity bitmap is too short");
  held.cells.validity = validity->data();
}

std::shared_ptr<CellsWithOwners> number_cells(std::size_t n, const Array<const double>& numbers,
                                              const Maybe<std::uint8_t>& validity, std::size_t first_bit) {
  auto held = std::make_shared<CellsWithOwners>();
  check_validity(*held, n, validity, first_bit);
  if (numbers.shape(0) < n) throw nb::value_error("too few numbers");
  held->numbers = numbers;
  held->cells.numbers = numbers.data();
  return held;
}

template <class T>
void take_offsets(CellsWithOwners& held, const Array<const T>& offsets) {
  if constexpr (sizeof(T) == 4)
    held.narrow = offsets;
  else
    held.wide = offsets;
}

template <class T>
std::shared_ptr<CellsWithOwners> text_cells(std::size_t n, const Array<const T>& offsets, const Bytes& text,
                                            const Maybe<std::uint8_t>& validity, std::size_t first_bit,
                                            std::uint64_t name_start) {
  auto held = std::make_shared<CellsWithOwners>();
  check_validity(*held, n, validity, first_bit);
  take_offsets(*held, offsets);
  held->cells.texts = offsets_of(*held, n);
  check_offsets(held->cells.texts, n, text.shape(0));
  if (name_start + text.shape(0) > PackedName::farthest) throw nb::value_error("names reach over 4 GB of text at most");
  held->text = text;
  held->cells.text = reinterpret_cast<const char*>(text.data());
  held->cells.text_size = text.shape(0);
  held->cells.name_start = name_start;
  return held;
}

template <class T>
std::shared_ptr<CellsWithOwners> list_cells(std::size_t n, const Array<const T>& offsets,
                                            const std::shared_ptr<CellsWithOwners>& values,
                                            const Maybe<std::uint8_t>& validity, std::size_t first_bit,
                                            const std::shared_ptr<CellsWithOwners>& amounts) {
  auto held = std::make_shared<CellsWithOwners>();
  check_validity(*held, n, validity, first_bit);
  take_offsets(*held, offsets);
  held->cells.lists = offsets_of(*held, n);
  check_offsets(held->cells.lists, n, values->cells.n);
  if (values->cells.lists.present()) throw nb::value_error("no lists in lists");
  if (amounts && (amounts->cells.n < values->cells.n || amounts->cells.numbers == nullptr))
    throw nb::value_error("too few amounts for the values of a map");
  held->values = values;
  held->amounts = amounts;
  held->cells.values = &values->cells;
  held->cells.amounts = amounts ? &amounts->cells : nullptr;
  return held;
}

}  // namespace

RowLabels labels_of(const Held& target, bool target_is_text, bool labels_optional, const Held& weight, std::size_t n) {
  if ((target && target->cells.n < n) || (weight && weight->cells.n < n)) throw nb::value_error("too few labels");
  if ((target && target->cells.lists.present()) || (weight && weight->cells.lists.present()))
    throw nb::value_error("a list cannot be a label");
  return {target ? &target->cells : nullptr, target_is_text, labels_optional, weight ? &weight->cells : nullptr};
}

void bind_cells(nb::module_& m) {
  nb::class_<CellsWithOwners>(m, "Cells");
  m.def("number_cells", &number_cells, nb::arg("n"), nb::arg("numbers"), nb::arg("validity").none() = nb::none(),
        nb::arg("first_bit") = 0);
  const auto def_texts = [&m](auto* function) {
    m.def("text_cells", function, nb::arg("n"), nb::arg("offsets").noconvert(), nb::arg("text"),
          nb::arg("validity").none() = nb::none(), nb::arg("first_bit") = 0, nb::arg("name_start") = 0);
  };
  def_texts(&text_cells<std::int32_t>);
  def_texts(&text_cells<std::int64_t>);
  const auto def_lists = [&m](auto* function) {
    m.def("list_cells", function, nb::arg("n"), nb::arg("offsets").noconvert(), nb::arg("values"),
          nb::arg("validity").none() = nb::none(), nb::arg("first_bit") = 0, nb::arg("amounts").none() = nb::none());
  };
  def_lists(&list_cells<std::int32_t>);
  def_lists(&list_cells<std::int64_t>);
}

}  // namespace thresher::bind
