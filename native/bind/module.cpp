#include "bind/convert/arrays.hpp"

NB_MODULE(_native, m) {
  m.doc() = "The C++ core of thresher.";
#ifdef NDEBUG
  // A user's program that ends within a callback still refers to interim objects: no fault of theirs, so no warning.
  nanobind::set_leak_warnings(false);
#endif
  thresher::bind::bind_base(m);
  thresher::bind::bind_lines(m);
  thresher::bind::bind_sequences(m);
  thresher::bind::bind_cells(m);
  thresher::bind::bind_table_rows(m);
  thresher::bind::bind_csv(m);
  thresher::bind::bind_texts(m);
  thresher::bind::bind_products(m);
  thresher::bind::bind_sketches(m);
  thresher::bind::bind_online(m);
  thresher::bind::bind_duals(m);
  thresher::bind::bind_prefetch(m);
  thresher::bind::bind_cache(m);
  thresher::bind::bind_columns(m);
  thresher::bind::bind_fgm(m);
  thresher::bind::bind_terms(m);
  thresher::bind::bind_solvers(m);
  thresher::bind::bind_solvers_l1(m);
  thresher::bind::bind_sparse_refit(m);
  thresher::bind::bind_information(m);
  thresher::bind::bind_substitution(m);
  thresher::bind::bind_async_substitution(m);
  thresher::bind::bind_random_features(m);
  thresher::bind::bind_sparse_rf(m);
}
