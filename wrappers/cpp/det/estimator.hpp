// Feature columns, of which networks are made that take features by their names.
#pragma once

#include <det/estimator/categorical_column.hpp>
