// Any bytes in place of a file of tensors, of an index, or of what a file says of its parts:
// understood, or Code::corrupt; what is understood can be read, and written again.
#include <cstdlib>
#include <fstream>

#include "core/base/error.h"
#include "core/tensors/reader.h"
#include "core/tensors/sharding.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det::tensors;

void read_all(const std::filesystem::path &directory, const std::string &name) {
  const Reader reader(det::storage::Tree(directory), name, true);
  for (const Reader::Entry &entry : reader.entries()) {
    Tensor wanted;
    static_cast<TensorPart &>(wanted) = {entry.name, entry.dtype, Region::whole(entry.shape),
                                         entry.shape};
    if (wanted.bytes() > 1 << 20) continue;  // where the file is sparse
    std::vector<char> bytes(wanted.bytes() + 1);
    wanted.data = bytes.data();
    try {
      reader.read({wanted});
    } catch (const det::Error &e) {
      if (e.code != det::Code::invalid) throw;  // an empty name cannot be asked for
    }
  }
}

void understand(const std::function<void()> &what) {
  try {
    what();
  } catch (const det::Error &e) {
    if (e.code != det::Code::corrupt) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const det::TemporaryDirectory directory;
  const std::string text(reinterpret_cast<const char *>(data), size);
  for (const char *name : {"file", "index.index.json"})
    std::ofstream(directory / name, std::ios::binary) << text;
  understand([] { read_all(directory.path(), "file"); });
  understand([] { read_all(directory.path(), "index"); });
  understand([&] {
    Header header = parse_header(text, size, "the header");
    const std::string again = format_header(header.tensors, header.metadata);
    if (parse_header(std::string_view(again).substr(8), size, "ours").tensors.size() !=
        header.tensors.size())
      std::abort();
  });
  understand([&] {
    Header header;
    header.tensors = {{"x", Dtype::f32, {2, 3}, 0, 24}};
    header.metadata["DCP_SHARDING_INFO"] = text;
    parts_of(header, "the header");
  });
  return 0;
}
