#!/usr/bin/env python3
"""Finds CUDA 13, cuBLAS and cuDNN 9: find_cuda.py SOURCE-FOLDER [TOOLKIT]

Prints nvcc, the folders of headers and those of libraries, on a line each, folders separated by ':'. A toolkit is a
folder as NVIDIA's installers make it, or one of the Python packages (.../site-packages/nvidia). Without a name it is
looked for in CUDA_HOME, by the PATH, in /usr/local/cuda, and in the packages of `scripts/python_env.sh cuda`."""

import os
import pathlib
import shutil
import sys

HEADERS = {"cuda_runtime_api.h": "CUDA", "cublasLt.h": "cuBLAS", "cudnn.h": "cuDNN 9"}
LIBRARIES = {"libcudart_static.a": "CUDA", "libcublasLt.so.13": "cuBLAS of CUDA 13", "libcudnn.so.9": "cuDNN 9"}
SYSTEM_HEADERS = ["/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu"]
SYSTEM_LIBRARIES = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"]


def toolkits(source, named):
    if named:
        return [pathlib.Path(named)]
    found = [os.environ.get("CUDA_HOME"), "/usr/local/cuda"]
    nvcc = shutil.which("nvcc")
    if nvcc:
        found.insert(1, pathlib.Path(nvcc).resolve().parents[1])
    found += sorted(pathlib.Path(source).glob(".venv-cuda/lib/python3*/site-packages/nvidia"))
    return [pathlib.Path(folder) for folder in found if folder]


def first_with(name, folders):
    return next((str(folder) for folder in folders if (pathlib.Path(folder) / name).exists()), None)


def parts_of(toolkit):
    """What there is to find, and what is missing."""
    roots = [toolkit, toolkit / "cu13", toolkit / "cudnn"]
    nvcc = first_with("nvcc", [root / "bin" for root in roots])
    headers = {name: first_with(name, [root / "include" for root in roots] + SYSTEM_HEADERS) for name in HEADERS}
    places = [root / folder for root in roots for folder in ("lib64", "lib")] + SYSTEM_LIBRARIES
    libraries = {name: first_with(name, places) for name in LIBRARIES}
    missing = ["nvcc"] if nvcc is None else []
    missing += [f"{name} of {what}" for name, what in HEADERS.items() if headers[name] is None]
    missing += [f"{name} of {what}" for name, what in LIBRARIES.items() if libraries[name] is None]
    return nvcc, headers, libraries, missing


def main(source, named=""):
    tried = []
    for toolkit in toolkits(source, named):
        nvcc, headers, libraries, missing = parts_of(toolkit)
        if not missing:
            print(nvcc + "/nvcc")
            print(":".join(dict.fromkeys(headers.values())))
            print(":".join(dict.fromkeys(libraries.values())))
            return None
        tried.append(f"{toolkit} has no {missing[0]}")
    return "; ".join(tried) or "there is no toolkit"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
