import pathlib
import runpy
import sys

sys.dont_write_bytecode = True  # this folder belongs to the source
sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)
del sys.argv[0]
runpy.run_module("servers." + sys.argv[0], run_name="__main__")
