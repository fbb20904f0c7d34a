// Every call once, to be compiled only: with exceptions and without, in each standard.
#include <det/core.hpp>
#include <det/nlohmann_json.hpp>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

template <class Train>
void report(const Train &train, det::OnFailure on) {
  const std::map<std::string, double> map;
  const std::vector<std::pair<std::string_view, float>> views;
  const std::array<det_metric, 2> array = {{{"loss", 0.5}, {"accuracy", 1}}};
  std::vector<std::pair<const char *, int64_t>> pairs;
  train.report_training_metrics(1, {{"loss", 0.5}, {"accuracy", 1}}, on);
  train.report_training_metrics(1, map, on);
  train.report_validation_metrics(1, views, on);
  train.report_validation_metrics(1, array, on);
  train.report_metrics("group", 1, pairs, on);
  train.report_metrics(std::string("group"), 1, {}, on);
  train.report(det::Report{}, map, on);
  train.report({}, {{"loss", 0.5}}, on);
  train.report_metrics_json("group", 1, nlohmann::json{{"a", 1}}, "[]", on);
  const det::Region region = train.region("forward", on);
  region.begin(on);
  region.end(on);
  static_cast<void>(region.scope());
  train.flush(std::chrono::milliseconds(5), on);
  train.set_status("training", on);
  train.report_progress(0.5, on);
  train.log(det::LogLevel::info, "text", on);
  train.report_early_exit(det::EarlyExitReason::invalid_hp, on);
  train.set_metadata("{}", on);
  static_cast<void>(train.get_metadata(on).template as<nlohmann::json>());
  static_cast<void>(train.get_experiment_best_validation(on));
  static_cast<void>(train.get_tensorboard_path(on));
  train.upload_tensorboard_files([](std::string_view path) { return path.empty(); },
                                 det::rank_aware_name, on);
}

void read(const det::Info &info, det::OnFailure on) {
  const det::Hparams hparams = info.hparams();
  static_cast<void>(hparams.get<bool>("a", on) && hparams.get<bool>("a", true, on));
  static_cast<void>(hparams.get<int>("a", on) + hparams.get<int>("a", 1, on));
  static_cast<void>(hparams.get<uint64_t>("a", on) + hparams.get<uint64_t>("a", 1, on));
  static_cast<void>(hparams.get<signed char>("a", on) + hparams.get<short>("a", 1, on));
  static_cast<void>(hparams.get<float>("a", on) + hparams.get<float>("a", 1, on));
  static_cast<void>(hparams.get<double>("a", on) + hparams.get<double>("a", 1, on));
  static_cast<void>(hparams.get<long double>("a", on) + hparams.get<long double>("a", 1, on));
  static_cast<void>(hparams.get<std::string>("a", on) + hparams.get<std::string>("a", "b", on));
  static_cast<void>(hparams.get<det::Json>("a", on).as<nlohmann::json>());
  static_cast<void>(hparams.get<nlohmann::json>("a", nlohmann::json(), on));
  static_cast<void>(hparams.find<int>("a", on).has_value());
  for (const char *name : hparams) static_cast<void>(name);
  static_cast<void>(info.json().text() + info.config_json().text() + info.user_data_json().text());
}

void read(const det::Tensors &tensors, det::OnFailure on) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    static_cast<void>(det::dtype_name(tensors.dtype(i)));
    static_cast<void>(tensors.bytes(i) + det::dtype_bits(tensors.dtype(i)));
    static_cast<void>(tensors.contains(tensors.name(i)) && tensors.shape(i).empty());
  }
  float weight = 0;
  tensors.read(
      {{"weight", det::dtype_from_name("F32"), {}, &weight}},
      [](const det::Progress &progress) { return progress.bytes > 0; }, on);
  static_cast<void>(tensors.metadata().text());
}

