// GPUs: by a library of the test's own in the place of NVIDIA's, and by a tree of the test's own in
// the place of /sys.
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/profiler/gpu/gpu.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/profiler/fake_nvml.h"
#include "tests/profiler/figures.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::profiler;

constexpr double gib = 1 << 30;

std::string gpu_uuid(int gpu) {
  char text[64];
  snprintf(text, sizeof text, FAKE_UUID, gpu);
  return text;
}
std::string mig_uuid(int gpu, int mig) {
  char text[64];
  snprintf(text, sizeof text, FAKE_MIG_UUID, gpu, mig);
  return text;
}

// The samplers of a machine, asked as the profiler asks them.
class Gpus {
 public:
  explicit Gpus(const std::string &scenario, const char *library = Nvml::library_name,
                Machine machine = {"/", getpid()}) {
    setenv("FAKE_NVML", scenario.c_str(), 1);
    samplers_ = make_gpu_samplers(machine, log_, library);
  }

  Figures sample() {
    Figures figures;
    now_ += std::chrono::seconds(1);
    std::erase_if(samplers_, [&](const std::unique_ptr<Sampler> &sampler) {
      assert_equal(sampler->group(), "gpu");
      try {
        sampler->sample(now_, figures);
        return false;
      } catch (const Error &e) {
        failures.push_back(e.what());
        return e.code == Code::unsupported;
      }
    });
    return figures;
  }
  size_t count() const { return samplers_.size(); }

  std::vector<std::string> warnings, failures;

 private:
  Logger log_{LogLevel::debug, [this](LogLevel level, const std::string &line) {
                assert_equal(level, LogLevel::warning);
                warnings.push_back(line);
              }};
  std::vector<std::unique_ptr<Sampler>> samplers_;
  Clock::time_point now_{};
};

