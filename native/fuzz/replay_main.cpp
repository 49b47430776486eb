// Runs a fuzz target over the files and folders passed as arguments, without libFuzzer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
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
    const std::string name = file.string();
    std::error_code trouble;
    const auto size = static_cast<std::size_t>(fs::file_size(file, trouble));
    std::FILE* const stream = trouble ? nullptr : std::fopen(name.c_str(), "rb");
    if (stream == nullptr) {
      std::fprintf(stderr, "cannot read %s\n", name.c_str());
      return 1;
    }
    // A block of exactly this size, so that the address sanitizer detects a read past its end.
    const std::unique_ptr<std::uint8_t[]> content(new std::uint8_t[size]);
    const std::size_t got = std::fread(content.get(), 1, size, stream);
    std::fclose(stream);
    std::fprintf(stderr, "%s\n", name.c_str());  // the last one printed is the one that failed
    LLVMFuzzerTestOneInput(content.get(), got);
  }
  const std::string name = argc > 0 ? fs::path(argv[0]).filename().string() : "replay";
  std::printf("%s: %zu inputs replayed\n", name.c_str(), files.size());
  // No input at all is a wrong path, not a success.
  return files.empty() ? 1 : 0;
}
