#include "online/minibatch.hpp"

#include <algorithm>

namespace thresher::online {

std::size_t Minibatch::slot(std::uint64_t key, const NameView& name) {
  if (2 * (keys_.size() + 1) > index_.size()) grow();
  const std::size_t mask = index_.size() - 1;
  std::size_t at = hash_key(key, std::uint64_t{0}) & mask;
  for (; index_[at] != 0; at = (at + 1) & mask)
    if (keys_[index_[at] - 1] == key) return index_[at] - 1;
  keys_.push_back(key);
  index_[at] = static_cast<std::uint32_t>(keys_.size());
  sums_.resize(keys_.size() * lanes_, 0.0);
  names_.push_back(format_name(name, PackedName::longest - 1));
  return keys_.size() - 1;
}

void Minibatch::grow() {
  index_.assign(std::max<std::size_t>(64, 2 * index_.size()), 0);
  const std::size_t mask = index_.size() - 1;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    std::size_t at = hash_key(keys_[i], std::uint64_t{0}) & mask;
    while (index_[at] != 0) at = (at + 1) & mask;
    index_[at] = static_cast<std::uint32_t>(i + 1);
  }
}

void Minibatch::restore(std::uint64_t key, const double* sums, const NameView& name) {
  std::copy(sums, sums + lanes_, sums_.begin() + static_cast<std::ptrdiff_t>(slot(key, name) * lanes_));
}

Row Minibatch::row() {
  words_.clear();
  text_.clear();
  for (const std::string& name : names_) {
    words_.push_back(PackedName::pack(text_.size(), name.size(), 0));
    text_ += name;
  }
  table_.words = words_.data();
  table_.text = text_.data();
  table_.prefixes = {std::string_view()};
  return {keys_.data(), nullptr, keys_.size(), &table_, 0};
}

void Minibatch::forget() {
  rows_ = 0;
  keys_.clear();
  sums_.clear();
  names_.clear();
  std::fill(index_.begin(), index_.end(), 0U);
}

}  // namespace thresher::online
