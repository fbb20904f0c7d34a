// Cached datasets of trials: made once, kept in files, and read by all ranks and later trials.
// Follows cache_train_dataset() and cache_validation_dataset().
#pragma once

#include <det/nn/dataset.hpp>
#include <det/nn/dataset/records.hpp>
#include <det/trial_cache.hpp>
#include <det/trials/section.hpp>

#include <cstdlib>
#include <filesystem>

namespace det {
inline namespace v1 {

// Returns a dataset with an end, of single records of one form.
using MakeDataset = std::function<nn::Dataset()>;

namespace trials {

// Follows `data_layer` of the configuration.
[[nodiscard]] inline std::filesystem::path cache_directory(const nlohmann::ordered_json &config) {
  const nlohmann::ordered_json layer = section(config, "data_layer");
  if (const std::string type = layer.value("type", "shared_fs"); type != "shared_fs")
    throw std::invalid_argument("caching a dataset: data_layer.type is '" + type +
                                "', and a trial in C++ caches in a directory (shared_fs)");
  if (layer.contains("container_storage_path"))
    return layer["container_storage_path"].get<std::string>();
  const char *home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : ".") / "data" / "determined";
}

inline void write_dataset(const DatasetWriter &writer, const MakeDataset &make) {
  nn::DatasetIterator elements = make().iterate();
  std::optional<nn::detail::RecordLayout> layout;
  while (const std::optional<nn::Batch> record = elements.next()) {
    const nn::detail::RecordLayout own(*record);
    if (record->records() != 1)
      throw std::invalid_argument("caching a dataset: it has single records; batch() what comes " +
                                  std::string("from the cache"));
    if (layout && !(*layout == own))
      throw std::invalid_argument("caching a dataset: a record is unlike the first, " + own.text() +
                                  " and not " + layout->text());
    layout = own;
    writer.add(nn::detail::RecordLayout::bytes_of(*record));
  }
  if (!layout) throw std::invalid_argument("caching a dataset: there are no records in it");
  writer.commit(layout->text());
}

// Waits while another process writes it.
[[nodiscard]] inline CachedDataset cached_dataset(const std::filesystem::path &directory,
                                                  const std::string &id, const std::string &version,
                                                  const MakeDataset &make) {
  for (;;) {
    OpenedDataset opened = open_dataset(directory.string(), id, version);
    if (opened.is_complete()) return std::move(opened.dataset);
    write_dataset(opened.writer, make);
  }
}

// The layout of a record of `dataset`. Throws std::invalid_argument if write_dataset() did not make
// it.
[[nodiscard]] inline nn::detail::RecordLayout layout_of(const CachedDataset &dataset) {
  try {
    const nn::detail::RecordLayout layout(std::string(dataset.metadata()));
    (void)layout.record_of(std::string(dataset.largest(), '\0'));
    return layout;
  } catch (const std::exception &) {
    throw std::invalid_argument(
        "reading a cached dataset: it was written by something else than a trial in C++, such as "
        "one in Python; give this one another id or version");
  }
}

// Each pass has the order of the epoch of its number.
[[nodiscard]] inline nn::Dataset epochs_of(CachedDataset dataset,
                                           const DatasetReaderOptions &options) {
  struct Shared {
    explicit Shared(CachedDataset given) : dataset(std::move(given)), layout(layout_of(dataset)) {}

    const CachedDataset dataset;
    const nn::detail::RecordLayout layout;
  };
  const auto shared = std::make_shared<Shared>(std::move(dataset));
  return nn::Dataset::generator_of_records([shared, options](uint64_t pass) {
    // Passes below a repetition that is itself repeated have numbers far apart.
    const auto epoch = static_cast<int64_t>((pass ^ pass >> 32U) % (uint64_t{1} << 31U));
    DatasetReaderOptions of_epoch = options;
    of_epoch.offset = shared->dataset.reader(options).length() * epoch;
    auto reader = std::make_shared<DatasetReader>(shared->dataset.reader(of_epoch));
    return [shared, reader, bytes = std::string(shared->dataset.largest(), '\0'),
            sizes = std::vector<size_t>(1)]() mutable -> std::optional<nn::Batch> {
      if (reader->next(bytes.data(), bytes.size(), sizes) == 0) return std::nullopt;
      return shared->layout.record_of(bytes);
    };
  });
}

}  // namespace trials
}  // namespace v1
}  // namespace det
