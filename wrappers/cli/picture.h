// Figures as files of pictures, by a library that is opened for the first one.
#pragma once

#include <optional>
#include <string>

#include "picture_entry.h"

namespace det::cli {

// Of a file by how its name ends, or by the name of the format itself; nothing for another.
std::optional<PictureFormat> picture_format(const std::string &name);

// Null where the library is not there or not of this build; `why` is told what is missing then.
const PictureEntry *find_pictures(std::string &why);

// Throws Failure: unsupported where pictures cannot be drawn here, with what to install.
std::string draw_picture(const Figure &figure, PictureFormat format, const PictureSize &size);

}  // namespace det::cli
