// What the files of several ranks say about the tensors that are spread over them. In each, the
// metadata tells where its parts lie in their tensors, in the words of PyTorch's distributed
// checkpoints (torch.distributed.checkpoint), which so can read them too; beside them an index
// lists the files, in the words of Hugging Face's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/tensors/header.h"
#include "core/tensors/tensor.h"

namespace det::tensors {

inline constexpr const char *file_ending = ".safetensors";
inline constexpr const char *index_ending = ".index.json";

// "model.safetensors" → "model-00002-of-00004.safetensors", for number 1 of 4 from 0.
std::string sharded_name(const std::string &name, size_t number, size_t count);

// Adds what tells of `parts` to what a file says.
void add_sharding(FileMetadata &metadata, const std::vector<const TensorPart *> &parts);

// Without it again.
FileMetadata without_sharding(FileMetadata metadata);

// The tensors of a file as parts of what all files have. A file that tells nothing has whole
// tensors; one that does not tell the shape of a tensor leaves `whole` empty. Throws Code::corrupt.
std::vector<TensorPart> parts_of(const Header &header, const std::string &described);

// The tensors of one file of several.
struct ShardFile {
  std::string name;
  std::vector<const TensorPart *> parts;
};

std::string format_index(const std::vector<ShardFile> &files);

// The files that an index lists, each once, in the order of their names: plain paths, beside the
// index. Throws Code::corrupt.
std::vector<std::string> parse_index(const std::string &text, const std::string &described);

}  // namespace det::tensors
