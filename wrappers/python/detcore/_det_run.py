"""Starts `det run` for this program, and reads the configurations for it."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from detcore import _abi, _capi
from detcore.errors import Error, NotFoundError

VARIABLE = "DETCORE_COMMAND"
BUSY = 4  # its exit code if another `det run` runs the experiment


def command() -> str:
    """Returns the path of `det`, from the variable, the package, its environment, or PATH."""
    package = pathlib.Path(__file__).parent
    beside = [package / "bin" / "det", pathlib.Path(sys.prefix, "bin/det")]
    chosen = os.environ.get(VARIABLE)
    found = chosen or next((str(path) for path in beside if path.exists()), shutil.which("det"))
    if not found:
        raise NotFoundError(
            f"starting `det run`: `det` is missing from PATH; install it, or name it by {VARIABLE}",
            code=_abi.DET_E_NOT_FOUND,
        )
    return found


class DetRun:
    """A `det run` in the background, in a separate session.

    A Ctrl-C for this program does not reach it. If this program is killed, it continues.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        master: str | None,
        directory: str | os.PathLike[str] | None = None,
        quiet: bool = False,
        keep_open: Sequence[int] = (),
    ) -> None:
        option = (
            [] if master is None else ["-m", master if "://" in master else os.path.abspath(master)]
        )
        self._output = tempfile.TemporaryFile() if quiet else None  # noqa: SIM115
        program = command()
        try:
            self._process = subprocess.Popen(
                [program, "run", *option, *arguments],
                cwd=directory,
                env={"DETCORE_PYTHON": sys.executable, **os.environ},  # for trials in Python
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                pass_fds=keep_open,
                start_new_session=True,
            )
        except OSError as failure:
            self.close()
            raise NotFoundError(
                f"starting `{program} run` in '{directory or os.getcwd()}': {failure}",
                code=_abi.DET_E_NOT_FOUND,
                os_errno=failure.errno or 0,
            ) from failure

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll()

    def close(self) -> None:
        """Drops the output that it prints from now on."""
        if self._output is not None:
            self._output.close()

    def wait(self) -> int:
        return self._process.wait()

    def pause(self) -> None:
        """Lets the trials save and leave, and waits for that. An interrupt ends them at once."""
        for _ in range(2):
            if self._process.poll() is not None:
                return
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait()
                return
            except KeyboardInterrupt:
                continue
        self._process.wait()

    def failure(self, what: str) -> Error:
        """Returns the error for its exit, with the reason from its output."""
        said = ""
        if self._output is not None:
            self._output.seek(0)
            said = self._output.read()[-2000:].decode("utf-8", "replace").strip()
            self.close()
        how = said or f"it left with {self._process.poll()}; see standard error for the reason"
        return Error(f"{what} by `det run`: {how}", code=_abi.DET_E_STATE)


def read_config(given: dict[str, Any] | str | os.PathLike[str]) -> dict[str, Any]:
    """Reads a configuration from an object or a file. It is checked, and has every default."""
    if isinstance(given, dict):
        return given
    text = pathlib.Path(given).read_bytes()
    options = _capi.new_struct(_abi.det_config_options)
    options.file_name = _capi.encoded(given, "the configuration")
    options.unmanaged = 1  # the entrypoint may be missing
    return json.loads(  # type: ignore[no-any-return]
        _capi.text("det_config_complete", text, ctypes.byref(options))
    )


def with_label(config: dict[str, Any], label: str) -> dict[str, Any]:
    labels = config.get("labels") or []
    if not isinstance(labels, (list, tuple)):
        raise TypeError(f"labels of the configuration must be a list of texts, not {labels!r:.80}")
    return {**config, "labels": [*labels, label]}