void save(const det::Checkpoint &checkpoint, det::OnFailure on) {
  det::CheckpointOptions options;
  options.selector = [](const std::string &path) { return !path.empty(); };
  options.progress = [](const det::Progress &progress) { return progress.bytes > 0; };
  const det::CheckpointWriter store = checkpoint.write({}, options, on);
  store.set_metadata(nlohmann::json{{"steps_completed", 1}}, on);
  float weight = 0;
  const std::vector<det::Tensor> tensors{{"weight", det::Dtype::f32, {1}, &weight}};
  det::write_tensors(store, "model.safetensors", tensors, {}, on);
  store.commit(on);
  store.abort(on);
  const std::string id = checkpoint.upload(store.path(), "{}", options, on);
  std::vector<float> optimizer(3);
  const std::string state = det::save_state(
      checkpoint, 1,
      {det::Buffer::of("weight", weight), det::Buffer::of_elements("optimizer", optimizer)}, on);
  static_cast<void>(det::load_state(checkpoint, {det::Buffer::of("weight", weight)}, state, on));
  checkpoint.limit_saves({}, on);
  checkpoint.stage_saves("/dev/shm", 1 << 30, on);
  const det::Ticket ticket = checkpoint.upload_async(store.path(), "{}", options, on);
  store.commit_async(on).wait({}, on);
  static_cast<void>(ticket.id() == id && ticket.state(on) == det::TicketState::saved &&
                    ticket.progress(on).bytes > 0);
  ticket.cancel(on);
  checkpoint.download(id, "directory", {}, on);
  const det::CheckpointReader restore = checkpoint.read(id, {}, on);
  read(det::Tensors(restore, "model.safetensors", on), on);
  read(det::Tensors(restore.path(), on), on);
  static_cast<void>(checkpoint.get_metadata(id, on));
  for (const det::CheckpointEntry &entry : checkpoint.list(on))
    checkpoint.delete_checkpoint(entry.id, on);
}

void talk(const det::DistributedView &job, det::OnFailure on) {
  for (const std::string_view message : job.gather("a", on)) static_cast<void>(message);
  for (const std::string_view message : job.gather_local("a", on)) static_cast<void>(message);
  job.allgather("a", on);
  job.allgather_local("a", on);
  job.broadcast("a", on);
  job.broadcast_local("a", on);
}

void add_up(const det::DistributedView &job, det::OnFailure on) {
  float gradient = 1;
  const det::GradientAggregator gradients(job, {{1, det::Dtype::f32}}, {}, on);
  static_cast<void>(gradients.memory(on));
  gradients.add(0, &gradient, &gradient, on);
  static_cast<void>(gradients.step(on));
  static_cast<void>(det::average_metrics(job, "{}", 1.0, on));
  det::GradientOptions halved;
  halved.gradient_compression = true;
  halved.reduction = det::GradientReduction::messages;
  halved.gradients_are_complete = true;
  static_cast<void>(det::GradientAggregator(job, {{1, det::Dtype::f32, true}}, halved, on).capi());
  static_cast<void>(det::average_metrics(job, "{}", {}, on));
  det::broadcast_arrays(job, {{"weight", det::Dtype::f32, {1}, &gradient}}, on);
}

void keep_data(det::OnFailure on) {
  const det::DatasetWriter writer = det::open_dataset("data", "digits", "1", {}, on).writer;
  writer.add("a record", on);
  writer.add("two", {2, 1}, on);
  writer.commit("bytes", on);
  const det::CachedDataset digits = det::open_dataset("data", "digits", "1", {}, on).dataset;
  static_cast<void>(digits.metadata());
  const det::DatasetReader reader = digits.reader({}, on);
  std::string buffer(digits.largest(), 0);
  std::vector<size_t> sizes(static_cast<size_t>(digits.count()));
  if (reader.length() > 0) static_cast<void>(reader.next(buffer.data(), 9, sizes, on));
  static_cast<void>(det::open_dataset(det::Storage::open("data", on), "copies", "a", "1", {}, on));
}

void follow(const det::TrialSequencer &sequencer, det::OnFailure on) {
  while (const std::optional<det::Workload> work = sequencer.next(on)) {
    if (work->kind == det::WorkloadKind::train)
      sequencer.respond(nlohmann::json{{"metrics", {{"batches", work->batches}}}}, on);
    else sequencer.respond_invalid_hparams(on);
    static_cast<void>(work->step_id + work->batches_done);
  }
  sequencer.load_state(sequencer.state(on), on);
}

void train_by_rules(const det::Core &core, det::OnFailure on) {
  follow(det::TrialSequencer::create(core, 64, {}, on), on);
  follow(det::TrialSequencer::create(core, 64, "{}", on), on);
  const det::BatchSizes sizes = det::divide_batch("{}", 2, "a trial", on);
  static_cast<void>(sizes.per_slot + sizes.global > 0 && sizes.warning.empty());
  static_cast<void>(det::trial_env_from_config("{}", 1, {}, on).text());
  det::SamplerOptions halves;
  halves.length = 10;
  halves.shards = 2;
  const det::Sampler sampler = det::Sampler::create(halves, on);
  while (const std::optional<int64_t> index = sampler.next(on)) static_cast<void>(*index);
  const det::EarlyStopping stopping = det::EarlyStopping::create({}, on);
  const det::EarlyStopping::Result result = stopping.update(0.5, on);
  if (result.stop || result.improved) stopping.load_state(stopping.state(on), on);
  const det::Plateau plateau = det::Plateau::create({}, on);
  static_cast<void>(plateau.update({}, 0.1, on) < plateau.update(0.5, 0.1, on));
  plateau.load_state(plateau.state(on), on);
}

