#include "core/launcher/local/slots.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/launcher/local/gpu_claim.h"
#include "core/launcher/local/machine.h"

namespace det::launcher {

Slots Slots::of_machine(std::optional<int> wanted, const std::filesystem::path &root) {
  if (wanted && *wanted < 1)
    throw Error(Code::invalid,
                "offering " + std::to_string(*wanted) + " slots: give at least 1 with --slots");
  std::vector<std::string> gpus = visible_gpus(root);
  if (gpus.empty()) return Slots(wanted ? *wanted : usable_cores(root));
  const int found = static_cast<int>(gpus.size());
  if (wanted && *wanted > found)
    throw Error(Code::invalid, "offering " + std::to_string(*wanted) + " slots: this machine has " +
                                   std::to_string(found) + " GPU" + (found == 1 ? "" : "s") +
                                   ", and each goes to one trial at a time; lower --slots, or set "
                                   "CUDA_VISIBLE_DEVICES= (to nothing) to use processor cores");
  Slots slots(std::move(gpus), root / "tmp");
  slots.total_ = wanted.value_or(found);  // of whichever others leave free
  return slots;
}

std::vector<int> Slots::take(int count) {
  if (count > free())
    throw Error(Code::busy, "taking " + std::to_string(count) +
                                " slots: " + std::to_string(std::max(free(), 0)) + " of " +
                                std::to_string(total_) + " are free; wait for a trial to end");
  std::vector<int> ids;
  std::map<int, Fd> claims;
  for (int id = 0; static_cast<int>(ids.size()) < count; ++id) {
    if (are_gpus() && id == static_cast<int>(gpus_.size()))
      throw Error(Code::busy, "taking " + std::to_string(count) +
                                  " GPUs: the others are in use by trials of another `det run`");
    if (std::ranges::find(taken_, id) != taken_.end()) continue;
    if (are_gpus()) {
      Fd claim = claim_gpu(gpus_[static_cast<size_t>(id)], claims_directory_);
      if (!claim) continue;
      claims[id] = std::move(claim);
    }
    ids.push_back(id);
  }
  claims_.merge(claims);
  take_held(ids);
  return ids;
}

void Slots::take_held(const std::vector<int> &ids) {
  taken_.insert(taken_.end(), ids.begin(), ids.end());
}

void Slots::give_back(const std::vector<int> &ids) {
  for (const int id : ids)
    if (const auto found = std::ranges::find(taken_, id); found != taken_.end()) {
      taken_.erase(found);
      claims_.erase(id);
    }
}

std::vector<int> Slots::claims(const std::vector<int> &ids) const {
  std::vector<int> descriptors;
  for (const int id : ids)
    if (const auto found = claims_.find(id); found != claims_.end())
      descriptors.push_back(found->second.get());
  return descriptors;
}

std::map<std::string, std::string> Slots::variables(const std::vector<int> &ids) const {
  std::map<std::string, std::string> variables{{"DET_SLOT_IDS", Json(ids).dump()}};
  if (!are_gpus()) return variables;
  std::string &visible = variables["CUDA_VISIBLE_DEVICES"];
  for (const int id : ids)
    visible += (visible.empty() ? "" : ",") + gpus_.at(static_cast<size_t>(id));
  return variables;
}

std::map<std::string, std::string> Slots::thread_variables(int64_t slots_at_once) const {
  if (are_gpus()) return {};
  const int64_t in_use = slots_at_once > 0 ? std::min<int64_t>(slots_at_once, total_) : total_;
  const int64_t threads = usable_cores() / std::max<int64_t>(in_use, 1);
  return {{"OMP_NUM_THREADS", std::to_string(std::max<int64_t>(threads, 1))},
          {"OMP_WAIT_POLICY", "passive"}};
}

}  // namespace det::launcher
