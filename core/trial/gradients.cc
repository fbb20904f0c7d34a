#include "core/trial/gradients.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/trial/gradient_check.h"

namespace det::trial {

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
      packed_(layout_.buckets().size()) {
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
  ++packed_[layout_.places()[index].bucket];
  if (!choice_) start_buckets(false);
}

void GradientAggregator::add_in_process(size_t index, const void *data, void *result) {
  const GradientTensor &tensor = tensors_[index];
  const GradientMemory::Place place = memory_.place_of(gradient_name(index), tensor, data);
  const bool is_in_place = data == result;
  results_[index] = is_in_place ? place : memory_.place_of(gradient_name(index), tensor, result);
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
  const std::string tried = "adding " + gradient_name(index) + ": ";
  if (index >= tensors_.size())
    throw Error(Code::invalid,
                tried + "only " + std::to_string(tensors_.size()) + " tensors were registered");
  if (has_failed_)
    throw Error(Code::state, tried + "an earlier step failed; make another gradient aggregator");
  if (added_.is_in_batch(index))
    throw Error(Code::state,
                tried + "it has been added in this batch; end the batch with a step first");
}

// Divided before, so that a sum does not leave the range of half precision.
void GradientAggregator::compress(size_t index, const void *data) {
  const GradientLayout::Place &place = layout_.places()[index];
  convert(tensors_[index].dtype, data, place.dtype, reduction_->buffer() + place.offset,
          place.count, divisor());
}

// Buckets go in order, on every rank: those that are full, or all that are left.
void GradientAggregator::start_buckets(bool all) {
  const std::vector<GradientLayout::Bucket> &buckets = layout_.buckets();
  for (; started_ < buckets.size(); ++started_) {
    if (!all && packed_[started_] < buckets[started_].tensors) return;
    if (device_sums_) device_sums_->start(buckets[started_]);
    else reduction_->start(buckets[started_]);
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
  if (!choice_) start_buckets(true);
  const std::optional<std::string> problem = added_.find_problem(communicator_);
  const auto give_up = [&] {
    if (problem) throw Error(Code::conflict, "adding up gradients: " + *problem);
  };
  if (choice_) {
    give_up();
    choose_devices();
    start_buckets(true);
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
  DeviceChoice::Answer answer =
      choice_->decide(communicator_, layout_, options_.way == Way::nccl, !options_.are_complete);
  if (answer.verdict == DeviceChoice::Verdict::undecided) return;
  choice_.reset();
  if (answer.verdict != DeviceChoice::Verdict::devices) return;
  answer.sums->put(0, reduction_->buffer(), layout_.size());
  device_sums_ = std::move(answer.sums);
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
