#include "core/trial/gradients/gradients.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/comm/agreement.h"
#include "core/comm/numbers.h"
#include "core/trial/gradients/arithmetic.h"
#include "core/trial/gradients/nccl.h"

namespace det::trial {

namespace {

size_t bytes_in(const GradientTensor &tensor) { return tensor.count * bytes_of(tensor.dtype); }

}  // namespace

GradientMemory::Place GradientMemory::place_of(size_t index, const GradientTensor &tensor,
                                               const void *data) {
  const auto address = static_cast<char *>(const_cast<void *>(data));  // who reads does not write
  if (driver_ == nullptr) driver_ = tensors::CudaDriver::loaded();
  if (driver_ == nullptr) return {address, nullptr};
  const tensors::Shape shape{tensor.count};
  if (waits_for_queues_) cuda_.wait_again();
  return {address, cuda_.context_of(
                       {{gradient_name(index), tensor.dtype, tensors::Region::whole(shape), shape},
                        address})};
}

const void *GradientMemory::read(const Place &place, const GradientTensor &tensor) {
  if (place.context == nullptr) return place.data;
  copy_.resize(bytes_in(tensor));
  cuda_.copy_from(place.context, place.data, copy_.data(), copy_.size());
  return copy_.data();
}

char *GradientMemory::room(const Place &place, const GradientTensor &tensor) {
  if (place.context == nullptr) return place.data;
  copy_.resize(bytes_in(tensor));
  return copy_.data();
}

void GradientMemory::finish(const Place &place, const GradientTensor &tensor) {
  if (place.context != nullptr)
    cuda_.copy_to(place.context, place.data, copy_.data(), bytes_in(tensor));
}

std::string gradient_name(size_t index) { return "gradient " + std::to_string(index); }

void AddedGradients::end_batch() { std::ranges::replace(seen_, now, earlier); }

void AddedGradients::end_period() { std::ranges::fill(seen_, none); }

// What ranks have seen, of the first tensor of which one has not what rank 0 has.
std::string AddedGradients::difference(const std::vector<comm::Message> &seen) {
  const std::string &chief = seen.front().value();
  for (size_t rank = 1; rank < seen.size(); ++rank) {
    const auto [one, other] = std::ranges::mismatch(chief, seen[rank].value());
    if (one == chief.end()) continue;
    const bool chief_has = *other == none || (*one == now && *other == earlier);
    return "rank " + std::to_string(chief_has ? 0 : rank) + " added " +
           gradient_name(static_cast<size_t>(one - chief.begin())) + " and rank " +
           std::to_string(chief_has ? rank : 0) +
           " did not; every rank must add the same ones in a batch";
  }
  return "ranks added different gradients";
}

std::optional<std::string> AddedGradients::find_problem(comm::Communicator &communicator) const {
  if (communicator.ranks().size > 1) {
    std::string mine;
    comm::append_number(mine, checksum64(seen_.data(), seen_.size()));
    const std::vector<comm::Message> sums = communicator.allgather(mine, stepping_gradients);
    if (std::ranges::any_of(sums, [&](const comm::Message &sum) { return sum != mine; }))
      return difference(communicator.allgather(seen_, stepping_gradients));
  }
  const size_t missing = seen_.find(earlier);
  if (missing == std::string::npos) return std::nullopt;
  return gradient_name(missing) +
         " is missing in the last batch of a period and was there before; add zeros";
}

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

// Collective. Gives what `given` gave. Throws on all ranks what it throws on one: Code::invalid for
// what cannot be, Code::unsupported for sparse gradients over several batches. Code::conflict where
// a rank has other tensors or options than rank 0.
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

}  // namespace

GradientAggregator::GradientAggregator(comm::Communicator &communicator, const Given &given)
    : GradientAggregator(communicator, agree_on_gradients(communicator, given)) {}

