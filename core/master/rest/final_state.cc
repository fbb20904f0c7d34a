#include "core/master/rest/final_state.h"

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/journal/run_directory.h"

namespace det::master {

namespace fs = std::filesystem;

FinalState::FinalState(const fs::path &run_directory)
    : path_(journal::kept_file(run_directory, "end", ".json")) {}

void FinalState::keep(codec::TrialState state) const {
  const Json json{{"state", codec::wire_names(state)[static_cast<size_t>(state)]}};
  write_file_durably(path_, to_wire(json) + "\n", 0600);
}

std::optional<codec::TrialState> FinalState::kept() const {
  if (!fs::exists(path_)) return std::nullopt;
  const Json json = parse_json_object(read_file(path_), "'" + path_.string() + "'");
  const auto names = codec::wire_names(codec::TrialState());
  for (size_t i = 0; i < names.size(); ++i)
    if (json.value("state", "") == names[i]) return static_cast<codec::TrialState>(i);
  throw Error(Code::corrupt, "reading '" + path_.string() + "': it has no state; remove it");
}

void FinalState::forget() const { fs::remove(path_); }

}  // namespace det::master
