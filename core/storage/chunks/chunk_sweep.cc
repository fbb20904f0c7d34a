#include "core/storage/chunks/chunk_sweep.h"

#include <algorithm>
#include <iterator>

#include "core/base/error.h"
#include "core/base/uuid.h"

namespace det::storage {

namespace {

constexpr const char *garbage = "garbage";
constexpr const char *looking = "looking";  // for garbage, and not done with it
constexpr std::string_view condemned = "condemned-";
constexpr std::string_view savers = "savers-";
constexpr std::string_view settled = "settled-";  // of what is left of a condemnation, all is named

std::set<std::string> lines_of(std::string_view text) {
  std::set<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.emplace(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

template <class Lines>
std::string text_of(const Lines &lines) {
  std::string text;
  for (const std::string &line : lines) text += line + "\n";
  return text;
}

// What is not understood is no chunk, and none is removed for it.
std::set<ChunkName> names_in_note(Chunks &chunks, const std::string &note) {
  std::set<ChunkName> names;
  for (const std::string &line : lines_of(chunks.note(note).value_or("")))
    if (const std::optional<ChunkName> name = chunk_name_from(line)) names.insert(*name);
  return names;
}

// True when those whom the condemnation `id` waits for are savers no more.
bool is_due(Chunks &chunks, ChunkReferences &references, const std::string &id) {
  const std::set<std::string> now = references.savers();
  if (now.empty()) return true;
  const std::string note = std::string(savers) + id;
  const std::optional<std::string> written = chunks.note(note);
  if (!written) {
    chunks.write_note(note, text_of(now));
    return false;
  }
  const std::set<std::string> then = lines_of(*written);
  return std::none_of(then.begin(), then.end(),
                      [&](const std::string &saver) { return now.contains(saver); });
}

// `rest` of the condemnation `id` was named when the lists were read. A sweep beside this one may
// have carried out the same meanwhile, for a list that has gone since: then these notes are of
// chunks that nobody names, and the garbage that was noted for them is forgotten.
void settle(Chunks &chunks, ChunkReferences &references, const std::string &id,
            const std::set<ChunkName> &rest) {
  std::vector<std::string> lines;
  for (const ChunkName &name : rest) lines.push_back(to_text(name));
  chunks.write_note(std::string(condemned) + id, text_of(lines));
  chunks.write_note(std::string(settled) + id, "");
  const std::set<ChunkName> named = references.named();
  if (!std::includes(named.begin(), named.end(), rest.begin(), rest.end())) note_garbage(chunks);
}

void carry_out(Chunks &chunks, ChunkReferences &references, const std::string &id, Logger &logger) {
  if (!is_due(chunks, references, id)) return chunks.remove_note(std::string(settled) + id);
  const std::string note = std::string(condemned) + id;
  const std::set<ChunkName> names = names_in_note(chunks, note);
  const std::set<ChunkName> named = references.named();
  std::vector<ChunkName> unnamed;
  std::set<ChunkName> rest;
  for (const ChunkName &name : names)
    if (named.contains(name)) rest.insert(name);
    else unnamed.push_back(name);
  chunks.remove(unnamed);
  logger.debug("removed " + std::to_string(unnamed.size()) +
               " chunks that no checkpoint has any more");
  if (!rest.empty() && !chunks.is_swept_alone()) {
    if (!unnamed.empty() || !chunks.note(std::string(settled) + id))
      settle(chunks, references, id, rest);
    return;
  }
  for (const std::string_view of : {savers, settled}) chunks.remove_note(std::string(of) + id);
  chunks.remove_note(note);
}

void condemn(Chunks &chunks, ChunkReferences &references) {
  const std::set<ChunkName> already = condemned_chunks(chunks);
  std::vector<ChunkName> stored;
  chunks.list([&](const ChunkName &name) { stored.push_back(name); });
  // Afterwards, so that what was stored for a list that is there by now is not condemned.
  const std::set<ChunkName> named = references.named();
  std::vector<std::string> unnamed;
  for (const ChunkName &name : stored)
    if (!named.contains(name) && !already.contains(name)) unnamed.push_back(to_text(name));
  if (!unnamed.empty()) chunks.write_note(std::string(condemned) + make_uuid(), text_of(unnamed));
}

}  // namespace

bool has_garbage(Chunks &chunks) {
  const std::vector<std::string> notes = chunks.notes();
  const auto lacks = [&](std::string_view of, const std::string &id) {
    return std::find(notes.begin(), notes.end(), std::string(of) + id) == notes.end();
  };
  return std::any_of(notes.begin(), notes.end(), [&](const std::string &note) {
    if (note.starts_with(condemned)) return lacks(settled, note.substr(condemned.size()));
    for (const std::string_view of : {savers, settled})
      if (note.starts_with(of)) return lacks(condemned, note.substr(of.size()));
    return note == garbage || note == looking;
  });
}

void note_garbage(Chunks &chunks) { chunks.write_note(garbage, ""); }

std::set<ChunkName> condemned_chunks(Chunks &chunks) {
  std::set<ChunkName> all;
  for (const std::string &note : chunks.notes())
    if (note.starts_with(condemned)) all.merge(names_in_note(chunks, note));
  return all;
}

void sweep_chunks(Chunks &chunks, ChunkReferences &references, Logger &logger) {
  std::vector<std::string> notes = chunks.notes();
  const auto is_there = [&](const std::string &note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  const bool looks = is_there(garbage) || is_there(looking);
  if (looks) {
    chunks.write_note(looking, "");
    chunks.remove_note(garbage);  // what is removed from now on is noted anew
    condemn(chunks, references);
    notes = chunks.notes();  // what others have condemned, too: they may have seen it named
  }
  for (const std::string &note : notes) {
    if (note.starts_with(condemned)) {
      carry_out(chunks, references, note.substr(condemned.size()), logger);
      continue;
    }
    for (const std::string_view of : {savers, settled})
      if (note.starts_with(of) && !is_there(std::string(condemned) + note.substr(of.size())))
        chunks.remove_note(note);
  }
  if (looks) chunks.remove_note(looking);
}

}  // namespace det::storage