GradientAggregator::GradientAggregator(comm::Communicator &communicator,
                                       GradientRegistration agreed)
    : communicator_(communicator),
      tensors_(std::move(agreed.tensors)),
      options_(agreed.options),
      layout_(tensors_, options_.fusion_threshold, options_.last_first, is_compressing()),
      memory_(!options_.are_complete),
      results_(tensors_.size()),
      added_(tensors_.size()),
      packed_(layout_.groups().size()) {
  if (is_through()) return;
  if (may_be_on_devices()) choice_.emplace();
  reduction_ = make_reduction(communicator, layout_, is_compressing() ? 1 : divisor(),
                              choice_ ? Way::automatic : options_.way);
  if (!is_compressing() || options_.frequency == 1) return;
  totals_layout_.emplace(tensors_, options_.fusion_threshold, options_.last_first, false);
  totals_.resize(totals_layout_->size());
}

bool GradientAggregator::is_through() const {
  return communicator_.ranks().size == 1 && options_.frequency == 1;
}

bool GradientAggregator::may_be_on_devices() const {
  return communicator_.ranks().size > 1 && options_.frequency == 1 && !options_.compress &&
         (options_.way == Way::automatic || options_.way == Way::nccl);
}

bool GradientAggregator::is_compressing() const {
  return options_.compress && communicator_.ranks().size > 1;
}

double GradientAggregator::divisor() const {
  return static_cast<double>(communicator_.ranks().size) *
         (options_.average ? options_.frequency : 1);
}

// Where the gradients of a tensor are added up, in its own dtype.
char *GradientAggregator::total_of(size_t index) {
  return totals_layout_ ? &totals_[totals_layout_->places()[index].offset]
                        : reduction_->buffer() + layout_.places()[index].offset;
}

std::span<char> GradientAggregator::memory() {
  if (is_through() || options_.frequency > 1 || options_.compress || !reduction_ ||
      !reduction_->stays())
    return {};
  if (choice_) choice_->see(reduction_->buffer(), layout_.size());  // not on a device from now on
  return {reduction_->buffer(), layout_.size()};
}

void GradientAggregator::add(size_t index, const void *data, void *result) {
  check_addition(index);
  if (device_sums_) {
    const GradientLayout::Place &place = layout_.places()[index];
    device_sums_->put(place.offset, data, place.count * bytes_of(place.dtype));
    results_[index] = {static_cast<char *>(result)};
  } else {
    add_in_process(index, data, result);
  }
  added_.add(index);
  if (is_through() || batches_ + 1 < options_.frequency) return;
  if (totals_layout_) compress(index, total_of(index));
  ++packed_[layout_.places()[index].group];
  if (!choice_) start_groups(false);
}

void GradientAggregator::add_in_process(size_t index, const void *data, void *result) {
  const GradientTensor &tensor = tensors_[index];
  const GradientMemory::Place place = memory_.place_of(index, tensor, data);
  const bool is_in_place = data == result;
  results_[index] = is_in_place ? place : memory_.place_of(index, tensor, result);
  if (choice_) choice_->see(data, tensor.count * bytes_of(tensor.dtype));
  if (!is_through()) {
    add_to_total(index, memory_.read(place, tensor));
  } else if (!is_in_place) {
    const void *read = memory_.read(place, tensor);
    convert(tensor.dtype, read, tensor.dtype, memory_.room(results_[index], tensor), tensor.count,
            1);
    memory_.finish(results_[index], tensor);
  }
}

void GradientAggregator::add_to_total(size_t index, const void *data) {
  const GradientTensor &tensor = tensors_[index];
  if (is_compressing() && !totals_layout_) compress(index, data);
  else if (data == total_of(index)) return;
  else if (!added_.is_in_period(index))
    convert(tensor.dtype, data, tensor.dtype, total_of(index), tensor.count, 1);
  else trial::add(tensor.dtype, total_of(index), data, tensor.count);
}

void GradientAggregator::check_addition(size_t index) const {
  const auto refuse = [index](Code code, const std::string &why) {
    throw Error(code, "adding " + gradient_name(index) + ": " + why);
  };
  if (index >= tensors_.size())
    refuse(Code::invalid, "only " + std::to_string(tensors_.size()) + " tensors were registered");
  if (has_failed_) refuse(Code::state, "an earlier step failed; make another gradient aggregator");
  if (added_.is_in_batch(index))
    refuse(Code::state, "it has been added in this batch; end the batch with a step first");
}

