#include "bind/convert/arrays.hpp"

NB_MODULE(_native, m) {
  m.doc() = "The C++ core of thresher.";
  thresher::bind::bind_base(m);
  thresher::bind::bind_sources(m);
  thresher::bind::bind_kmers(m);
  thresher::bind::bind_tables(m);
  thresher::bind::bind_products(m);
  thresher::bind::bind_sketches(m);
  thresher::bind::bind_online(m);
  thresher::bind::bind_duals(m);
  thresher::bind::bind_ahead(m);
  thresher::bind::bind_stored(m);
  thresher::bind::bind_families(m);
  thresher::bind::bind_implicit(m);
  thresher::bind::bind_terms(m);
  thresher::bind::bind_working_set(m);
  thresher::bind::bind_l1(m);
  thresher::bind::bind_substitution(m);
  thresher::bind::bind_drawn(m);
}