class Variable {
 public:
  Variable(const char *name, const char *value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char *name_;
};

void assert_figures(const Figures &figures, int gpu) {
  const std::string uuid = gpu_uuid(gpu);
  const auto i = static_cast<unsigned>(gpu);
  assert_equal(figures.of(uuid, "gpu_util"), FAKE_UTIL(i));
  assert_equal(figures.of(uuid, "gpu_used_memory"), static_cast<double>(FAKE_USED_MEMORY(i)));
  assert_equal(figures.of(uuid, "gpu_free_memory"),
               static_cast<double>(FAKE_TOTAL_MEMORY - FAKE_RESERVED_MEMORY - FAKE_USED_MEMORY(i)));
  assert_equal(figures.of(uuid, "gpu_power"), FAKE_MILLIWATTS(i) / 1e3);
  assert_equal(figures.of(uuid, "gpu_temperature"), FAKE_CELSIUS(i));
  assert_equal(figures.of(uuid, "gpu_clock"), FAKE_MEGAHERTZ(i));
  assert_equal(figures.of(uuid, "gpu_pcie_throughput_sent"), FAKE_PCIE_SENT(i) * 1e3);
  assert_equal(figures.of(uuid, "gpu_pcie_throughput_recv"), FAKE_PCIE_RECEIVED(i) * 1e3);
}

void each_gpu_says_what_nvml_tells(void **) {
  Gpus gpus("gpus=2");
  gpus.sample();
  const Figures figures = gpus.sample();
  assert_equal(figures.labels(), std::vector{gpu_uuid(0), gpu_uuid(1)});
  for (const int gpu : {0, 1}) {
    assert_figures(figures, gpu);
    assert_equal(figures.of(gpu_uuid(gpu), "gpu_nvlink_throughput_sent"), FAKE_NVLINK_SENT * 1024);
    assert_equal(figures.of(gpu_uuid(gpu), "gpu_nvlink_throughput_recv"),
                 FAKE_NVLINK_RECEIVED * 1024);
    assert_equal(figures.values.at(gpu_uuid(gpu)).size(), 10);
  }
  assert_equal(gpus.warnings.size() + gpus.failures.size(), 0);
}

void nvml_is_ended_with_the_last_sampler(void **) {
  {
    const Gpus gpus("gpus=1");
    assert_equal(fake_nvml_started(), 1);
  }
  assert_equal(fake_nvml_started(), 0);
}

void memory_of_the_trial_is_that_of_its_processes(void **) {
  const TemporaryDirectory root;
  const auto put = [&](int pid, int parent) {
    const auto directory = root / "proc" / std::to_string(pid);
    std::filesystem::create_directories(directory);
    std::string text = std::to_string(pid) + " (a) b) S " + std::to_string(parent);
    for (int i = 0; i < 40; ++i) text += " 0";
    write_all(open_file(directory / "stat", O_CREAT | O_WRONLY).get(), text, "stat");
  };
  put(1, 0);
  put(40, 1);  // the trial
  put(41, 40);
  put(42, 41);
  put(50, 1);
  Gpus gpus("gpus=2 process=0:40:100 process=0:42:30 process=0:50:7 process=0:99:7 process=1:50:7",
            Nvml::library_name, {root.path(), 40});
  const Figures figures = gpus.sample();
  assert_equal(figures.of(gpu_uuid(0), "gpu_trial_memory"), 130);
  assert_false(figures.has(gpu_uuid(1), "gpu_trial_memory"));
}

void many_processes_are_all_seen(void **) {
  std::string scenario = "gpus=1";
  for (int i = 0; i < 60; ++i) scenario += " process=0:" + std::to_string(getpid()) + ":1";
  Gpus gpus(scenario);
  assert_equal(gpus.sample().of(gpu_uuid(0), "gpu_trial_memory"), 60);
  gpus.sample();
  assert_equal(fake_nvml_calls("nvmlDeviceGetComputeRunningProcesses", 0), 3);
}

void traffic_is_asked_of_one_gpu_in_a_sample(void **) {
  Gpus gpus("gpus=3");
  const auto calls = [&](int gpu) { return fake_nvml_calls("nvmlDeviceGetPcieThroughput", gpu); };
  gpus.sample();
  assert_equal(calls(0) + calls(1) + calls(2), 6);
  gpus.sample();
  assert_equal(calls(0) + calls(1) + calls(2), 8);
  for (const int gpu : {0, 1, 2}) assert_figures(gpus.sample(), gpu);
  for (const int gpu : {0, 1, 2}) assert_true(calls(gpu) >= 4);
}

void a_missing_driver_is_no_news(void **) {
  for (const auto &[scenario, library] :
       {std::pair("", "libnvidia-ml.so.none"), std::pair("fail=nvmlInit:-1:9", Nvml::library_name),
        std::pair("gpus=0", Nvml::library_name)}) {
    Gpus gpus(scenario, library);
    assert_equal(gpus.count(), 0);
    assert_equal(gpus.warnings.size(), 0);
  }
  assert_equal(fake_nvml_started(), 0);
}

void a_driver_that_does_not_start_is_told(void **) {
  Gpus updated("fail=nvmlInit:-1:18");
  assert_equal(updated.count(), 0);
  assert_equal(updated.warnings,
               std::vector<std::string>{
                   "starting NVML: nvmlInit answers 18 (Driver/library version mismatch); the "
                   "driver was updated under the running system: restart it, or load the driver "
                   "anew; GPUs of NVIDIA are not profiled"});
  Gpus broken("fail=nvmlInit:-1:999");
  assert_equal(broken.warnings.size(), 1);
  assert_true(contains(broken.warnings[0], "nvmlInit answers 999 (Unknown Error)"));
  Gpus uncounted("fail=nvmlDeviceGetCount:-1:999");
  assert_equal(uncounted.warnings.size(), 1);
  assert_equal(fake_nvml_started(), 0);
}

void an_old_driver_tells_less(void **) {
  Gpus gpus("gpus=1", OLD_NVML);
  gpus.sample();
  const Figures figures = gpus.sample();
  assert_equal(gpus.warnings.size() + gpus.failures.size(), 0);
  const auto &values = figures.values.at(gpu_uuid(0));
  assert_equal(values.count("gpu_trial_memory") + values.count("gpu_nvlink_throughput_sent"), 0);
  assert_equal(values.size(), 8);
  // Of that time, what the driver keeps for itself counts as used.
  assert_equal(figures.of(gpu_uuid(0), "gpu_used_memory"),
               static_cast<double>(FAKE_USED_MEMORY(0) + FAKE_RESERVED_MEMORY));
}

void what_is_no_nvml_is_told(void **) {
  Gpus gpus("", "libm.so.6");
  assert_equal(gpus.count(), 0);
  assert_equal(gpus.warnings.size(), 1);
  assert_true(contains(gpus.warnings[0], "libm.so.6"));
}

void a_lost_gpu_is_told_once_and_costs_the_others_nothing(void **) {
  Gpus gpus("gpus=2 fail=nvmlDeviceGetPowerUsage:0:15:3");
  gpus.sample();
  assert_figures(gpus.sample(), 0);
  assert_false(gpus.sample().has(gpu_uuid(0), "gpu_pcie_throughput_sent"));
  for (int i = 0; i < 5; ++i) assert_figures(gpus.sample(), 1);
  assert_equal(gpus.failures,
               std::vector{gpu_uuid(0) + ": nvmlDeviceGetPowerUsage answers 15 (GPU is lost)"});
  assert_equal(fake_nvml_calls("nvmlDeviceGetPowerUsage", 0), 3);
  assert_true(fake_nvml_calls("nvmlDeviceGetPcieThroughput", 0) <= 4);
  assert_equal(gpus.sample().labels(), std::vector{gpu_uuid(1)});
}

// Each question and each answer that is none, at once and after a while.
void whatever_fails_the_rest_is_told(void **) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> calls{
      {"DeviceGetUtilizationRates", {"gpu_util"}},
      {"DeviceGetMemoryInfo_v2", {"gpu_free_memory", "gpu_used_memory"}},
      {"DeviceGetPowerUsage", {"gpu_power"}},
      {"DeviceGetTemperature", {"gpu_temperature"}},
      {"DeviceGetClockInfo", {"gpu_clock"}},
      {"DeviceGetComputeRunningProcesses", {"gpu_trial_memory"}},
      {"DeviceGetFieldValues", {"gpu_nvlink_throughput_sent", "gpu_nvlink_throughput_recv"}},
      {"Field", {"gpu_nvlink_throughput_sent", "gpu_nvlink_throughput_recv"}},
      {"DeviceGetPcieThroughput", {"gpu_pcie_throughput_sent", "gpu_pcie_throughput_recv"}}};
  const std::string self = " process=0:" + std::to_string(getpid()) + ":1";
  for (const auto &[call, names] : calls)
    for (int error = 1; error < 32; ++error)
      for (const int first : {1, 5}) {
        const std::string function = "nvml" + call;
        Gpus gpus("gpus=2" + self + " fail=" + function + ":0:" + std::to_string(error) + ":" +
                  std::to_string(first));
        for (int i = 0; i < 8; ++i) assert_figures(gpus.sample(), 1);
        const int asked = fake_nvml_calls(function.c_str(), 0);
        const Figures figures = gpus.sample();
        assert_figures(figures, 1);
        const bool refused = contains(" 2 3 4 13 25 26 ", " " + std::to_string(error) + " ");
        // In place of that, the older call is asked.
        const bool known = refused && call == "DeviceGetMemoryInfo_v2";
        for (const std::string &name : names) assert_equal(figures.has(gpu_uuid(0), name), known);
        const bool gone = error == 1 || error == 15 || error == 16;
        if (!gone) {
          assert_true(figures.has(gpu_uuid(0),
                                  call == "DeviceGetUtilizationRates" ? "gpu_power" : "gpu_util"));
          assert_equal(gpus.count(), 3);
        }
        const bool crowded = error == 7 && call == "DeviceGetComputeRunningProcesses";
        if (crowded) assert_equal(gpus.failures.size(), 0);
        if (error == 3) {
          assert_equal(gpus.failures.size(), 0);
          assert_equal(fake_nvml_calls(function.c_str(), 0), asked);
        }
        for (const std::string &failure : gpus.failures) {
          assert_true(contains(failure, gpu_uuid(0)));
          assert_true(contains(failure, " answers " + std::to_string(error) + " ("));
        }
        assert_equal(gpus.warnings.size(), 0);
      }
  assert_equal(fake_nvml_started(), 0);
}