// Divided before, so that a sum does not leave the range of half precision.
void GradientAggregator::compress(size_t index, const void *data) {
  const GradientLayout::Place &place = layout_.places()[index];
  convert(tensors_[index].dtype, data, place.dtype, reduction_->buffer() + place.offset,
          place.count, divisor());
}

// Groups go in order, on every rank: those that are full, or all that are left.
void GradientAggregator::start_groups(bool all) {
  const std::vector<GradientLayout::Group> &groups = layout_.groups();
  for (; started_ < groups.size(); ++started_) {
    if (!all && packed_[started_] < groups[started_].tensors) return;
    if (device_sums_) device_sums_->start(groups[started_]);
    else reduction_->start(groups[started_]);
  }
}

bool GradientAggregator::step() {
  if (has_failed_)
    throw Error(Code::state,
                "adding up gradients: an earlier step failed; make another gradient aggregator");
  const bool is_last = batches_ + 1 == options_.frequency;
  if (!is_last) {
    ++batches_;
    added_.end_batch();
    return false;
  }
  if (!is_through()) {
    has_failed_ = true;  // unless it goes well
    reduce();
    has_failed_ = false;
  }
  batches_ = 0;
  started_ = 0;
  added_.end_period();
  std::ranges::fill(packed_, 0);
  return true;
}

void GradientAggregator::reduce() {
  if (reduction_) clear_missing();
  // What one rank has begun, all must, also where there is a problem; and before they meet, as a
  // rank may wait for it in add().
  if (!choice_) start_groups(true);
  const std::optional<std::string> problem = added_.find_problem(communicator_);
  const auto give_up = [&] {
    if (problem) throw Error(Code::conflict, "adding up gradients: " + *problem);
  };
  if (choice_) {
    give_up();
    choose_devices();
    start_groups(true);
  }
  if (device_sums_) device_sums_->reduce();
  else reduction_->reduce();
  give_up();
  write_results();
  if (reduction_) reduction_->end();
}

void GradientAggregator::clear_missing() {
  for (size_t index = 0; index < tensors_.size(); ++index) {
    if (added_.is_in_batch(index)) continue;
    const GradientLayout::Place &place = layout_.places()[index];
    const size_t size = place.count * bytes_of(place.dtype);
    std::fill_n(reduction_->buffer() + place.offset, size, '\0');
  }
}

// What the first period has collected in the process goes to the device in one piece.
void GradientAggregator::choose_devices() {
  DeviceChoice::Decision decision =
      choice_->decide(communicator_, layout_, options_.way == Way::nccl, !options_.are_complete);
  if (decision.where == DeviceChoice::Where::undecided) return;
  choice_.reset();
  if (decision.where != DeviceChoice::Where::devices) return;
  decision.sums->put(0, reduction_->buffer(), layout_.size());
  device_sums_ = std::move(decision.sums);
  reduction_.reset();
}

void GradientAggregator::write_results() {
  for (size_t index = 0; index < tensors_.size(); ++index) {
    if (!added_.is_in_batch(index)) continue;
    if (device_sums_) {
      const GradientLayout::Place &place = layout_.places()[index];
      device_sums_->take(place.offset, results_[index].data, place.count * bytes_of(place.dtype));
      continue;
    }
    read_result(index, memory_.room(results_[index], tensors_[index]));
    memory_.finish(results_[index], tensors_[index]);
  }
  if (device_sums_) device_sums_->finish();
}

void GradientAggregator::read_result(size_t index, char *result) {
  const GradientLayout::Place &place = layout_.places()[index];
  const Dtype dtype = tensors_[index].dtype;
  const size_t width = bytes_of(place.dtype), size = place.count * width;
  if (dtype == place.dtype) return reduction_->read(dtype, place.offset, size, result);
  std::array<char, 4096> piece;  // read as far as it was filled
  for (size_t done = 0; done < size; done += piece.size()) {
    const size_t part = std::min(piece.size(), size - done);
    reduction_->read(place.dtype, place.offset + done, part, piece.data());
    convert(place.dtype, piece.data(), dtype, result, part / width, 1);
    result += part / width * bytes_of(dtype);
  }
}

}  // namespace det::trial
