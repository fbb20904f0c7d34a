#include "core/trial/gradient_check.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/comm/agreement.h"
#include "core/comm/numbers.h"
#include "core/trial/nccl.h"

namespace det::trial {

namespace {

constexpr size_t largest_count = size_t{1} << 48;

std::string tried() { return "making a gradient aggregator: "; }

void check_options(const GradientOptions &options) {
  if (options.frequency < 1)
    throw Error(Code::invalid, tried() + "aggregation_frequency is " +
                                   std::to_string(options.frequency) +
                                   "; it counts batches, from 1");
  if (options.fusion_threshold == 0)
    throw Error(Code::invalid, tried() + "fusion_threshold is 0; it is a number of bytes");
}

void check_devices(const GradientOptions &options, int ranks) {
  if (options.way != Way::nccl) return;
  if (options.frequency > 1 || options.compress)
    throw Error(Code::unsupported,
                tried() +
                    "NCCL adds up neither gradients of several batches nor gradients in half "
                    "precision here; use aggregation_frequency 1 without gradient_compression, or "
                    "let the library choose the way");
  if (ranks > 1) Nccl::load();  // now, rather than in the middle of training
}

void check_tensor(const GradientTensor &tensor, size_t index, const GradientOptions &options) {
  const std::string name = tried() + "tensor " + std::to_string(index);
  if (!is_gradient_dtype(tensor.dtype))
    throw Error(Code::invalid, name + " is not of F16, BF16, F32 or F64");
  if (tensor.count > largest_count)
    throw Error(Code::invalid, name + " has " + std::to_string(tensor.count) + " elements");
  if (tensor.is_sparse && options.frequency > 1)
    throw Error(Code::unsupported,
                name +
                    " is sparse, and sparse gradients cannot be added up over several batches; "
                    "use aggregation_frequency 1, or dense gradients");
}

// What ranks must agree about: options, then tensors, a number each time.
std::string description(const std::vector<GradientTensor> &tensors,
                        const GradientOptions &options) {
  std::string text;
  for (const uint64_t number : {static_cast<uint64_t>(options.frequency), uint64_t{options.average},
                                uint64_t{options.compress}, uint64_t{options.fusion_threshold},
                                uint64_t{options.last_first}, static_cast<uint64_t>(options.way),
                                uint64_t{options.are_complete}})
    comm::append_number(text, number);
  for (const GradientTensor &tensor : tensors)
    comm::append_number(text, uint64_t{tensor.count} << 8U | static_cast<uint64_t>(tensor.dtype));
  return text;
}

constexpr size_t number_size = sizeof(uint64_t);
constexpr std::array option_names{"aggregation_frequency", "average_aggregated_gradients",
                                  "gradient_compression",  "tensor_fusion_threshold",
                                  "first_to_last",         "reduction",
                                  "gradients_are_complete"};
constexpr size_t option_count = option_names.size();

std::string tensor_at(const std::string &text, size_t index) {
  const auto number = comm::take_number<uint64_t>(&text[(option_count + index) * number_size]);
  return std::to_string(number >> 8U) + " elements of " +
         tensors::name_of(static_cast<Dtype>(number & 0xffU));
}

std::string difference(const std::string &chief, const std::string &other,
                       const std::string &name) {
  if (chief.size() != other.size())
    return "rank 0 registered " + std::to_string(chief.size() / number_size - option_count) +
           " tensors and " + name + " " + std::to_string(other.size() / number_size - option_count);
  const auto at =
      static_cast<size_t>(std::ranges::mismatch(chief, other).in1 - chief.begin()) / number_size;
  if (at < option_count)
    return "rank 0 and " + name + " gave different options, such as " + option_names[at];
  const size_t index = at - option_count;
  return "tensor " + std::to_string(index) + " has " + tensor_at(chief, index) + " on rank 0 and " +
         tensor_at(other, index) + " on " + name;
}

}  // namespace

GradientRegistration agree_on_gradients(comm::Communicator &communicator,
                                        const GradientAggregator::Given &given) {
  GradientRegistration own;
  const std::vector<std::string> descriptions =
      comm::all_agree(communicator, creating_gradients, [&] {
        own = given();
        check_options(own.options);
        check_devices(own.options, communicator.ranks().size);
        for (size_t index = 0; index < own.tensors.size(); ++index)
          check_tensor(own.tensors[index], index, own.options);
        return description(own.tensors, own.options);
      });
  const auto other = std::ranges::find_if(
      descriptions, [&](const std::string &text) { return text != descriptions.front(); });
  if (other != descriptions.end())
    throw Error(Code::conflict,
                tried() +
                    difference(descriptions.front(), *other,
                               "rank " + std::to_string(other - descriptions.begin())) +
                    "; all ranks must give the same");
  return own;
}

}  // namespace det::trial
