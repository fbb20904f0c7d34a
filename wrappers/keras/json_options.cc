#include "wrappers/keras/json_options.h"

namespace {

using engine::Fields;
using CallbackPtr = std::shared_ptr<keras::Callback>;

[[noreturn]] void refuse_unknown(const std::string &tried, const std::string &kind,
                                 const std::string &name, const std::vector<std::string> &known) {
  throw CoreError(CoreCode::invalid, tried + ": there is no " + kind + " '" + name + "'" +
                                         engine::suggestion(name, known));
}

std::vector<std::pair<std::string, det::v1::MonitorMode>> modes() {
  using Mode = det::v1::MonitorMode;
  return {{"auto", Mode::by_name}, {"min", Mode::min}, {"max", Mode::max}};
}

det::v1::MonitorMode mode_of(Fields &fields) {
  const std::string given = fields.text("mode", "auto");
  std::vector<std::string> names;
  for (const auto &[name, mode] : modes()) {
    if (name == given) return mode;
    names.push_back(name);
  }
  refuse_unknown("reading " + fields.where(), "mode", given, names);
}

// Of batches or validations, as options have them.
int32_t count_of(Fields &fields, const char *key, int64_t usual) {
  const int64_t count = fields.integer(key, usual);
  if (count < 0 || count > INT32_MAX)
    throw CoreError(CoreCode::invalid, "reading " + fields.where() + ": '" + key +
                                           "' is a count, not " + std::to_string(count));
  return static_cast<int32_t>(count);
}

CallbackPtr early_stopping(Fields &fields) {
  det::v1::EarlyStoppingOptions options;
  options.monitor = fields.text("monitor", options.monitor);
  options.min_delta = fields.number("min_delta", options.min_delta);
  options.patience = count_of(fields, "patience", options.patience);
  options.mode = mode_of(fields);
  options.baseline = fields.number_or_none("baseline");
  const bool restores = fields.flag("restore_best_weights", false);
  options.start_from = count_of(fields, "start_from_epoch", options.start_from);
  return std::make_shared<keras::EarlyStopping>(options, restores);
}

CallbackPtr reduce_lr_on_plateau(Fields &fields) {
  det::v1::PlateauOptions options;
  options.monitor = fields.text("monitor", options.monitor);
  options.factor = fields.number("factor", options.factor);
  options.patience = count_of(fields, "patience", options.patience);
  options.mode = mode_of(fields);
  options.min_delta = fields.number("min_delta", options.min_delta);
  options.cooldown = count_of(fields, "cooldown", options.cooldown);
  options.min_learning_rate = fields.number("min_lr", options.min_learning_rate);
  return std::make_shared<keras::ReduceLROnPlateau>(options);
}

CallbackPtr tensor_board(Fields &fields) {
  keras::TensorBoardOptions options;
  options.histogram_freq = count_of(fields, "histogram_freq", options.histogram_freq);
  options.update_freq = count_of(fields, "update_freq", options.update_freq);
  return std::make_shared<keras::TensorBoard>(options);
}

}  // namespace

keras::FitOptions fit_options_of(const CoreJson &given) {
  Fields fields(given, "how a trial is trained");
  const auto is_said = [&](const char *key) {
    if (!fields.has(key)) fields.any(key);  // is known
    return fields.is_given(key);
  };
  keras::FitOptions options;
  if (is_said("shuffle")) options.shuffle(fields.flag("shuffle"));
  if (is_said("workers")) options.workers(fields.integer("workers"));
  if (is_said("max_queue_size")) options.max_queue_size(fields.integer("max_queue_size"));
  if (is_said("verbose")) options.verbose(fields.flag("verbose"));
  if (is_said("validation_steps")) {
    std::optional<int64_t> steps;
    if (fields.has("validation_steps")) steps = fields.integer("validation_steps");
    options.validation_steps(steps);
  }
  if (is_said("class_weight")) {
    std::optional<keras::ClassWeight> weights;
    if (fields.has("class_weight")) {
      weights.emplace();
      for (const double weight : fields.any_numbers("class_weight"))
        weights->emplace(static_cast<int64_t>(weights->size()), weight);
    }
    options.class_weight(std::move(weights));
  }
  fields.finish();
  return options;
}

CallbackPtr known_callback(const CoreJson &given) {
  const std::map<std::string, CallbackPtr (*)(Fields &)> known{
      {"EarlyStopping", early_stopping},
      {"ReduceLROnPlateau", reduce_lr_on_plateau},
      {"TensorBoard", tensor_board},
  };
  const engine::NamedConfig named = engine::named_config(given, "a callback");
  const auto make = known.find(named.name);
  if (make == known.end())
    refuse_unknown("adding a callback", "callback", named.name, engine::keys_of(known));
  Fields fields(named.config, "the callback " + named.name);
  CallbackPtr made = make->second(fields);
  fields.finish();
  return made;
}
