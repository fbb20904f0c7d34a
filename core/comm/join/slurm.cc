#include "core/comm/join/slurm.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "core/base/error.h"
#include "core/base/process/environment.h"
#include "core/comm/join/variables.h"

namespace det::comm {

namespace {

constexpr const char *launcher = "Slurm";
constexpr size_t most_nodes = 1 << 20;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Of host names and addresses; never a dash in front, which would be an option somewhere.
bool is_host_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
         c == '_';
}

[[noreturn]] void refuse(const char *what, std::string_view text, const char *example) {
  throw Error(Code::invalid, std::string("reading Slurm's ") + what + " '" +
                                 std::string(text.substr(0, 200)) + "': expected a form like " +
                                 example);
}

[[noreturn]] void refuse_tasks(std::string_view text) { refuse("tasks per node", text, "4(x2),3"); }
[[noreturn]] void refuse_hosts(std::string_view text) {
  refuse("list of nodes", text, "node[01-03,7],other");
}

// Takes a number of at least 1 off the front.
int take_number(std::string_view &rest, std::string_view whole) {
  int value = 0;
  const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (failure != std::errc() || value < 1) refuse_tasks(whole);
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  return value;
}

bool take(std::string_view &rest, std::string_view token) {
  if (!rest.starts_with(token)) return false;
  rest.remove_prefix(token.size());
  return true;
}

// The first variable that is set, else the first of them, to be named as missing.
const char *first_set(std::initializer_list<const char *> names) {
  const auto *found = std::find_if(names.begin(), names.end(), is_set);
  return found != names.end() ? *found : *names.begin();
}

// Tasks of srun have the number of their step. A batch script has none or one of the reserved ones,
// or a name ("batch"), depending on the release.
bool is_task() {
  const std::string id = environment_variable(first_set({"SLURM_STEP_ID", "SLURM_STEPID"}));
  constexpr int64_t first_reserved = 0xfffffff0;
  return !id.empty() && id.size() <= 10 && std::all_of(id.begin(), id.end(), is_digit) &&
         std::stoll(id) < first_reserved;
}

int number_of_tasks() {
  const char *name = first_set({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"});
  const int size = rank_variable(name, launcher);
  if (is_set("SLURM_NTASKS"))
    check_equal("SLURM_NTASKS", rank_variable("SLURM_NTASKS", launcher), name, size);
  return size;
}

std::string chief_of(int nodes) {
  std::string launched_from = environment_variable("SLURM_LAUNCH_NODE_IPADDR");
  if (nodes == 1 && !launched_from.empty()) return launched_from;
  const std::string list =
      environment_variable(first_set({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}));
  return list.empty() ? "" : first_host(list);
}

}  // namespace

std::vector<int> parse_tasks_per_node(std::string_view text) {
  std::vector<int> tasks;
  std::string_view rest = text;
  do {
    const int count = take_number(rest, text);
    size_t nodes = 1;
    if (take(rest, "(x")) {
      nodes = static_cast<size_t>(take_number(rest, text));
      if (!take(rest, ")")) refuse_tasks(text);
    }
    if (nodes > most_nodes - tasks.size()) refuse_tasks(text);
    tasks.insert(tasks.end(), nodes, count);
  } while (take(rest, ","));
  if (!rest.empty()) refuse_tasks(text);
  return tasks;
}

std::string first_host(std::string_view list) {
  std::string host;
  std::string_view rest = list;
  while (!rest.empty() && !rest.starts_with(',')) {
    if (take(rest, "[")) {
      const size_t close = rest.find(']'), digits = rest.find_first_not_of("0123456789");
      if (close == rest.npos || digits == 0 ||
          std::string_view("-,]").find(rest[digits]) == list.npos)
        refuse_hosts(list);
      host += rest.substr(0, digits);
      rest.remove_prefix(close + 1);
    } else {
      if (!is_host_character(rest.front())) refuse_hosts(list);
      host += rest.front();
      rest.remove_prefix(1);
    }
  }
  if (host.empty() || host.front() == '-' || host.size() > 255) refuse_hosts(list);
  return host;
}

std::optional<SlurmStep> slurm_step() {
  if (!is_task()) return std::nullopt;
  SlurmStep step;
  Ranks &ranks = step.ranks;
  ranks.size = number_of_tasks();
  if (ranks.size <= 1) return std::nullopt;
  ranks.rank = rank_variable("SLURM_PROCID", launcher);
  ranks.local_rank = rank_variable("SLURM_LOCALID", launcher);
  ranks.cross_rank = rank_variable("SLURM_NODEID", launcher);
  const char *nodes = first_set({"SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"});
  ranks.cross_size = rank_variable(nodes, launcher);

  const std::string name = first_set({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
  const std::vector<int> tasks = parse_tasks_per_node(variable(name.c_str(), launcher));
  check_equal("nodes in " + name, static_cast<int64_t>(tasks.size()), nodes, ranks.cross_size);
  check_equal("tasks in " + name, std::accumulate(tasks.begin(), tasks.end(), int64_t{0}),
              "SLURM_NTASKS", ranks.size);
  if (ranks.cross_rank < ranks.cross_size)
    ranks.local_size = tasks[static_cast<size_t>(ranks.cross_rank)];
  check_ranks(ranks, {launcher, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", name.c_str(),
                      "SLURM_NODEID", nodes});
  step.chief = chief_of(ranks.cross_size);
  return step;
}

}  // namespace det::comm
