#include "core/tensorboard/mirror.h"

#include <utility>
#include <vector>

#include "core/base/file.h"

namespace det::tensorboard {

namespace fs = std::filesystem;

namespace {

// As TensorBoard knows them. They only grow, and are followed by who has them open.
bool is_event_file(const fs::path &path) {
  return path.filename().string().find("tfevents") != std::string::npos;
}

// 0 where it is not there.
uint64_t size_of(const fs::path &file) {
  std::error_code unknown;
  const uintmax_t size = fs::file_size(file, unknown);
  return unknown ? 0 : size;
}

}  // namespace

// A file on its way: to its end where it grows in its place, else from elsewhere.
struct Mirror::Arrival {
  const storage::KeptFile &file;
  storage::KeptRange range;
  fs::path place;

  bool grows() const { return range.file == place; }
  bool complete() const { return size_of(range.file) == file.size; }
};

Mirror::Mirror(std::shared_ptr<storage::Storage> bucket, std::string directory, fs::path target)
    : bucket_(std::move(bucket)), directory_(std::move(directory)), target_(std::move(target)) {
  make_directories(path(), 0700);
}

Mirror::Arrival Mirror::arrival_of(const storage::KeptFile &file, size_t number) const {
  const fs::path place = path() / file.path;
  const uint64_t here = size_of(place);
  if (here > 0 && here <= file.size && is_event_file(place))
    return {file, {file.path, here, file.size - here, place}, place};
  return {file, {file.path, 0, file.size, target_ / "arriving" / std::to_string(number)}, place};
}

void Mirror::refresh(storage::Progress *progress) {
  fs::remove_all(target_ / "arriving");
  make_directories(target_ / "arriving", 0700);
  const std::vector<storage::KeptFile> files = bucket_->files()->list(directory_, progress);
  std::vector<Arrival> arrivals;
  std::vector<storage::KeptRange> ranges;
  for (const storage::KeptFile &file : files) {
    const auto known = versions_.find(file.path);
    if (known != versions_.end() && known->second == file.version) continue;
    arrivals.push_back(arrival_of(file, arrivals.size()));
    ranges.push_back(arrivals.back().range);
  }
  bucket_->files()->read(directory_, ranges, progress);
  // In the order of their names: TensorBoard leaves an event file for the next one that it sees.
  for (const Arrival &arrival : arrivals) {
    if (!arrival.complete()) continue;  // it has changed since it was listed: next time
    if (!arrival.grows()) {
      make_directories(arrival.place.parent_path(), 0700);
      fs::rename(arrival.range.file, arrival.place);
    }
    versions_[arrival.file.path] = arrival.file.version;
  }
}

}  // namespace det::tensorboard
