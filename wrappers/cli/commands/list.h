// What the lists have in common: how many entries, in which order, and as what they are printed.
#pragma once

#include <CLI/App.hpp>
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "wrappers/cli/command.h"
#include "wrappers/cli/text/table.h"

namespace det::cli {

struct ListOptions {
  int64_t count = 0;  // 0: all
  std::string sort;   // empty: in the order of the list
  bool reverse = false;
  bool csv = false;
  bool json = false;
  Filter filter;
};

// Declares --state, --name, --tag and --archived.
void add_filter_options(CLI::App *command, Filter &filter);

// Declares -n, -s, -r, --csv and --json.
void add_list_options(CLI::App *command, ListOptions &options);

struct ListColumn {
  const char *title;
  const char *key;  // of an entry; null: `format` takes the whole
  std::string (*format)(const Json &);
  Align align;
};

// A word that --sort takes, and the key that it stands for.
struct SortKey {
  const char *word, *key;
};

struct ListKind {
  std::vector<ListColumn> columns;
  std::vector<const char *> csv_keys;
  std::vector<SortKey> sort_keys;
  const char *when_empty;
};

using Walk = std::function<void(const Listing &, const Visit &)>;

// Prints what `walk` visits, while it does unless it is to be sorted.
void print_list(const Session &session, const ListKind &kind, const ListOptions &options,
                const Walk &walk);

// One of the words, or Failure (usage).
std::string sort_key(const std::vector<SortKey> &keys, const std::string &word);

// The values of an entry under these keys; nothing for null.
std::vector<std::string> csv_cells(const Json &entry, const std::vector<const char *> &keys);

// Numbers by their size, and before texts; what is no value, such as NaN, comes last however they
// are turned.
bool comes_before(const Json &left, const Json &right, bool reverse);

// By `value_of` a row; cut to `options.count`.
template <class Row, class ValueOf>
void sort_rows(std::vector<Row> &rows, const ListOptions &options, const ValueOf &value_of) {
  std::stable_sort(rows.begin(), rows.end(), [&](const Row &a, const Row &b) {
    return comes_before(value_of(a), value_of(b), options.reverse);
  });
  const auto count = static_cast<size_t>(options.count);
  if (count != 0 && rows.size() > count) rows.erase(rows.begin() + options.count, rows.end());
}

}  // namespace det::cli
