// Room for the storage id of a checkpoint: a UUID with its NUL.
#pragma once

enum { STORAGE_ID_SIZE = 37 };
