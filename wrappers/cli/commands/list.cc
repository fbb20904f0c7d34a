#include "wrappers/cli/commands/list.h"

#include <cmath>

#include "wrappers/cli/commands/ids.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/pager.h"

namespace det::cli {

namespace {

constexpr size_t entries_that_share_ids = 100;

// The filters as they were given.
std::vector<std::string> asked_for(const Filter &filter) {
  std::vector<std::string> given;
  const auto add = [&](const char *option, const std::string &value) {
    if (!value.empty()) given.push_back(option + (" '" + printable(value) + "'"));
  };
  add("--state", filter.state);
  add("--name", filter.name);
  add("--tag", filter.tag);
  if (filter.archived) given.emplace_back("--archived");
  return given;
}

// Takes the entries of a list and prints them.
class EntryPrinter {
 public:
  EntryPrinter(const Session &session, const ListKind &kind, const ListOptions &options)
      : session_(session), kind_(kind), options_(options), table_(session.terminal, titles(kind)) {
    if (options.csv)
      print(csv_line({kind.csv_keys.begin(), kind.csv_keys.end()}, session.terminal));
  }

  void add(const Json &entry) {
    if (options_.json) return print(json_line(entry));
    if (options_.csv) return print(csv_line(csv_cells(entry, kind_.csv_keys), session_.terminal));
    held_.push_back(entry);
    if (held_.size() == entries_that_share_ids) add_held();
  }

  void finish() {
    add_held();
    table_.finish();
    if (table_.empty() && !options_.json && !options_.csv)
      print(asked_for(options_.filter).empty()
                ? kind_.when_empty
                : "Nothing here with " + joined(asked_for(options_.filter)) + ".\n");
  }

 private:
  // Ids are as short as those of a page allow.
  void add_held() {
    std::vector<std::string> ids;
    for (const Json &entry : held_) ids.push_back(text_of(field(entry, "uuid")));
    ids = short_ids(ids);
    for (size_t i = 0; i < held_.size(); ++i) {
      std::vector<std::string> cells;
      for (const ListColumn &column : kind_.columns)
        cells.push_back(column.format(column.key ? field(held_[i], column.key) : held_[i]));
      if (kind_.columns[0].key == std::string_view("uuid")) cells[0] = ids[i];
      table_.add(std::move(cells));
    }
    held_.clear();
  }

  static std::vector<Column> titles(const ListKind &kind) {
    std::vector<Column> titles;
    for (const ListColumn &column : kind.columns) titles.push_back({column.title, column.align});
    return titles;
  }

  const Session &session_;
  const ListKind &kind_;
  const ListOptions &options_;
  Table table_;
  std::vector<Json> held_;
};

}  // namespace

void add_list_options(CLI::App *command, ListOptions &options) {
  command
      ->add_option_function<std::string>(
          "-n,--count", [&options](const std::string &text) { options.count = parse_count(text); },
          "Print at most this many.")
      ->type_name("COUNT");
  command->add_option("-s,--sort", options.sort, "Sort by this key.")->type_name("KEY");
  command->add_flag("-r,--reverse", options.reverse, "Reverse the order.");
  CLI::Option *csv = command->add_flag("--csv", options.csv, "Print comma-separated values.");
  command->add_flag("--json", options.json, "Print one JSON object per line.")->excludes(csv);
}

void add_filter_options(CLI::App *command, Filter &filter) {
  command->add_option("--state", filter.state, "Only this state, or several: error,paused.")
      ->type_name("STATE");
  command->add_option("--name", filter.name, "Only names that match, such as 'digits*'.")
      ->type_name("GLOB");
  command->add_option("--tag", filter.tag, "Only entries with this tag.")->type_name("TAG");
  command->add_flag("--archived", filter.archived, "Only archived entries.");
}

void print_list(const Session &session, const ListKind &kind, const ListOptions &options,
                const Walk &walk) {
  const std::string key = options.sort.empty() ? "" : sort_key(kind.sort_keys, options.sort);
  const Pager pager(session.terminal, session.pager);
  EntryPrinter printer(session, kind, options);
  if (key.empty()) {
    const Order order = options.reverse ? Order::oldest_first : Order::newest_first;
    walk({order, options.count, options.filter}, [&](const Json &entry) {
      printer.add(entry);
      return true;
    });
  } else {
    std::vector<Json> entries;
    walk({Order::newest_first, 0, options.filter}, [&](const Json &entry) {
      entries.push_back(entry);
      return true;
    });
    sort_rows(entries, options,
              [&](const Json &entry) -> const Json & { return field(entry, key.c_str()); });
    for (const Json &entry : entries) printer.add(entry);
  }
  printer.finish();
}

std::string sort_key(const std::vector<SortKey> &keys, const std::string &word) {
  std::vector<std::string> words;
  for (const SortKey &key : keys) {
    if (key.word == word) return key.key;
    words.emplace_back(key.word);
  }
  throw Failure(ExitCode::usage,
                "'" + word + "' is not a sort key; choose one of " + joined(words));
}

std::vector<std::string> csv_cells(const Json &entry, const std::vector<const char *> &keys) {
  std::vector<std::string> cells;
  for (const char *key : keys) {
    const Json &value = field(entry, key);
    cells.push_back(value.is_null() ? "" : text_of(value));
  }
  return cells;
}

bool comes_before(const Json &left, const Json &right, bool reverse) {
  const auto missing = [](const Json &value) {
    return value.is_null() ? 2 : value == "NaN" ? 1 : 0;
  };
  if (missing(left) != missing(right)) return missing(left) < missing(right);
  const Json &low = reverse ? right : left, &high = reverse ? left : right;
  const double a = double_of(low), b = double_of(high);
  if (!std::isnan(a) && !std::isnan(b)) return a < b;
  return std::isnan(a) == std::isnan(b) ? low < high : std::isnan(b);
}

}  // namespace det::cli
