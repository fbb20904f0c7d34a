// Reports to a master that needs some time for each, and stores those of one trial one after the
// other: bench_delivery. For one trial and for eight at once, against sending one report
// after the other as the original does, and against 32 under way whatever happens.
#include <deque>
#include <functional>
#include <thread>

#include "core/base/clock.h"
#include "core/codec/metrics.h"
#include "core/codec/unmanaged.h"
#include "core/master/rest/delivery.h"
#include "tests/bench/measure.h"
#include "tests/bench/row.h"
#include "tests/python_server.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;

constexpr int reports_each = 300, rounds = 3;
// What PostgreSQL needs on a small machine, measured there: with 32 that wait for one row the same
// work takes more than twice as long.
const Json database{{"own_seconds", 0.0015}, {"row_seconds", 0.0035}, {"crowding", 0.04}};

std::shared_ptr<master::MasterSession> connect(const std::string &url) {
  return std::make_shared<master::MasterSession>(
      master::SessionOptions{.url = url,
                             .credential = {master::Credential::Kind::user, "user-token"}},
      std::make_shared<Logger>());
}

std::vector<int64_t> make_trials(master::MasterSession &session, int count) {
  const Json config{{"name", "bench"},
                    {"searcher", {{"name", "single"}, {"metric", "loss"}, {"max_length", 100}}}};
  const int64_t experiment =
      session.call(codec::CreateExperiment{.config = to_wire(config)}).experiment.id;
  std::vector<int64_t> trials;
  for (int i = 0; i < count; ++i) {
    trials.push_back(
        session.call(codec::CreateUnmanagedTrial{.experiment_id = experiment}).trial.id);
    session.call(codec::StartTrial{trials.back()});
  }
  return trials;
}

using Way = std::function<void(master::MasterSession &, int64_t trial)>;

void one_by_one(master::MasterSession &session, int64_t trial) {
  for (int step = 1; step <= reports_each; ++step)
    session.call(codec::ReportMetrics{.trial_id = trial,
                                      .run_id = 1,
                                      .group = "training",
                                      .steps_completed = step,
                                      .values = {{"loss", 0.5}, {"accuracy", 0.25}}});
}

void thirty_two(master::MasterSession &session, int64_t trial) {
  std::deque<http::HttpCall> under_way;
  for (int step = 1; step <= reports_each || !under_way.empty(); ++step) {
    if (under_way.size() == 32 || step > reports_each) {
      session.read<codec::ReportMetrics>(under_way.front().wait());
      under_way.pop_front();
    }
    if (step <= reports_each)
      under_way.push_back(
          session.send(codec::ReportMetrics{.trial_id = trial,
                                            .run_id = 1,
                                            .group = "training",
                                            .steps_completed = step,
                                            .values = {{"loss", 0.5}, {"accuracy", 0.25}}}));
  }
}

void as_we_do(master::MasterSession &session, int64_t trial) {
  const TemporaryDirectory directory;
  std::vector<Report> reports(reports_each);
  for (int i = 0; i < reports_each; ++i) {
    reports[static_cast<size_t>(i)].sequence = static_cast<uint64_t>(i + 1) * 8;
    reports[static_cast<size_t>(i)].time_us = now_us();
    reports[static_cast<size_t>(i)].steps = i + 1;
    reports[static_cast<size_t>(i)].group = "training";
    reports[static_cast<size_t>(i)].values = {{"loss", 0.5}, {"accuracy", 0.25}};
  }
  const std::shared_ptr<master::MasterSession> borrowed(&session, [](master::MasterSession *) {});
  master::RestDelivery(borrowed, {false, trial, 1, 0, "t", "t"}, directory.path(),
                       std::make_shared<Logger>())
      .deliver({}, reports);
}

double rate_of(const std::string &url, int trials, const Way &way) {
  const std::vector<int64_t> ids = make_trials(*connect(url), trials);
  const int64_t begin = bench::now_ns();
  std::vector<std::thread> threads;
  for (const int64_t id : ids) threads.emplace_back([&url, &way, id] { way(*connect(url), id); });
  for (std::thread &thread : threads) thread.join();
  return trials * reports_each * 1e9 / static_cast<double>(bench::now_ns() - begin);
}

}  // namespace

int main() {
  const PythonServer master("master", {"--version", "0.38.1"});
  master.control("POST", "/test/setup", {{"database", database}});
  for (const int trials : {1, 8}) {
    std::vector<double> ours, original, many;
    for (int round = 0; round < rounds; ++round) {
      original.push_back(rate_of(master.url(), trials, one_by_one));
      many.push_back(rate_of(master.url(), trials, thirty_two));
      ours.push_back(rate_of(master.url(), trials, as_we_do));
    }
    const std::string name =
        "reports to a master with a database, trials: " + std::to_string(trials);
    bench_row(name.c_str(), bench::median(ours), "one by one", bench::median(original), "reports/s",
              1);
    bench_row(name.c_str(), bench::median(ours), "32 under way", bench::median(many), "reports/s",
              0);
  }
}
