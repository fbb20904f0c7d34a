"""The parts of the stand-in master (see ../master.py)."""
