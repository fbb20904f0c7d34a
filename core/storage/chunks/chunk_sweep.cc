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
std::set<ChunkName> names_in_note(ChunkStore &store, const std::string &note) {
  std::set<ChunkName> names;
  for (const std::string &line : lines_of(store.note(note).value_or("")))
    if (const std::optional<ChunkName> name = chunk_name_from(line)) names.insert(*name);
  return names;
}

// True when those whom the condemnation `id` waits for are savers no more.
bool is_due(ChunkStore &store, ChunkReferences &references, const std::string &id) {
  const std::set<std::string> now = references.savers();
  if (now.empty()) return true;
  const std::string note = std::string(savers) + id;
  const std::optional<std::string> written = store.note(note);
  if (!written) {
    store.write_note(note, text_of(now));
    return false;
  }
  const std::set<std::string> then = lines_of(*written);
  return std::none_of(then.begin(), then.end(),
                      [&](const std::string &saver) { return now.contains(saver); });
}

void carry_out(ChunkStore &store, ChunkReferences &references, const std::string &id,
               Logger &logger) {
  if (!is_due(store, references, id)) return;
  const std::string note = std::string(condemned) + id;
  const std::set<ChunkName> names = names_in_note(store, note);
  const std::set<ChunkName> named = references.named();
  std::vector<ChunkName> unnamed;
  std::vector<std::string> rest;
  for (const ChunkName &name : names)
    if (named.contains(name)) rest.push_back(to_text(name));
    else unnamed.push_back(name);
  store.remove(unnamed);
  logger.debug("removed " + std::to_string(unnamed.size()) +
               " chunks that no checkpoint has any more");
  if (!rest.empty() && !store.is_swept_alone()) {
    store.write_note(note, text_of(rest));
    store.write_note(std::string(settled) + id, "");
    return;
  }
  for (const std::string_view of : {savers, settled}) store.remove_note(std::string(of) + id);
  store.remove_note(note);
}

// The id of the condemnation; empty where nothing is to go.
std::string condemn(ChunkStore &store, ChunkReferences &references) {
  store.write_note(looking, "");
  store.remove_note(garbage);  // what is removed from now on is noted anew
  const std::set<ChunkName> already = condemned_chunks(store);
  std::vector<ChunkName> stored;
  store.list([&](const ChunkName &name) { stored.push_back(name); });
  // Afterwards, so that what was stored for a list that is there by now is not condemned.
  const std::set<ChunkName> named = references.named();
  std::vector<std::string> unnamed;
  for (const ChunkName &name : stored)
    if (!named.contains(name) && !already.contains(name)) unnamed.push_back(to_text(name));
  std::string id;
  if (!unnamed.empty()) {
    id = make_uuid();
    store.write_note(std::string(condemned) + id, text_of(unnamed));
  }
  store.remove_note(looking);
  return id;
}

}  // namespace

bool has_garbage(ChunkStore &store) {
  const std::vector<std::string> notes = store.notes();
  return std::any_of(notes.begin(), notes.end(), [&](const std::string &note) {
    if (!note.starts_with(condemned)) return note == garbage || note == looking;
    const std::string end = std::string(settled) + note.substr(condemned.size());
    return std::find(notes.begin(), notes.end(), end) == notes.end();
  });
}

void note_garbage(ChunkStore &store) { store.write_note(garbage, ""); }

std::set<ChunkName> condemned_chunks(ChunkStore &store) {
  std::set<ChunkName> all;
  for (const std::string &note : store.notes())
    if (note.starts_with(condemned)) all.merge(names_in_note(store, note));
  return all;
}

void sweep_chunks(ChunkStore &store, ChunkReferences &references, Logger &logger) {
  const std::vector<std::string> notes = store.notes();
  const auto is_there = [&](const std::string &note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  for (const std::string &note : notes) {
    if (note.starts_with(condemned)) {
      carry_out(store, references, note.substr(condemned.size()), logger);
      continue;
    }
    for (const std::string_view of : {savers, settled})
      if (note.starts_with(of) && !is_there(std::string(condemned) + note.substr(of.size())))
        store.remove_note(note);
  }
  if (!is_there(garbage) && !is_there(looking)) return;
  const std::string id = condemn(store, references);
  if (!id.empty()) carry_out(store, references, id, logger);
}

}  // namespace det::storage
