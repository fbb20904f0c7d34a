// A program that says who this job is, as Google's libraries run it.
#pragma once

#include "core/cloud/gcs/subject_token.h"

namespace det::cloud {

// `program` is the executable in the credential_source of `account`. What it wrote into its output
// file is used as long as it holds.
SubjectTokenSource subject_program(const Json &account, const Json &program,
                                   const std::string &file);

}  // namespace det::cloud
