// Questions to whoever sits at the terminal.
#pragma once

#include <string>

namespace det::cli {

enum class Echo { shown, hidden };

bool can_ask();  // standard input is a terminal

// The answer, a line of standard input. On a terminal the question is shown on standard error; an
// interrupt leaves the terminal as it was. Throws Failure when the input ends instead.
std::string ask(const std::string &question, Echo echo);

}  // namespace det::cli
