// Text from anywhere, made safe to show to people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace det {

// Whether the character steers what shows it instead of being shown: control characters, and marks
// that reorder, hide or break text.
bool steers_text(int32_t character) noexcept;

// Whether it is ASCII without control characters, as nearly all text is.
bool is_plain(std::string_view text) noexcept;

// On one line: such characters, and bytes that are not UTF-8, become \n, \x1b, \u202e.
std::string printable(std::string_view text);

// As much of that as fits into `size` bytes with a NUL at its end, cut between characters.
// Allocates nothing.
void copy_printable(std::string_view text, char *out, size_t size) noexcept;

// How many bytes at the front of a line, without its end, what follows a \r has written over.
size_t overwritten(std::string_view line) noexcept;

// What a terminal shows of a line in the end: of a progress bar, its last state.
std::string_view as_shown(std::string_view line) noexcept;

}  // namespace det
