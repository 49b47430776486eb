// Runs a fuzz target over the files and folders named as arguments: no libFuzzer needed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fs = std::filesystem;

int main(int argc, char** argv) {
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (fs::is_directory(argv[i])) {
      for (const auto& entry : fs::recursive_directory_iterator(argv[i]))
        if (entry.is_regular_file()) files.push_back(entry.path());
    } else {
      files.emplace_back(argv[i]);
    }
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
      std::fprintf(stderr, "cannot read %s\n", file.string().c_str());
      return 1;
    }
    const std::string content{std::istreambuf_iterator<char>(stream), {}};
    // A block of just this size, so that the address sanitizer sees a read past its end.
    const std::unique_ptr<std::uint8_t[]> exact(new std::uint8_t[content.size()]);
    if (!content.empty()) std::memcpy(exact.get(), content.data(), content.size());
    std::fprintf(stderr, "%s\n", file.string().c_str());  // the last one named is the one that broke it
    LLVMFuzzerTestOneInput(exact.get(), content.size());
  }
  const std::string name = argc > 0 ? fs::path(argv[0]).filename().string() : "replay";
  std::printf("%s: %zu inputs replayed\n", name.c_str(), files.size());
  // No input at all is a wrong path, not a success.
  return files.empty() ? 1 : 0;
}