void a_gpu_that_cannot_be_found_is_told_and_left_out(void **) {
  Gpus lost("gpus=2 fail=nvmlDeviceGetHandleByIndex:0:15");
  assert_equal(lost.warnings, std::vector<std::string>{
                                  "finding GPU 0: nvmlDeviceGetHandleByIndex answers 15 (GPU is "
                                  "lost); it is not profiled"});
  assert_equal(lost.sample().labels(), std::vector{gpu_uuid(1)});
  Gpus nameless("gpus=2 fail=nvmlDeviceGetUUID:1:999");
  assert_equal(nameless.warnings.size(), 1);
  assert_equal(nameless.sample().labels(), std::vector{gpu_uuid(0)});
  // That is another's: nothing to tell.
  Gpus foreign("gpus=2 fail=nvmlDeviceGetHandleByIndex:0:4");
  assert_equal(foreign.warnings.size(), 0);
  assert_equal(foreign.sample().labels(), std::vector{gpu_uuid(1)});
}

void a_mig_device_is_a_gpu_that_tells_less(void **) {
  const std::string self = std::to_string(getpid());
  Gpus gpus("gpus=1 mig=0:2 process=0:" + self + ":5");
  gpus.sample();
  const Figures figures = gpus.sample();
  assert_equal(figures.labels(), std::vector{gpu_uuid(0), mig_uuid(0, 0), mig_uuid(0, 1)});
  assert_false(figures.has(gpu_uuid(0), "gpu_util"));
  assert_equal(figures.of(gpu_uuid(0), "gpu_power"), FAKE_MILLIWATTS(0) / 1e3);
  assert_equal(figures.of(mig_uuid(0, 1), "gpu_used_memory"), gib);
  assert_equal(figures.of(mig_uuid(0, 1), "gpu_trial_memory"), 5);
  assert_equal(figures.values.at(mig_uuid(0, 1)).size(), 3);
  assert_equal(gpus.warnings.size() + gpus.failures.size(), 0);
}

