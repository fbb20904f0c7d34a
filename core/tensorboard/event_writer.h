// Turns reported metrics into events.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/base/log/log.h"
#include "core/base/report.h"
#include "core/tensorboard/event_file.h"

namespace det::tensorboard {

// Not thread-safe: one thread writes.
class EventWriter {
 public:
  // `config` of the experiment. With the first validation goes what the plugin "hparams" shows of
  // the search, whose columns are the metrics that were reported until then.
  EventWriter(std::shared_ptr<EventFile> file, std::shared_ptr<Logger> logger, Json config = {});

  // Writes the numbers of training and validation reports; other groups and kinds are no scalars.
  // Everything is with the operating system on return. Never throws for a full disk and the like:
  // plots must not stop training. It warns, once until it works again, and drops the events.
  void write(std::span<const Report> reports);

  // The last: the search, where there was no validation, and how the trial ended; nothing: it goes
  // on in another run. Writes nothing where there is no file.
  void end(std::optional<bool> succeeded);

 private:
  struct Tag {
    std::string metric, text;
  };

  template <class Append>
  void put(const Append &append);
  void append_search();
  void append(const Report &report);
  void append_json(const Report &report);
  void add_scalar(const Report &report, std::string_view name, double value);
  void append_scalars(const Report &report, int64_t step);  // an event of those added

  const std::shared_ptr<EventFile> file_;
  const std::shared_ptr<Logger> logger_;
  std::string events_;  // of the reports being written
  std::string values_;  // of the event that comes next
  size_t scalars_ = 0;  // in them
  // By place in a report: the next report mostly has the same.
  std::vector<Tag> training_tags_, validation_tags_;
  const Json config_;
  std::map<std::string, bool, std::less<>> of_validation_;  // by tag, until the search is told
  bool told_search_ = false;
  bool warned_ = false;
};

}  // namespace det::tensorboard
