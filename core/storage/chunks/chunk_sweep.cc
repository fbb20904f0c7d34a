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
  size_t removed = 0;
  for (const ChunkName &name : names) {
    if (named.contains(name)) continue;
    store.remove(name);
    ++removed;
  }
  store.remove_note(std::string(savers) + id);
  store.remove_note(note);
  logger.debug("removed " + std::to_string(removed) + " chunks that no checkpoint has any more");
}

// The id of the condemnation; empty where nothing is to go.
std::string condemn(ChunkStore &store, ChunkReferences &references) {
  store.write_note(looking, "");
  store.remove_note(garbage);  // what is removed from now on is noted anew
  const std::set<ChunkName> already = condemned_chunks(store);
  const std::set<ChunkName> named = references.named();
  std::vector<std::string> unnamed;
  store.list([&](const ChunkName &name) {
    if (!named.contains(name) && !already.contains(name)) unnamed.push_back(to_text(name));
  });
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
  for (const std::string &note : store.notes())
    if (note == garbage || note == looking || note.starts_with(condemned)) return true;
  return false;
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
    } else if (note.starts_with(savers) &&
               !is_there(std::string(condemned) + note.substr(savers.size()))) {
      store.remove_note(note);
    }
  }
  if (!is_there(garbage) && !is_there(looking)) return;
  const std::string id = condemn(store, references);
  if (!id.empty()) carry_out(store, references, id, logger);
}

}  // namespace det::storage
