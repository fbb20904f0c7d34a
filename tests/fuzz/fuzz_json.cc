// What the parser takes, metadata.json gives back: written, read and written again, it is the same.
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  det::Json value;
  try {
    value = det::parse_json({reinterpret_cast<const char *>(data), size}, "input");
  } catch (const det::Error &e) {
    if (e.code != det::Code::invalid) std::abort();
    return 0;
  }
  const std::string text = det::to_metadata_text(value);
  if (det::to_metadata_text(det::parse_json(text, "written")) != text) std::abort();
  // No document on the wire may need the lenient reading.
  if (!det::Json::accept(det::to_wire(value))) std::abort();
  return 0;
}