void only_the_gpus_that_the_trial_sees_are_sampled(void **) {
  const std::string all = "gpus=3 mig=2:2";
  const auto seen = [&](const char *visible, const std::string &scenario) {
    const Variable variable("CUDA_VISIBLE_DEVICES", visible);
    return Gpus(scenario).sample().labels();
  };
  assert_equal(seen("1", all), std::vector{gpu_uuid(1)});
  assert_equal(seen("1, 0", all), std::vector{gpu_uuid(0), gpu_uuid(1)});
  assert_equal(seen(gpu_uuid(0).c_str(), all), std::vector{gpu_uuid(0)});
  assert_equal(seen("", all).size(), 0);
  assert_equal(seen("9", all).size(), 0);
  assert_equal(seen(mig_uuid(2, 1).c_str(), all), std::vector{gpu_uuid(2), mig_uuid(2, 1)});
  assert_equal(seen("2", all), std::vector{gpu_uuid(2), mig_uuid(2, 0), mig_uuid(2, 1)});
  // CUDA begins with the fastest, whichever that is.
  const std::string mixed = all + " model=0:Slow";
  assert_equal(seen("0", mixed).size(), 5);
  assert_equal(seen(gpu_uuid(0).c_str(), mixed).size(), 1);
  const Variable order("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  assert_equal(seen("0", mixed), std::vector{gpu_uuid(0)});
}

// A /sys of the test's own.
class AmdMachine {
 public:
  void put(const std::string &path, const std::string &text) const {
    const auto file = root_ / "sys" / path;
    std::filesystem::create_directories(file.parent_path());
    write_all(open_file(file, O_CREAT | O_WRONLY | O_TRUNC).get(), text + "\n", path);
  }
  void remove(const std::string &path) const { std::filesystem::remove_all(root_ / "sys" / path); }
  void put_card(const std::string &card, const std::string &place) const {
    const auto link = root_ / "sys/class/drm" / card / "device";
    std::filesystem::create_directories(link.parent_path());
    std::filesystem::create_directories(root_ / "sys/devices" / place);
    std::filesystem::create_directory_symlink(root_ / "sys/devices" / place, link);
  }
  Gpus gpus() const { return Gpus("", "libnvidia-ml.so.none", {root_.path(), 0}); }

 private:
  TemporaryDirectory root_;
};

void gpus_of_amd_are_read_below_sys(void **) {
  const AmdMachine machine;
  machine.put_card("card0", "0000:00:02.0");
  machine.put_card("card1", "0000:03:00.0");
  machine.put_card("renderD128", "0000:03:00.0");
  const std::string device = "devices/0000:03:00.0/", sensors = device + "hwmon/hwmon7/";
  machine.put(device + "unique_id", "a8d8b5b0b9e5c7a4");
  machine.put(device + "gpu_busy_percent", "97");
  machine.put(device + "mem_info_vram_total", "17163091968");
  machine.put(device + "mem_info_vram_used", "1073741824");
  machine.put(sensors + "power1_average", "203000000");
  machine.put(sensors + "temp1_input", "61500");
  machine.put(sensors + "freq1_input", "1725000000");
  machine.put("class/drm/card1-DP-1/status", "connected");
  machine.put_card("card2", "0000:0b:00.0");  // in a processor, and with little to say
  machine.put("devices/0000:0b:00.0/gpu_busy_percent", "3");
  machine.put("devices/0000:0b:00.0/hwmon/hwmon3/power1_input", "15500000");

  Gpus gpus = machine.gpus();
  assert_equal(gpus.count(), 2);
  const Figures figures = gpus.sample();
  const std::string uuid = "GPU-a8d8b5b0b9e5c7a4", place = "0000:0b:00.0";
  assert_equal(figures.labels(), std::vector{place, uuid});
  assert_equal(figures.of(uuid, "gpu_util"), 97);
  assert_equal(figures.of(uuid, "gpu_used_memory"), gib);
  assert_equal(figures.of(uuid, "gpu_free_memory"), 17163091968 - gib);
  assert_equal(figures.of(uuid, "gpu_power"), 203);
  assert_equal(figures.of(uuid, "gpu_temperature"), 61.5);
  assert_equal(figures.of(uuid, "gpu_clock"), 1725);
  assert_equal(figures.of(place, "gpu_util"), 3);
  assert_equal(figures.of(place, "gpu_power"), 15.5);
  assert_equal(figures.values.at(place).size(), 2);
  assert_equal(gpus.failures.size(), 0);
}

void files_of_amd_may_say_anything(void **) {
  const AmdMachine machine;
  machine.put_card("card0", "0000:03:00.0");
  machine.put("devices/0000:03:00.0/gpu_busy_percent", "5");
  machine.put("devices/0000:03:00.0/mem_info_vram_total", "10");
  machine.put("devices/0000:03:00.0/mem_info_vram_used", "4");
  Gpus gpus = machine.gpus();
  assert_equal(gpus.sample().of("0000:03:00.0", "gpu_free_memory"), 6);
  for (const char *text : {"", "-1", "n/a", "99999999999999999999999999"}) {
    machine.put("devices/0000:03:00.0/gpu_busy_percent", text);
    assert_false(gpus.sample().has("0000:03:00.0", "gpu_util"));
  }
  machine.put("devices/0000:03:00.0/mem_info_vram_used", "11");
  assert_false(gpus.sample().has("0000:03:00.0", "gpu_free_memory"));
  assert_equal(gpus.failures.size(), 0);
}

void a_name_that_is_no_text_is_made_one(void **) {
  const AmdMachine machine;
  machine.put_card("card0", "0000:03:00.0");
  machine.put("devices/0000:03:00.0/gpu_busy_percent", "5");
  machine.put("devices/0000:03:00.0/unique_id", "\xff\x1b");
  assert_equal(machine.gpus().sample().labels(), std::vector<std::string>{"GPU-\\xff\\x1b"});
}

void what_amd_shows_no_more_is_left_out(void **) {
  const AmdMachine machine;
  machine.put_card("card0", "0000:03:00.0");
  machine.put("devices/0000:03:00.0/gpu_busy_percent", "5");
  machine.put("devices/0000:03:00.0/hwmon/hwmon0/temp1_input", "50000");
  Gpus gpus = machine.gpus();
  machine.remove("devices/0000:03:00.0/gpu_busy_percent");
  const Figures figures = gpus.sample();
  assert_false(figures.has("0000:03:00.0", "gpu_util"));
  assert_equal(figures.of("0000:03:00.0", "gpu_temperature"), 50);
  assert_equal(gpus.failures.size(), 0);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(each_gpu_says_what_nvml_tells),
      cmocka_unit_test(nvml_is_ended_with_the_last_sampler),
      cmocka_unit_test(memory_of_the_trial_is_that_of_its_processes),
      cmocka_unit_test(many_processes_are_all_seen),
      cmocka_unit_test(traffic_is_asked_of_one_gpu_in_a_sample),
      cmocka_unit_test(a_missing_driver_is_no_news),
      cmocka_unit_test(a_driver_that_does_not_start_is_told),
      cmocka_unit_test(an_old_driver_tells_less),
      cmocka_unit_test(what_is_no_nvml_is_told),
      cmocka_unit_test(a_lost_gpu_is_told_once_and_costs_the_others_nothing),
      cmocka_unit_test(whatever_fails_the_rest_is_told),
      cmocka_unit_test(a_gpu_that_cannot_be_found_is_told_and_left_out),
      cmocka_unit_test(a_mig_device_is_a_gpu_that_tells_less),
      cmocka_unit_test(only_the_gpus_that_the_trial_sees_are_sampled),
      cmocka_unit_test(gpus_of_amd_are_read_below_sys),
      cmocka_unit_test(files_of_amd_may_say_anything),
      cmocka_unit_test(a_name_that_is_no_text_is_made_one),
      cmocka_unit_test(what_amd_shows_no_more_is_left_out),
  };
  return cmocka_run_group_tests_name("GPUs", tests, nullptr, nullptr);
}
