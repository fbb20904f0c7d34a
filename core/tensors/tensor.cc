#include "core/tensors/tensor.h"

#include "core/base/error.h"
#include "core/base/text/printable.h"
#include "core/base/text/utf8.h"
#include "core/tensors/header.h"

namespace det::tensors {

std::string quoted_name(const std::string &name) {
  constexpr size_t most = 200;
  return "'" + printable(name.size() > most ? name.substr(0, most) + "..." : name) + "'";
}

void check(const Tensor &tensor) {
  const auto refuse = [&](const std::string &problem, Code code = Code::invalid) {
    throw Error(code, "tensor " + quoted_name(tensor.name) + ": " + problem);
  };
  if (tensor.name.empty() || tensor.name == metadata_key || !is_utf8(tensor.name))
    refuse("no tensor can have that name; give it another, in UTF-8");
  if (tensor.whole.size() > most_dimensions)
    refuse(std::to_string(tensor.whole.size()) + " dimensions; at most " +
           std::to_string(most_dimensions) + " are possible");
  if (!lies_in(tensor.region, tensor.whole))
    refuse("the part " + text_of(tensor.region) + " does not lie in the tensor " +
           text_of(tensor.whole));
  if (!bytes_of(tensor.dtype, tensor.whole))
    refuse(std::string("the bytes of ") + name_of(tensor.dtype) + " " + text_of(tensor.whole) +
           " do not fit into 64 bits, or are no whole number");
  if (bits_of(tensor.dtype) < 8 && !tensor.is_whole())
    refuse(std::string("its elements, ") + name_of(tensor.dtype) +
               ", are less than a byte; only the whole tensor can be taken",
           Code::unsupported);
  if (tensor.data == nullptr && tensor.bytes() > 0) refuse("its data is NULL");
}

}  // namespace det::tensors
