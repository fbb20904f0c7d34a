#include "core/journal/told.h"

#include <utility>

namespace det::journal {

void Told::add(const Delivery &delivery) {
  for (const std::string &conflict : delivery.conflicts) {
    if (first_) ++more_;
    else first_ = conflict;
  }
  if (delivery.set_aside == 0) return;
  untold_ += delivery.set_aside;
  set_aside_ += delivery.set_aside;
  lost_ += delivery.lost;
  file_ = delivery.set_aside_in;
}

std::optional<std::string> Told::take() {
  std::optional<std::string> text = std::exchange(first_, std::nullopt);
  if (text && more_ > 0) *text += " (and " + std::to_string(more_) + " more)";
  more_ = 0;
  if (std::exchange(untold_, 0) > 0) text = (text ? *text + "; " : "") + in_all();
  return text;
}

std::string Told::in_all() const {
  if (set_aside_ == 0) return "";
  return "reports of this run that the master has refused: " + std::to_string(set_aside_) +
         (lost_ > 0 ? ", of which " + std::to_string(lost_) + " are lost" : "") + ", kept in '" +
         file_ + "'; `det sync` offers them to it again";
}

}  // namespace det::journal
