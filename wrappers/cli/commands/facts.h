// What is known of one thing, a line each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "wrappers/cli/library_client.h"

namespace det::cli {

using Facts = std::vector<std::pair<std::string, std::string>>;

// "Label             value"; nothing where there is no value.
void print_fact(const std::string &label, const std::string &value);

// Under a title, with the values in one column.
void print_section(const std::string &title, const Facts &facts);
void print_section(const std::string &title, const Json &value);

}  // namespace det::cli
