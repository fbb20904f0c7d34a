// Long JSON text of which little is wanted, read in place: no values are made but those asked for.
#pragma once

#include <string>
#include <string_view>

#include "core/base/json_fwd.h"

namespace det {

// A place in the text, which goes forward. The text is one that was checked or made by a writer of
// JSON: a mistake in a value that is stepped over may go unnoticed. Throws Code::invalid where the
// text is not what is asked for; `what` names it, as for parse_json().
class JsonCursor {
 public:
  JsonCursor(std::string_view text, const char *what) : rest_(text), what_(what) {}

  // Into the object or the list that is next.
  void enter_object() { take('{'); }
  void enter_list() { take('['); }
  // To the value of the next member, or to the next element. False: behind the end of what was
  // entered. A name is valid until the next call.
  bool next_member(std::string_view &name);
  bool next_element();

  bool at_object();
  // The value that is next, stepped over.
  std::string_view text();
  Json value();

 private:
  char peek();
  void take(char character);
  bool leave(char bracket);
  size_t value_size() const;
  size_t container_size(std::string_view text) const;
  std::string_view take_front(size_t size);
  [[noreturn]] void fail() const;

  std::string_view rest_;
  const char *what_;
  std::string name_;  // where it is written with escapes
};

}  // namespace det