void join(det::OnFailure on) {
  using det::Distributed;
  Distributed::create({}, on).set_wait_callback([] { return true; }, on);
  static_cast<void>(Distributed::from_env(on));
  static_cast<void>(Distributed::from_horovod("host", on));
  static_cast<void>(Distributed::from_deepspeed({}, on));
  static_cast<void>(Distributed::from_torch({}, on));
  static_cast<void>(Distributed::from_tf_config(on));
  static_cast<void>(Distributed::from_transport({}, std::unique_ptr<det::Transport>(), on));
}

void steer(const det::Client &client, det::OnFailure on) {
  static_cast<void>(client.open_storage("id", on));
  const det::Json answers[] = {
      client.list_experiments({}, on),
      client.get_experiment(1, on),
      client.list_trials(1, {}, on),
      client.get_trial(1, on),
      client.find_trial("1", on),
      client.list_metrics(1, {}, {}, on),
      client.list_metric_names(1, on),
      client.list_checkpoints(1, {}, on),
      client.get_checkpoint("id", on),
      client.find_checkpoint("id", on),
      client.get_trace(1, on),
      client.list_logs(1, {}, on),
      client.best_trial(1, on),
      client.hparam_importance(1, on),
      client.control(det::ClientTarget::trial, 1, det::ClientAction::kill, on),
      client.update_experiment(1, "{}", on),
      client.delete_experiment(1, on),
      client.collect_garbage(1, true, on),
      client.pin_checkpoint("x", true, on),
      client.sync(on),
      client.search_events(1, {}, on),
      client.post_operations(1, 1, "[]", on),
      det::Client::login({}, on),
      det::Client::logout({}, on),
      det::Client::whoami({}, on),
      det::config_check("", {}, on),
      det::config_complete("", {}, on),
  };
  static_cast<void>(answers);
  static_cast<void>(client.get_metric_series(1, "group", "name", on).size());
}

void show(const det::Tensorboard &tensorboard, det::OnFailure on) {
  const std::vector<double> doubles{1, 2};
  const std::array<float, 2> floats{1, 2};
  tensorboard.add_scalar("tag", 1, 0.5, on);
  tensorboard.add_scalar(std::string("tag"), 1, 0.5, on);
  tensorboard.add_histogram("tag", 1, doubles, on);
  tensorboard.add_histogram("tag", 1, floats, on);
  tensorboard.add_histogram("tag", 1, det::Histogram{{1, 2}, {0, 1}, 1, 2, 1, 1}, on);
  tensorboard.add_text("tag", 1, "text", on);
  tensorboard.add_image("tag", 1, std::string_view("file"), on);
  tensorboard.add_pixels("tag", 1, "p", 1, 1, 1, on);
  tensorboard.flush({}, on);
}

void run(det::OnFailure on) {
  det::CoreOptions options;
  options.config = nlohmann::json::object();
  options.log = [](const det::LogLine &) {};
  const det::LogQueue queue = det::LogQueue::create(on);
  static_cast<void>(queue.take(on));
  const det::Core core = det::Core::init(options, det::Distributed(), on);
  static_cast<void>(det::Core::init(options, on));
  static_cast<void>(det::Core::init_json("{}", {}, &queue, on));
  report(core.train(), on);
  read(core.info(), on);
  save(core.checkpoint(), on);
  talk(core.distributed(), on);
  add_up(core.distributed(), on);
  train_by_rules(core, on);
  keep_data(on);
  join(on);
  steer(det::Client::open({}, on), on);
  const det::Preempt preempt = core.preempt();
  if (preempt.should_preempt(on) || preempt.should_preempt_no_ack(on)) preempt.acknowledge(on);
  static_cast<void>(preempt.request());
  const det::Searcher searcher = core.searcher();
  searcher.configure(det::SearcherMode::chief_only, true, on);
  static_cast<void>(searcher.next(on));
  for (const det::Operation operation : searcher.operations(on)) {
    operation.report_progress(1, on);
    operation.report_completed(1, on);
    operation.report_completed_json("1", on);
  }
  searcher.acknowledge_out_of_ops(on);
  core.profiler().on(std::chrono::seconds(1), 10, on);
  core.profiler().off(on);
  show(core.tensorboard(), on);
  static_cast<void>(core.exit_status());
  core.close(det::Outcome::ok, on);
}

}  // namespace

int main() {
  det::Failure failure;
  run(failure);
#ifdef __cpp_exceptions
  run({});
  det::Core core = det::Core::init();
  core.train().report_training_metrics(1, {{"loss", 0.5}});
  core.close();
#endif
}
