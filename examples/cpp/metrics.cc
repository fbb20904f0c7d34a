// Reports metrics, progress, status and log lines, then reads the metrics back.
//
//     c++ -std=c++17 metrics.cc $(pkg-config --cflags --libs detcore-cpp) -o metrics
//     ./metrics
#include <cmath>
#include <det/core.hpp>
#include <iostream>
#include <map>
#include <string>

int main() try {
  const det::Core core = det::Core::init();
  const det::Train train = core.train();

  train.set_status("training");
  for (int step = 1; step <= 10; ++step) {
    train.report_training_metrics(step, {{"loss", 1.0 / step}, {"learning_rate", 0.1}});
    train.report_progress(step / 10.0);
  }
  train.report_validation_metrics(10, {{"loss", 0.15}, {"diverged", NAN}});  // any double is kept

  // Any range of names and numbers, your own groups, and values of any JSON type.
  const std::map<std::string, int> memory = {{"resident_mib", 12}, {"swapped_mib", 0}};
  train.report_metrics("system", 10, memory);
  train.report_metrics_json("confusion", 10, R"({"matrix": [[9, 1], [0, 10]]})");
  train.log(det::LogLevel::info, "all images seen");

  train.flush(det::Timeout::infinite());  // needed only to read them back at once
  const det::Client client = det::Client::open();
  std::cout << client.list_metrics(core.info().trial_id()).text() << '\n';
  const det::MetricSeries losses =
      client.get_metric_series(core.info().trial_id(), "training", "loss");
  for (const double loss : losses.values()) std::cout << loss << ' ';
  std::cout << '\n';
  core.close();
} catch (const std::exception &error) {
  std::cerr << "metrics: " << error.what() << '\n';
  return 1;
}
