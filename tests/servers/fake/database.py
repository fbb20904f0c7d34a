"""How long a real master takes for a report of metrics, where a test asks for it: it works on a
request by itself, then holds the row of the trial while it stores. Who waits for the row slows down
who has it."""

import threading
import time


class Database:
    """{"own_seconds", "row_seconds", "crowding"}: the last is what each that waits adds, a fraction."""

    def __init__(self, setup):
        self._own = setup.get("own_seconds", 0)
        self._row = setup.get("row_seconds", 0)
        self._crowding = setup.get("crowding", 0)
        self._guard = threading.Lock()
        self._rows = {}  # path of the trial → its lock, and how many want it

    def store(self, path):
        """Takes the time of one report. The caller does not hold the lock of the world."""
        if not self._row:
            return
        time.sleep(self._own)
        with self._guard:
            row = self._rows.setdefault(path.rsplit("/", 1)[0], [threading.Lock(), 0])
            row[1] += 1
        with row[0]:
            time.sleep(self._row * (1 + self._crowding * (row[1] - 1)))
        with self._guard:
            row[1] -= 1
